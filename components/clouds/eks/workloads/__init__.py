"""Amazon's registry, bucket and identities of pods: ECR, S3, and a role by EKS Pod Identity."""
