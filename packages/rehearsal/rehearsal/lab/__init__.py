"""Machines that are real, for the rehearsal of own machines."""
