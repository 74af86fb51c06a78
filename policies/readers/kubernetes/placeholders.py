"""Charts whose pods only keep room for others, with GPUs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from facts.concepts.declared import Workload
from facts.concepts.unknown import UNKNOWN, Maybe, at, coalesce, flag, items, known_texts, mapping, whole
from policies.readers.kubernetes.workloads import container_gpus, tolerations_of


def placeholders(chart: str, values: Any, release: str, namespace: str, resource: str) -> Iterator[Workload]:
    """The placeholders that a release of ``chart`` makes; most charts make none."""
    if chart == "cluster-overprovisioner":
        yield from _overprovisioner(values, release, namespace, resource)
    elif chart == "jupyterhub":
        yield from _jupyterhub(values, release, namespace, resource)


def _overprovisioner(values: Any, release: str, namespace: str, resource: str) -> Iterator[Workload]:
    """https://github.com/deliveryhero/helm-charts/tree/master/stable/cluster-overprovisioner."""
    for number, entry in enumerate(items(at(values, "deployments"))):
        name = at(entry, "name")
        label = name if isinstance(name, str) else str(number)
        count = coalesce(at(entry, "replicaCount"), 1)
        yield _pods(entry, container_gpus(entry), count, (f"{release}/{label}", namespace, resource))


def _jupyterhub(values: Any, release: str, namespace: str, resource: str) -> Iterator[Workload]:
    """User placeholders request what a user's server requests, unless they have resources of their own.

    https://z2jh.jupyter.org/en/stable/administrator/optimization.html#scaling-up-in-time-user-placeholders
    """
    keeps = at(values, "scheduling", "userPlaceholder")
    if at(keeps, "enabled") is not None and flag(at(keeps, "enabled")) is False:
        return
    user = at(values, "singleuser")
    own = at(keeps, "resources")
    extra = {section: at(user, "extraResource", place) for section, place in _EXTRA}
    gpus = container_gpus({"resources": own}) if own not in (None, {}) else container_gpus({"resources": extra})
    placement = {"tolerations": at(user, "extraTolerations"), "nodeSelector": at(user, "nodeSelector")}
    yield _pods(
        placement, gpus, coalesce(at(keeps, "replicas"), 0), (f"{release}/user-placeholder", namespace, resource)
    )


_EXTRA = (("limits", "limits"), ("requests", "guarantees"))


def _pods(placement: Any, gpus: Maybe[int], count: Any, named: tuple[str, str, str]) -> Workload:
    name, namespace, resource = named
    replicas = whole(count)
    shown = mapping(placement)
    return Workload(
        name=name,
        namespace=namespace,
        kind="Deployment",
        gpus=gpus,
        tolerations=UNKNOWN if shown is UNKNOWN else tolerations_of(shown.get("tolerations")),
        node_selector=UNKNOWN if shown is UNKNOWN else known_texts(shown.get("nodeSelector")),
        always=UNKNOWN if replicas is None else replicas,
        keeps_room=True,
        resource=resource,
    )
