"""Reads the nodes of a cluster that somebody else made."""
