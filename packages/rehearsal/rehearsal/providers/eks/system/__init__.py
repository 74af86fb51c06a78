"""The pods that AWS runs in a cluster: one set for each EKS add-on, applied by the fleet when the add-on exists.

Requests: facts/catalog/eks/data/system_pods.csv, or the file itself, where their source is.
DaemonSets tolerate every taint, so they run on GPU nodes too and never keep one alive. A Deployment tolerates only what
its chart does. Images have no tag: simulated nodes pull none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from rehearsal.providers.resource import manifests

_FOLDER: Final = Path(__file__).parent
_VERSION: Final = re.compile(r"v\d+\.(?P<minor>\d+)\.\d+-eksbuild\.\d+")
_OLDEST_PROXY: Final = 3


@dataclass(frozen=True)
class SystemAddon:
    """One EKS add-on of ``addons.yaml``."""

    version: str
    section: str = "controller"
    keys: tuple[str, ...] | None = None
    minors: tuple[int, int] | None = None
    default: bool = False


ADDONS: Final[Mapping[str, SystemAddon]] = {
    name: SystemAddon(**facts) for name, facts in yaml.safe_load((_FOLDER / "addons.yaml").read_text("utf-8")).items()
}
BOOTSTRAPPED: Final = tuple(name for name, addon in ADDONS.items() if addon.default)


def default_version(name: str, minor: str) -> str:
    """The add-on's version that EKS marks as default for a cluster of this ``minor`` version (``1.35``)."""
    return ADDONS[name].version.format(minor=minor)


def version_fits(name: str, version: str, minor: str) -> bool:
    """Whether EKS offers that version of an add-on to a cluster of this ``minor`` version.

    kube-proxy is never newer than the control plane, and at most three minor versions older:
    https://docs.aws.amazon.com/eks/latest/userguide/managing-kube-proxy.html
    """
    written, minors = _VERSION.fullmatch(version), ADDONS[name].minors
    if written is None or name != "kube-proxy":
        return written is not None and (minors is None or minors[0] <= int(written["minor"]) <= minors[1])
    return 0 <= int(minor.partition(".")[2]) - int(written["minor"]) <= _OLDEST_PROXY


def addon_namespace(name: str) -> str:
    """Where an add-on's pods are."""
    return str(manifests(_FOLDER, name)[-1]["metadata"]["namespace"])


def needs_nodes(name: str) -> bool:
    """Whether an add-on becomes ACTIVE only with nodes: a DaemonSet without nodes has all the pods it wants."""
    return any(each["kind"] == "Deployment" for each in manifests(_FOLDER, name))


def cluster_storage() -> list[dict[str, Any]]:
    """The StorageClass of every new cluster, with or without add-ons."""
    return manifests(_FOLDER, "cluster-storage")


def workloads(name: str, values: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
    """An add-on's objects in the order in which they can be applied.

    Of its configuration ``values`` the node selectors count (``nodeSelector``, or a section's), and whether the EBS
    driver is to have a StorageClass.
    """
    values = values or {}
    selector = (values.get(ADDONS[name].section) or {}).get("nodeSelector") or values.get("nodeSelector")
    objects = manifests(_FOLDER, name)
    for each in objects:
        if each["kind"] == "Deployment" and selector:
            each["spec"]["template"]["spec"]["nodeSelector"] = dict(selector)
    wants_class = (values.get("defaultStorageClass") or {}).get("enabled")
    return [*objects, *(manifests(_FOLDER, "default-storage-class") if wants_class else ())]
