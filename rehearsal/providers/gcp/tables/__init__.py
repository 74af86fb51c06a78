"""The declarative part: how each resource's inputs become Google's request bodies, and what replaces a resource."""
