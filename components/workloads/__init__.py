"""Components that jobs need besides GPUs: a registry, a bucket for checkpoints, cloud identities of pods."""
