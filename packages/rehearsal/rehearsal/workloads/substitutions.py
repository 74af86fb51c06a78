"""All differences between a program that runs for a pod and its container on a real node.

=========================================  ===========================================================================
on a real node                             here
=========================================  ===========================================================================
files of the in-cluster mount              ``KUBECONFIG`` names a file with the same address, CA and token
(``/var/run/secrets/kubernetes.io/…``)     (``tokenFile``); ``LEADER_ELECTION_NAMESPACE`` replaces the mount's file
                                           ``namespace``
``KUBERNETES_SERVICE_HOST``, ``…_PORT``    the API server's address on this machine
an address of the pod's own                this machine's; each variable that names a port gets a free one, and probes
                                           are sent there
the image's file system and user           the binary, and a folder of the pod's own as ``HOME`` and ``TMPDIR``: no
                                           configuration of the user is read
what the cloud adds to its pods, and       what the simulated cloud says (``Injection``)
how its services are reached
probes every 10 s after a delay,           probes twice a second without a delay, restarts after at most
restarts after 10 s … 5 min                a few seconds: time is compressed
CPU and memory limits                      not enforced
=========================================  ===========================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rehearsal.cluster.images import ImageBinary
from rehearsal.simulation import Injection

Environment = dict[str, str]


def substitute(
    environment: Mapping[str, str],
    program: ImageBinary,
    *,
    api_server: str,
    namespace: str,
    folder: Path,
    kubeconfig: Path,
    injected: Injection,
    tokens: Path | None,
    free_ports: Callable[[int], list[int]],
) -> tuple[Environment, dict[int, int]]:
    """The process's environment, and declared port → port of this machine.

    ``api_server`` is ``127.0.0.1:PORT``; ``tokens`` is the file for the injected token's audience.
    """
    host, _, port = api_server.rpartition(":")
    variables: Environment = {
        **environment,
        "KUBERNETES_SERVICE_HOST": host,
        "KUBERNETES_SERVICE_PORT": port,
        "KUBECONFIG": str(kubeconfig),
        "HOME": str(folder),
        "TMPDIR": str(folder),
    }
    variables.setdefault("LEADER_ELECTION_NAMESPACE", namespace)
    # Like the clouds' webhooks, do not overwrite a variable that the container sets.
    for key, value in injected.env.items():
        variables.setdefault(key, value)
    if tokens is not None:
        variables.setdefault(injected.token_variable, str(tokens))
    ports: dict[int, int] = {}
    for variable, free in zip(program.port_variables, free_ports(len(program.port_variables)), strict=True):
        declared = variables.get(variable, "")
        if declared.isdigit():
            ports[int(declared)] = free
        variables[variable] = str(free)
    return variables, ports


def probe_url(probe: Mapping[str, Any], container: Mapping[str, Any], ports: Mapping[int, int]) -> str | None:
    """Where a probe's HTTP request goes on this machine; ``None`` for a probe of another kind."""
    request = probe.get("httpGet")
    if request is None:
        return None
    declared = request["port"]
    if isinstance(declared, str):
        named = {each.get("name"): each["containerPort"] for each in container.get("ports") or ()}
        declared = named.get(declared, 0)
    return f"http://127.0.0.1:{ports.get(declared, declared)}{request.get('path') or '/'}"
