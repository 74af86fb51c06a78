"""A container's environment and arguments, resolved as a kubelet does, what differs from a real node's, and the pod's
service account on this machine: tokens bound to the pod, and the kubeconfig that uses one.

https://kubernetes.io/docs/concepts/storage/projected-volumes/#serviceaccounttoken,
https://kubernetes.io/docs/reference/generated/kubernetes-api/v1.34/#envvar-v1-core; ``$(NAME)`` in values and
arguments: https://github.com/kubernetes/kubernetes/blob/v1.34.4/third_party/forked/golang/expansion/expand.go

All differences between a program that runs for a pod and its container on a real node.

=========================================  ===========================================================================
on a real node                             here
=========================================  ===========================================================================
files of the in-cluster mount              ``KUBECONFIG`` names a file with the same address, CA and token
(``/var/run/secrets/kubernetes.io/…``)     (``tokenFile``); ``LEADER_ELECTION_NAMESPACE`` replaces the mount's file
                                           ``namespace``
``KUBERNETES_SERVICE_HOST``, ``…_PORT``    the API server's address on this machine
any other variable, any flag               those of the program's own settings (``settings.yaml``)
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

import base64
import math
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from facts.concepts.kubeconfig import kubeconfig
from facts.concepts.kubernetes import quantity
from facts.concepts.rest import resource_path
from rehearsal.cluster.api import Api
from rehearsal.cluster.images import ImageBinary
from rehearsal.cluster.pki import write_private
from rehearsal.simulation import Injection

_LIFE_SECONDS: Final = 3607
"""Lifetime that kubelets request: https://github.com/kubernetes/kubernetes/blob/v1.34.4/plugin/pkg/admission/serviceaccount."""

_RENEW_SECONDS: Final = 0.8 * _LIFE_SECONDS


class TokenFile:
    """One token of a pod's service account for one audience (``""``: the API server), in a file of its own."""

    def __init__(self, api: Api, pod: Mapping[str, Any], path: Path, audience: str = "") -> None:
        self._api = api
        self._pod = pod
        self.path = path
        self._audience = audience
        self._written = -_RENEW_SECONDS

    def renew(self) -> None:
        """Write a token if there is none, or if it expires soon. Raises ``ApiError`` without service account."""
        now = time.monotonic()
        if now - self._written < _RENEW_SECONDS:
            return
        metadata = self._pod["metadata"]
        bound = {"apiVersion": "v1", "kind": "Pod", "name": metadata["name"], "uid": metadata["uid"]}
        spec: dict[str, Any] = {"expirationSeconds": _LIFE_SECONDS, "boundObjectRef": bound}
        if self._audience:
            spec["audiences"] = [self._audience]
        account = self._pod["spec"].get("serviceAccountName") or "default"
        path = resource_path("v1", f"serviceaccounts/{account}/token", namespace=metadata["namespace"])
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
        # The program may read the file at any moment.
        draft = self.path.with_name(f".{self.path.name}")
        write_private(draft, self._api.create(path, request)["status"]["token"])
        draft.replace(self.path)
        self._written = now


def write_kubeconfig(path: Path, *, api_server: str, ca_pem_base64: str, namespace: str, token: Path) -> None:
    """A kubeconfig with the contents of the in-cluster mount: address, CA, namespace and token."""
    cluster = {"server": f"https://{api_server}", "certificate-authority-data": ca_pem_base64}
    write_private(path, kubeconfig("in-cluster", cluster, {"tokenFile": str(token)}, namespace))


Object = Mapping[str, Any]
Find = Callable[[str, str], Object | None]
"""(``configmaps`` or ``secrets``, name) → the object in the pod's namespace, or ``None``."""

_REFERENCE: Final = re.compile(r"\$\$|\$\(([^)]*)\)")
_KEYED: Final = re.compile(r"metadata\.(labels|annotations)\['(.+)'\]")


class EnvironmentProblem(Exception):
    """Why a container cannot start yet: the message of a kubelet's ``CreateContainerConfigError``."""


def environment(pod: Object, container: Object, find: Find, node: Object) -> dict[str, str]:
    """A container's variables from the pod's specification, in order; later ones win.

    ``node``: its allocatable resources are the limits of a container without limits. Raises EnvironmentProblem: a
    required object that a variable refers to does not exist.
    """
    variables: dict[str, str] = {}
    for source in container.get("envFrom") or ():
        variables.update(_whole(source, find))
    for variable in container.get("env") or ():
        if "valueFrom" not in variable:
            variables[variable["name"]] = expand(variable.get("value") or "", variables)
            continue
        value = _referred(variable["valueFrom"], pod, container, find, node)
        if value is not None:
            variables[variable["name"]] = value
    return variables


def arguments(container: Object, variables: Mapping[str, str], program: ImageBinary) -> list[str]:
    """The program's arguments: the rest of ``command``, then ``args``.

    Raises EnvironmentProblem: a flag sets none of the program's ``settings``.
    """
    words = [*(container.get("command") or ())[1:], *(container.get("args") or ())]
    for word in words:
        flag = word.partition("=")[0]
        if flag.startswith("-") and flag.lstrip("-").replace("-", "_").upper() not in program.settings:
            raise EnvironmentProblem(f"the rehearsal does not run {program.repository} with {flag}; leave it out")
    return [expand(word, variables) for word in words]


def expand(text: str, variables: Mapping[str, str]) -> str:
    """``text`` with every known ``$(NAME)`` replaced; ``$$`` is a dollar."""

    def replaced(match: re.Match[str]) -> str:
        name = match[1]
        return "$" if name is None else variables.get(name, match[0])

    return _REFERENCE.sub(replaced, text)


def _whole(source: Object, find: Find) -> Iterator[tuple[str, str]]:
    """Every key of a ConfigMap or Secret, with the prefix."""
    prefix = source.get("prefix") or ""
    for kind, plural in (("configMapRef", "configmaps"), ("secretRef", "secrets")):
        if kind in source:
            reference = source[kind]
            for key, value in (_data(plural, reference, find) or {}).items():
                yield prefix + key, value


def _referred(source: Object, pod: Object, container: Object, find: Find, node: Object) -> str | None:
    if "fieldRef" in source:
        return _field(source["fieldRef"]["fieldPath"], pod)
    if "resourceFieldRef" in source:
        return _resource(source["resourceFieldRef"], pod, container, node)
    for kind, plural in (("configMapKeyRef", "configmaps"), ("secretKeyRef", "secrets")):
        if kind in source:
            reference = source[kind]
            data = _data(plural, reference, find)
            if data is not None and reference["key"] in data:
                return data[reference["key"]]
            if reference.get("optional"):
                return None
            raise EnvironmentProblem(f"couldn't find key {reference['key']} in {plural[:-1]} {reference['name']}")
    raise EnvironmentProblem(f"the rehearsal does not know the source of a variable: {', '.join(source)}")


def _data(plural: str, reference: Object, find: Find) -> dict[str, str] | None:
    source = find(plural, reference["name"])
    if source is None:
        if reference.get("optional"):
            return None
        raise EnvironmentProblem(f'{plural[:-1]} "{reference["name"]}" not found')
    data: dict[str, str] = source.get("data") or {}
    if plural == "secrets":
        return {key: base64.b64decode(value).decode(errors="replace") for key, value in data.items()}
    return data


def _field(path: str, pod: Object) -> str:
    keyed = _KEYED.fullmatch(path)
    if keyed:
        return str((pod["metadata"].get(keyed[1]) or {}).get(keyed[2], ""))
    value: Any = pod
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return "" if value is None else str(value)


def _resource(reference: Object, pod: Object, container: Object, node: Object) -> str:
    """https://kubernetes.io/docs/concepts/workloads/pods/downward-api/#downwardapi-resourceFieldRef."""
    named = reference.get("containerName") or container["name"]
    of = next(each for each in pod["spec"]["containers"] if each["name"] == named)
    kind, _, name = reference["resource"].partition(".")
    resources = of.get("resources") or {}
    value = (resources.get(kind) or {}).get(name)
    if value is None and kind == "limits":
        value = (node.get("status", {}).get("allocatable") or {}).get(name)
    divisor = quantity(str(reference.get("divisor") or "1")) or Decimal(1)
    return str(math.ceil(quantity(str(value or "0")) / divisor))


Environment = dict[str, str]


@dataclass(frozen=True, kw_only=True)
class ProcessFiles:
    """A process's ``folder`` and ``kubeconfig``; ``tokens`` is the file for the injected token's audience."""

    folder: Path
    kubeconfig: Path
    tokens: Path | None = None


def substitute(
    environment: Mapping[str, str],
    program: ImageBinary,
    files: ProcessFiles,
    *,
    api_server: str,
    namespace: str,
    injected: Injection,
    free_ports: Callable[[int], list[int]],
) -> tuple[Environment, dict[int, int]]:
    """The process's environment, and declared port → port of this machine.

    Of ``environment`` only the program's ``settings`` are in it: others would change how this machine runs a program.
    ``api_server`` is ``127.0.0.1:PORT``.
    """
    host, _, port = api_server.rpartition(":")
    variables: Environment = {
        **{name: value for name, value in environment.items() if name in program.settings},
        "KUBERNETES_SERVICE_HOST": host,
        "KUBERNETES_SERVICE_PORT": port,
        "KUBECONFIG": str(files.kubeconfig),
        "HOME": str(files.folder),
        "TMPDIR": str(files.folder),
    }
    variables.setdefault("LEADER_ELECTION_NAMESPACE", namespace)
    # Like the clouds' webhooks, do not overwrite a variable that the container sets.
    for key, value in injected.env.items():
        variables.setdefault(key, value)
    if files.tokens is not None:
        variables.setdefault(injected.token_variable, str(files.tokens))
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
