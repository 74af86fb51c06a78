"""A cluster that somebody else made: what the program may do there, and its labels and taints on nodes."""
