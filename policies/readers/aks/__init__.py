"""Reads Azure's resources: AKS, virtual machines, the Azure Classic provider, and KAITO."""
