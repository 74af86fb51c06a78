"""``gpucluster prove``: shows on a cluster, by its kubeconfig alone, what a rehearsal of its stack shows."""
