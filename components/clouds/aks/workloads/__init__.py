"""Azure's registry, bucket and identities of pods: Container Registry, Blob Storage, an identity that trusts tokens."""
