"""The resource types of the program, one module per family, and the provider's functions."""
