"""Which cluster-autoscaler runs in the cluster, and which Auto Scaling groups it finds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from rehearsal.providers.eks.autoscaling.flags import Bounds, FlagError, Flags, command_line, parse

_IMAGE: Final = re.compile(r"(?:^|/)cluster-autoscaler(?:-[a-z0-9]+)?(?::v?(?P<tag>[^@]+))?(?:@.*)?$")
_MINOR: Final = re.compile(r"^\d+\.(?P<minor>\d+)")


@dataclass(frozen=True)
class Installation:
    """One Deployment of a program that scales: ``where`` is ``namespace/name``, ``ready`` its ready replicas."""

    where: str
    namespace: str
    service_account: str
    ready: int
    container: Mapping[str, Any]
    selector: Mapping[str, str]

    @property
    def minor(self) -> int | None:
        """The minor Kubernetes version that the image is made for, ``None`` if its tag is no version."""
        image = _IMAGE.search(str(self.container.get("image", "")))
        version = _MINOR.match((image and image["tag"]) or "")
        return int(version["minor"]) if version else None


def cluster_autoscaler(deployments: Iterable[Mapping[str, Any]]) -> Installation | None:
    """The Deployment that runs cluster-autoscaler, by its image, in any namespace; one with ready pods first."""
    return _first(installations(deployments, _IMAGE))


def installations(deployments: Iterable[Mapping[str, Any]], image: re.Pattern[str]) -> list[Installation]:
    """The Deployments with a container of this image."""
    results = []
    for deployment in deployments:
        pod = deployment["spec"]["template"]["spec"]
        container = next((each for each in pod["containers"] if image.search(str(each.get("image", "")))), None)
        if container is not None:
            place = deployment["metadata"]
            results.append(
                Installation(
                    where=f"{place['namespace']}/{place['name']}",
                    namespace=place["namespace"],
                    service_account=pod.get("serviceAccountName") or "default",
                    ready=int((deployment.get("status") or {}).get("readyReplicas") or 0),
                    container=container,
                    selector=deployment["spec"]["selector"].get("matchLabels") or {},
                )
            )
    return results


def why_idle(installation: Installation | None) -> str:
    """Why cluster-autoscaler scales nothing (absent, not ready, wrong command line); ``""`` if it runs."""
    if installation is None:
        return "no autoscaler runs in the cluster: no Deployment has an image …/cluster-autoscaler; deploy one"
    where = f"Deployment {installation.where}"
    if not installation.ready:
        return f"{where} has no ready pod: look at its pods' events"
    try:
        flags = parse(command_line(installation.container))
    except FlagError as error:
        return f"{where}: {error}"
    if flags.provider != "aws":
        return f"{where} runs with --cloud-provider={flags.provider}; write --cloud-provider=aws"
    if not flags.discovery and not flags.nodes:
        return (
            f"{where} looks for no groups; add --node-group-auto-discovery=asg:tag="
            "k8s.io/cluster-autoscaler/enabled,k8s.io/cluster-autoscaler/<cluster>"
        )
    if not flags.scale_down:
        return f"{where} never removes a node (--scale-down-enabled=false): leave that flag out"
    return ""


def find(flags: Flags, asg: str, tags: Mapping[str, str], minimum: int, maximum: int) -> Bounds | str:
    """The limits of the Auto Scaling group ``asg`` for the autoscaler, or why it does not find the group.

    A group is found if it has all tags of one ``--node-group-auto-discovery``; ``--nodes`` names a group and replaces
    its limits.
    """
    if asg in flags.nodes:
        return _limited(flags.nodes[asg], flags)
    missing = [_missing(required, tags) for required in flags.discovery]
    if [] in missing:
        return _limited(Bounds(minimum, maximum), flags)
    if not missing:
        return f"no --nodes flag names the Auto Scaling group {asg}; add --nodes={minimum}:{maximum}:{asg}"
    fewest = min(missing, key=len)
    return (
        f"the Auto Scaling group {asg} lacks the tag {' and '.join(fewest)} that --node-group-auto-discovery asks for"
    )


def strays(minor: int | None, cluster_version: str) -> str:
    """A warning if the autoscaler's version is more than one minor away from the cluster's, else ``""``.

    https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/README.md#releases
    """
    version = _MINOR.match(cluster_version.removeprefix("v"))
    if minor is None or version is None or abs(minor - int(version["minor"])) <= 1:
        return ""
    return f"cluster-autoscaler 1.{minor} is made for another version than the cluster's {cluster_version}"


def _limited(bounds: Bounds, flags: Flags) -> Bounds:
    most = min(bounds.maximum, flags.max_nodes_total) if flags.max_nodes_total else bounds.maximum
    return Bounds(bounds.minimum, most)


def _missing(required: Mapping[str, str], tags: Mapping[str, str]) -> list[str]:
    return [
        f"{key}={value}" if value else key
        for key, value in required.items()
        if key not in tags or (value and tags[key] != value)
    ]


def _first(candidates: list[Installation]) -> Installation | None:
    return max(candidates, key=lambda each: each.ready > 0, default=None)
