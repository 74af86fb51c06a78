"""What a job asks for, where it fits and what it is in Kubernetes; pure."""
