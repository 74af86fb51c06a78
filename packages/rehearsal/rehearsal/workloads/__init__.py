"""Pods whose program really runs, where kwok would only report a running container.

``kubelet.py`` watches for such pods on simulated nodes. The other modules are about one container: arguments and
environment from the API server and service account (``environment.py``, which lists all differences from a container
on a real node), process, probes and restarts (``container.py``).
"""
