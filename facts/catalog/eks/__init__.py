"""What the catalogue knows about Amazon Elastic Kubernetes Service."""
