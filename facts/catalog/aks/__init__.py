"""What the catalogue knows about Azure Kubernetes Service."""
