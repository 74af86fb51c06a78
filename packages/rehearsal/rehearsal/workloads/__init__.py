"""Pods whose program we have: where kwok would only say that a container runs, the real binary does run.

``kubelet.py`` watches for such pods on simulated nodes; everything else is one container's life: its arguments and
environment as in the API server (``environment.py``), its service account (``account.py``), its process, probes and
restarts (``container.py``). What differs from a container on a real node is in ``substitutions.py``, and nowhere else.
"""
