"""What Google never changes of a running cluster although the provider plans it as an update, and the zone that a
zonal cluster is in: with another one the provider replaces the cluster, with all that runs there.

The program refuses it before it changes anything.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping
from typing import Any, Final

import pulumi

from components.clouds.data_lookup import look_up, refuse, step_problem
from components.clouds.deployed import Deployed
from components.clouds.gke.context import location
from components.clouds.gke.network import POD_RANGE, SERVICE_RANGE
from components.clouds.gke.workloads.share import running_shares, size_of
from components.settings import Problem, Settings

_CLUSTER: Final = "gcp:container/cluster:Cluster"
_SUBNETWORK: Final = "gcp:compute/subnetwork:Subnetwork"
_OTHERWISE: Final = "for another one create a new cluster, in a stack of its own"


def refuse_other_fixed(name: str, settings: Settings, deployed: Deployed, parent: pulumi.Resource) -> None:
    """End the program if the stack file has other ranges or another first zone than the running cluster, a version that
    Google does not make of it, or a smaller volume than its shared one.

    Raises:
        pulumi.RunError: it has.
    """
    running = deployed.outputs(_CLUSTER, f"{name}-control-plane")
    there = str(running.get("location", location(settings)))
    regional = there == settings.region
    in_region = regional or there.rpartition("-")[0] == settings.region
    if not running or running.get("name") != settings.cluster_name or not in_region:
        return  # another cluster, with a network and a volume of its own
    # Another availability replaces the cluster alone.
    problems: list[Problem] = []
    if regional == settings.regional:
        problems += [*_other_zone(settings, running), *_other_version(settings, running, parent)]
    refuse([*problems, *_other_ranges(name, settings, deployed), *_smaller_volume(settings, deployed)], settings)


def _other_zone(settings: Settings, running: Mapping[str, Any]) -> Iterator[Problem]:
    there = str(running.get("location", location(settings)))
    if there != location(settings):
        zones = ", ".join((there, *(zone for zone in settings.zones if zone != there)))
        yield Problem(
            "zones",
            f"the running cluster is in {there}, and Google cannot move it",
            f"Write zones: [{zones}], and where GPUs are as zones of a GPU pool; {_OTHERWISE}",
        )


def _other_version(settings: Settings, running: Mapping[str, Any], parent: pulumi.Resource) -> Iterator[Problem]:
    """One that skips a minor version. A lower one changes nothing: it is a minimum.

    Google may have upgraded the cluster since the last update, so it is asked before a version is refused.
    """
    if "masterVersion" not in running or step_problem(settings, str(running["masterVersion"])) is None:
        return
    place = {"name": settings.cluster_name, "location": location(settings), "project": settings.project}
    answer = look_up("gcp:container/getCluster:getCluster", place, parent, "kubernetes.version")
    if (problem := step_problem(settings, str(answer["masterVersion"]))) is not None:
        yield problem


def _other_ranges(name: str, settings: Settings, deployed: Deployed) -> Iterator[Problem]:
    """A range that a cluster uses stays as it is: https://github.com/hashicorp/terraform-provider-google/issues/7474,
    https://cloud.google.com/kubernetes-engine/docs/concepts/alias-ips."""
    subnetwork = deployed.outputs(_SUBNETWORK, f"{name}-subnetwork")
    if settings.network.existing is not None or not subnetwork or _other_subnetwork(settings, subnetwork):
        return
    ranges = {each["rangeName"]: each["ipCidrRange"] for each in subnetwork.get("secondaryIpRanges") or ()}
    for key, range_name, written in (
        ("podCidr", POD_RANGE, settings.network.pod_cidr),
        ("serviceCidr", SERVICE_RANGE, settings.network.service_cidr),
    ):
        if ranges.get(range_name, written) != written:
            yield Problem(
                f"network.{key}",
                f"the running cluster has {ranges[range_name]}, and Google cannot change it",
                f"Write {key}: {ranges[range_name]}; {_OTHERWISE}",
            )


def _other_subnetwork(settings: Settings, running: Mapping[str, Any]) -> bool:
    """Whether nodeCidr replaces it, and the cluster with it: it grows in place, and does nothing else."""
    before, after = (ipaddress.IPv4Network(each) for each in (running["ipCidrRange"], settings.network.node_cidr))
    return not after.supernet_of(before)


def _smaller_volume(settings: Settings, deployed: Deployed) -> Iterator[Problem]:
    """https://cloud.google.com/filestore/docs/editing-instances: an instance of a basic tier only grows."""
    volume = settings.workloads.shared_volume
    if volume is None:
        return
    for instance in running_shares(deployed):
        there = int((instance.get("fileShares") or {}).get("capacityGb", 0))
        if size_of(volume) < there:
            yield Problem(
                "workloads.sharedVolume.sizeGib",
                f"the volume has {there} GiB, and Google makes none smaller",
                f"Write sizeGib: {there}",
            )
