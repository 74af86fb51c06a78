"""Reads own machines, which kubeadm makes a cluster."""
