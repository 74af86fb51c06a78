"""The resource types: placeholder until their phases exist."""
