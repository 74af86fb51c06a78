"""Reads Kubernetes' own objects, those of its extensions, and Helm releases, on any cloud."""
