"""Google's registry, bucket and identities of pods: Artifact Registry, Cloud Storage, grants to the pods themselves."""
