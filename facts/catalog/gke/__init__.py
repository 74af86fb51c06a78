"""What the catalogue knows about Google Kubernetes Engine."""
