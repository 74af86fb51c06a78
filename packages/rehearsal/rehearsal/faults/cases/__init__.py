"""The faults, a module per means."""
