"""Azure Kubernetes Service (Base SKU): ``limits`` says what it cannot do, ``cloud`` makes its resources."""
