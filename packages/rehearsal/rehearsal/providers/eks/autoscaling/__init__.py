"""Who scales on AWS: a node group scales in the rehearsal only if the autoscaler that is deployed would scale it.

``governor.py`` looks into the cluster and the account and tells the fleet; the other modules decide, without I/O.
"""
