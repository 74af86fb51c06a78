"""A cluster that somebody else made."""
