"""One package per cloud, and what they have in common (``base``)."""
