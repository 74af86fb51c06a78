"""Own Ubuntu and Debian machines, which kubeadm makes a cluster."""
