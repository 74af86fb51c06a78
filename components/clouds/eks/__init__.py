"""Amazon Elastic Kubernetes Service (managed node groups): ``cloud`` declares its resources."""
