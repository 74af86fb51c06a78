"""Placement of pods in a chart's values, for charts whose objects exist only in the cluster.

Values do not name the kind of the pods. Components named like a DaemonSet are left out, because DaemonSets may tolerate
everything, and so are pods that request GPUs. For the others the rules decide what depends on the kind.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from facts.concepts.declared import UnknownReason, Workload
from facts.concepts.kubernetes import RESOURCES
from facts.concepts.unknown import UNKNOWN, known_texts
from policies.readers.kubernetes.network_policies import plugin_of_values
from policies.readers.kubernetes.workloads import affinity_of, tolerations_of
from policies.readers.resource import Declared, Item, Reader

_PLACEMENT: Final = ("tolerations", "nodeSelector", "affinity")
# Words by which charts and add-ons call their DaemonSets: node-exporter, nodeAgent, fluent-bit, kube-proxy.
_DAEMON: Final = re.compile(
    r"daemon|^node$|node-?(?:exporter|agent|plugin|driver|server|problem|local)|-agent$|^agents$|device-?plugin"
    r"|fluent-?(?:bit|d)$|promtail|vpc-cni|kube-proxy|^speaker$",
    re.IGNORECASE,
)
# A container's own words, and those of JupyterHub's KubeSpawner:
# https://jupyterhub-kubespawner.readthedocs.io/en/latest/spawner.html#kubespawner.KubeSpawner.extra_resource_limits
_ASKING: Final = ("limits", "requests", "extra_resource_limits", "extra_resource_guarantees")
_DOUBT: Final = UnknownReason(
    "its values do not say whether these pods belong to a Deployment or a DaemonSet",
    "Name the taints it needs to tolerate, or render the chart in the program so that its objects are checked. "
    "Exempt a DaemonSet by name.",
)


def placed(values: Any, release: str, namespace: str, resource: str, known: Iterable[str] = ()) -> Iterator[Workload]:
    """Pods by the placement that values give them; those at the paths ``known`` (dotted) are read elsewhere."""
    for path, placement in _placements(values, (release,)):
        where = ".".join(path[1:])
        if f"{where}.tolerations".lstrip(".") in known:
            continue
        tolerations, selector = tolerations_of(placement.get("tolerations")), known_texts(placement.get("nodeSelector"))
        if tolerations is UNKNOWN or selector is UNKNOWN:
            continue
        yield Workload(
            name="/".join(path),
            namespace=namespace,
            kind="Release",
            tolerations=tolerations,
            node_selector=selector,
            affinity=affinity_of(placement.get("affinity")),
            unknown_reason=_DOUBT,
            resource=resource,
        )


def over(values: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """``values`` over a chart's ``defaults``: maps are merged, anything else is replaced, as Helm does.

    https://helm.sh/docs/chart_template_guide/values_files/
    """
    merged = dict(defaults)
    for key, value in values.items():
        below = merged.get(key)
        merged[key] = over(value, below) if isinstance(value, Mapping) and isinstance(below, Mapping) else value
    return merged


def read_addon(declared: Declared) -> Iterable[Item]:
    """``aws:eks/addon:Addon``: https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateAddon.html."""
    values, name = parsed(declared.properties.get("configurationValues")), declared.named("addonName")
    yield from plugin_of_values(name, values, cluster=declared.properties.get("clusterName"))
    yield from placed(values, name, "kube-system", declared.urn)


def parsed(value: Any) -> Any:
    """Values that are written as a text, in YAML or JSON; ``UNKNOWN`` for a text that is neither."""
    if not isinstance(value, str):
        return value
    import yaml  # 0.1 s that few programs need to spend

    try:
        return yaml.safe_load(value)
    except yaml.YAMLError:
        return UNKNOWN


def _placements(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
    if isinstance(value, (list, tuple)):
        for number, part in enumerate(value):
            yield from _placements(part, (*path, str(number)))
    if not isinstance(value, Mapping) or value.get("kind") == "DaemonSet" or _DAEMON.search(path[-1]):
        return
    placement = {key: _structured(value[key]) for key in _PLACEMENT if value.get(key) is UNKNOWN or value.get(key)}
    if placement and not _asks(value):
        yield path, placement
    for key, part in value.items():
        if key not in _PLACEMENT:
            yield from _placements(part, (*path, str(key)))


def _structured(value: Any) -> Any:
    """Some charts take a text, in YAML, which is a template where it cannot be parsed."""
    content = parsed(value)
    return UNKNOWN if isinstance(value, str) and not isinstance(content, (list, dict)) else content


def _asks(value: Any) -> bool:
    """Whether the value requests GPUs anywhere."""
    if isinstance(value, Mapping):
        sections = [value[key] for key in _ASKING if isinstance(value.get(key), Mapping)]
        asked = any(each in section for section in sections for each in RESOURCES.values())
        return asked or any(_asks(part) for part in value.values())
    return isinstance(value, (list, tuple)) and any(_asks(part) for part in value)


GENERIC: Final = (read_addon,)

READERS: Final[Mapping[str, Reader]] = {
    "aws:eks/addon:Addon": read_addon,
}
