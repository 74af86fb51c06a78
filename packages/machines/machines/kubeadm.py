"""kubeadm's configuration: the program's documents, and what only the machine or the plugin knows.

https://kubernetes.io/docs/reference/config-api/kubeadm-config.v1beta4/
"""

from __future__ import annotations

import base64
import copy
import ipaddress
import json
import re
from datetime import datetime, timedelta, timezone
from typing import Any, Final

from cryptography import x509

from machines.wire import Properties

_API: Final = "kubeadm.k8s.io/v1beta4"
_SOCKET: Final = "unix:///run/containerd/containerd.sock"
_FOLDER: Final = "/etc/kubernetes/gpucluster"
_ETCD_BYTES: Final = 8 * 1024**3
"""The largest that etcd suggests; its default is 2 GiB. When it is full, the API server refuses all writes:
https://etcd.io/docs/v3.6/dev-guide/limit/#storage-size-limit"""
_MOST_PROCESSES: Final = 65536
"""Processes and threads of a pod, of the 4194304 that systemd lets a machine have; by default a pod may have all:
https://kubernetes.io/docs/concepts/policy/pid-limiting/#pod-pid-limits"""
_RENEWED_BEFORE: Final = timedelta(days=30)
_CONTROL_PLANE_TAINT: Final = {"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}


def endpoint(inputs: Properties) -> str:
    """Where the API server of a control plane with these inputs is reached."""
    return f"https://{inputs.get('virtualAddress') or inputs['machine']['address']}:6443"


def init_documents(inputs: Properties, kubernetes_version: str) -> str:
    """For ``kubeadm init``; ``kubernetes_version`` is the installed one, such as v1.34.4."""
    documents = copy.deepcopy(inputs.get("kubeadm") or [])
    init, cluster = _document(documents, "InitConfiguration"), _document(documents, "ClusterConfiguration")
    _register(init, inputs, _plane_taints(inputs))
    if is_address(inputs["machine"]["address"]):
        init.setdefault("localAPIEndpoint", {}).setdefault("advertiseAddress", inputs["machine"]["address"])
    init.setdefault("bootstrapTokens", [{"ttl": "10m0s", "usages": ["signing", "authentication"]}])
    cluster.setdefault("kubernetesVersion", kubernetes_version)
    if inputs.get("virtualAddress"):
        cluster["controlPlaneEndpoint"] = endpoint(inputs).removeprefix("https://")
    server = cluster.setdefault("apiServer", {})
    if inputs.get("encryptSecrets", True):
        _argument(server, "encryption-provider-config", f"{_FOLDER}/encryption.yaml")
    volume = {
        "name": "gpucluster",
        "hostPath": _FOLDER,
        "mountPath": _FOLDER,
        "readOnly": True,
        "pathType": "Directory",
    }
    if not any(each.get("name") == "gpucluster" for each in server.setdefault("extraVolumes", [])):
        server["extraVolumes"].append(volume)
    kubelet = _document(documents, "KubeletConfiguration", "kubelet.config.k8s.io/v1beta1")
    kubelet.setdefault("cgroupDriver", "systemd")
    # Not in the program's documents: those of a running cluster cannot change.
    kubelet.setdefault("podPidsLimit", _MOST_PROCESSES)
    etcd = cluster.setdefault("etcd", {"local": {}})
    if "local" in etcd:
        _argument(etcd["local"], "quota-backend-bytes", str(_ETCD_BYTES))
    return _text(documents)


def join_documents(inputs: Properties, token: str, certificate_key: str = "") -> str:
    """For ``kubeadm join`` with ``token``, as a control plane with the key of the uploaded certificates.

    An expired token would be tried for 5 minutes: here for one.
    """
    documents = copy.deepcopy(inputs.get("kubeadm") or [])
    join = _document(documents, "JoinConfiguration")
    _register(join, inputs, _plane_taints(inputs) if certificate_key else list(inputs.get("taints") or []))
    if certificate_key:
        local = {"advertiseAddress": inputs["machine"]["address"]}
        join["controlPlane"] = {"localAPIEndpoint": local, "certificateKey": certificate_key}
    server = str(inputs["endpoint"]).removeprefix("https://")
    join["discovery"] = {
        "bootstrapToken": {"apiServerEndpoint": server, "token": token, "caCertHashes": [inputs["caHash"]]}
    }
    join.setdefault("timeouts", {}).setdefault("discovery", "1m0s")
    return _text(documents)


def image_repository(inputs: Properties) -> str:
    """Where kubeadm's images come from, if not from registry.k8s.io."""
    for document in inputs.get("kubeadm") or []:
        if document.get("kind") == "ClusterConfiguration":
            return str(document.get("imageRepository") or "")
    return ""


def ends_soon(kubeconfig: str) -> str:
    """The day on which the client certificate of ``kubeconfig`` ends if that is within 30 days, else empty.

    kubeadm's certificates live for a year: https://kubernetes.io/docs/tasks/administer-cluster/kubeadm/kubeadm-certs/
    """
    match = re.search(r"client-certificate-data: (\S+)", kubeconfig)
    if match is None:
        return ""
    end = x509.load_pem_x509_certificate(base64.b64decode(match[1])).not_valid_after_utc
    return end.date().isoformat() if end - datetime.now(timezone.utc) < _RENEWED_BEFORE else ""


def is_address(text: str) -> bool:
    """Whether it is an IP address, not a name."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _plane_taints(inputs: Properties) -> list[Any]:
    return [*(inputs.get("taints") or []), *(() if inputs.get("schedulable") else (_CONTROL_PLANE_TAINT,))]


def _document(documents: list[Any], kind: str, api_version: str = _API) -> Properties:
    for document in documents:
        if document["kind"] == kind:
            return document
    documents.append({"apiVersion": api_version, "kind": kind})
    return documents[-1]


def _register(document: Properties, inputs: Properties, taints: list[Any]) -> None:
    """The node's name and address; its taints from the first moment, before any pod could come."""
    registration = document.setdefault("nodeRegistration", {})
    registration["name"] = inputs["machine"]["name"]
    registration.setdefault("criSocket", _SOCKET)
    registration["taints"] = taints
    if is_address(inputs["machine"]["address"]):
        _argument(registration, "node-ip", inputs["machine"]["address"], "kubeletExtraArgs")


def _argument(section: Properties, name: str, value: str, key: str = "extraArgs") -> None:
    arguments = section.setdefault(key, [])
    if not any(argument["name"] == name for argument in arguments):
        arguments.append({"name": name, "value": value})


def _text(documents: list[Any]) -> str:
    """JSON is YAML."""
    return "\n---\n".join(json.dumps(document, sort_keys=True) for document in documents)
