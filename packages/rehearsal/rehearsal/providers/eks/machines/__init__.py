"""EC2 instances that join the cluster on their own: started by Karpenter or others, outside of a node group."""
