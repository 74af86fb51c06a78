"""Azure Kubernetes Service (Base SKU): ``cloud`` declares its resources."""
