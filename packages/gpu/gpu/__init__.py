"""The command that people use on a cluster of ours: what it offers, running things on it, what they wait for and cost.

Nothing of it runs in the cluster. ``job.py`` (what a training job is in Kubernetes) and ``sweep.py`` are pure.
"""

__version__ = "0.1.0"
