"""Ways to take from Karpenter what it needs."""
