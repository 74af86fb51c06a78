"""Own Ubuntu and Debian machines, made a cluster by kubeadm."""
