"""Autoscaling on AWS: a node group scales in the rehearsal only if the deployed autoscaler would scale it.

``autoscaler_simulation.py`` reads the cluster and the account and updates the fleet; the others decide, without I/O.
"""
