"""From the input ``software`` to the scripts' variables."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any, Final

from machines import scripts
from machines.gpus import OPEN, PROPRIETARY, kernel_modules
from machines.kubeadm import image_repository
from machines.wire import Properties

_DRIVER_PACKAGES: Final = {OPEN: "nvidia-open", PROPRIETARY: "cuda-drivers"}
"""https://developer.nvidia.com/cuda-downloads (network repository for Debian and Ubuntu)"""


def distribution(facts: Mapping[str, Any]) -> str:
    """What ``{distribution}`` in an address stands for on a machine with these facts, such as ``ubuntu2404``."""
    return str(facts["os"]).replace(" ", "").replace(".", "")


def preflight_variables(inputs: Properties, entry: Properties) -> dict[str, str]:
    """Of the phase facts, before a machine is equipped: the addresses of what will be its package sources."""
    software = inputs.get("software") or {}
    names = ("kubernetes", *(("nvidia", "toolkit") if entry.get("driver") else ()))
    return {"SOURCES": " ".join(software[name]["url"] for name in names if name in software)}


def prepare_variables(inputs: Properties, role: str) -> dict[str, str]:
    """Of the phase prepare; ``role``: controlPlane or worker."""
    software, firewall = inputs["software"], inputs.get("firewall") or {}
    return {
        **_kubernetes(software),
        "IMAGE_REPOSITORY": image_repository(inputs),
        "IMAGE_MIRRORS": _encoded(_registry_files(software.get("images") or [])),
        "DISABLE_SWAP": _flag(inputs.get("disableSwap")),
        "OWNER": f"{role} {inputs['machine']['name']}",
        "ROLE": role,
        "FIREWALL_MACHINES": " ".join(firewall.get("machines") or []),
        "FIREWALL_PLANES": " ".join(firewall.get("controlPlanes") or []),
        "FIREWALL_CLIENTS": " ".join(firewall.get("apiClients") or []),
        "MACHINE_PORTS": " ".join(firewall.get("ports") or []),
        "FIREWALL_PODS": firewall.get("podCidr") or "",
    }


def upgrade_variables(inputs: Properties, role: str, step: str, *, first: bool) -> dict[str, str]:
    """Of the phase upgrade; ``step``: plane or node. ``first``: of the control planes, the one that decides."""
    etcd = scripts.on_machine("gpucluster-etcd")
    steps = {"ROLE": role, "STEP": step, "FIRST": _flag(first)}
    return {**_kubernetes(inputs["software"]), **steps, "ETCD_SCRIPT": etcd}


def driver_variables(inputs: Properties, facts: Mapping[str, Any], after_reboot: bool) -> dict[str, str]:
    """Of the phase driver, on a machine with these ``facts``."""
    return {
        **_sources(inputs["software"], "nvidia", "toolkit", distribution=distribution(facts)),
        "DRIVER_BRANCH": str(inputs["nvidia"]["driver"]),
        "DRIVER_PACKAGE": _DRIVER_PACKAGES[
            kernel_modules(inputs["nvidia"].get("kernelModules") or "", facts["gpuIds"])
        ],
        "GPUS": str(int(inputs.get("gpus") or 0)),
        "IMAGE_REPOSITORY": image_repository(inputs),
        "AFTER_REBOOT": _flag(after_reboot),
    }


def init_variables(
    inputs: Properties, *, init: str = "", join: str = "", encryption: str = "", ca_hash: str = ""
) -> dict[str, str]:
    """Of the phase init: with the documents ``join``, the machine joins the cluster whose CA has the hash.

    ``encryption``: the cluster's configuration of encryption, in base64.
    """
    files = {file["path"]: file["content"] for file in inputs.get("files") or []}
    return {
        "INIT_CONFIG": init,
        "JOIN_CONFIG": join,
        "CA_HASH": ca_hash or inputs.get("caHash") or "",
        "ETCD_SCRIPT": scripts.on_machine("gpucluster-etcd"),
        "ENCRYPT": _flag(inputs.get("encryptSecrets", True)),
        "ENCRYPTION": encryption,
        "FILES": _encoded(files),
        "ADDRESS": inputs["machine"]["address"],
        "VIRTUAL_ADDRESS": inputs.get("virtualAddress") or "",
    }


def _encoded(files: Mapping[str, str]) -> str:
    """A line for each file: its path, and its content in base64."""
    return "\n".join(f"{path} {base64.b64encode(content.encode()).decode()}" for path, content in files.items())


def _registry_files(mirrors: list[Properties]) -> dict[str, str]:
    """The files of containerd's folder of registries, by their path there.

    An ``only`` mirror is the server and a host: without a host containerd 1.6 reads no server.
    https://github.com/containerd/containerd/blob/release/1.6/remotes/docker/config/hosts.go
    """
    files = {}
    for mirror in mirrors:
        folder, url = mirror["registry"].replace("*", "_default"), json.dumps(mirror["url"].rstrip("/"))
        keys = 'capabilities = ["pull", "resolve"]\n'
        if "/v2/" in url:  # the path is in the registry's API, which containerd would append
            keys += "override_path = true\n"
        if mirror.get("ca"):
            keys += 'ca = "ca.crt"\n'
            files[f"{folder}/ca.crt"] = mirror["ca"]
        server = f"server = {url}\n{keys}" if mirror.get("only") else ""
        files[f"{folder}/hosts.toml"] = f"{server}[host.{url}]\n{keys}"
    return files


def _flag(value: object) -> str:
    return "yes" if value else "no"


def _kubernetes(software: Properties) -> dict[str, str]:
    return {**_sources(software, "kubernetes"), "KUBERNETES_VERSION": software["kubernetes"]["version"]}


def _sources(software: Properties, *names: str, distribution: str = "") -> dict[str, str]:
    variables = {"PROXY": software.get("proxy") or "", "PROXY_EXCEPT": ",".join(software.get("noProxy") or [])}
    for name in names:
        source, prefix = software[name], name.upper()
        source = {**source, **(source.get("keys") or {}).get(distribution, {})}
        url = source["url"]
        variables |= {
            f"{prefix}_URL": url,
            f"{prefix}_SUITE": source.get("suite") or "/",
            f"{prefix}_COMPONENTS": source.get("components") or "",
            f"{prefix}_KEY": source.get("key") or "",
            f"{prefix}_KEY_URL": source.get("keyUrl") or f"{url.rstrip('/')}/Release.key",
            f"{prefix}_KEY_FINGERPRINT": (source.get("keyFingerprint") or "").replace(" ", "").upper(),
        }
    return variables
