"""Reads Google's resources: GKE, Compute Engine, and the resources of the Google Cloud Native provider."""
