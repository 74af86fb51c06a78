"""What jobs need beside GPUs, as components: a registry, a bucket for checkpoints, and who pods are in the cloud."""
