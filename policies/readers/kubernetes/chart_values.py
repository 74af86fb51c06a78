"""Placement of pods in a chart's values, for charts whose objects exist only in the cluster.

Values do not name the kind of the pods. Components named like a DaemonSet are left out, because DaemonSets may tolerate
everything, and so are pods that request GPUs. For the others the rules decide what depends on the kind.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from facts.concepts.declared import IdleTime, UnknownReason, Workload
from facts.concepts.kubernetes import RESOURCES
from facts.concepts.unknown import UNKNOWN, at, texts
from policies.readers.idle import idle_of_daemon_set
from policies.readers.kubernetes.network_policies import plugin_of_values
from policies.readers.kubernetes.pod_numbers import has_number
from policies.readers.kubernetes.workloads import affinity_of, names_gpus, tolerations_of
from policies.readers.resource import Declared, Item, Reader
from policies.readers.spelling import parsed
from policies.readers.tables import rows

_PARTS: Final = {row["chart"]: row["parts"].split() for row in rows("readers/kubernetes", "deployments")}
# extraTolerations, default-tolerations, node_selector: by any prefix and in any case.
_WORDS: Final = {
    "tolerations": re.compile(r"(?:^|[a-z_.-])(?:t|T)olerations?$"),
    "nodeSelector": re.compile(r"(?:^|[a-z_.-])(?:n|N)ode[_-]?(?:s|S)electors?$"),
    "affinity": re.compile(r"(?:^|[a-z_.-])(?:a|A)ffinity$"),
}
_COUNT: Final = re.compile(
    r"(?:use|request|num(?:ber_?of)?|n|min|max|limit)?_?gpus?_?(?:count|number|limit|request|quantity|enabled)?",
    re.IGNORECASE,
)
_TOML: Final = re.compile(r"node_tolerations\]\s*\n((?:\s*\"[^\"]*\"\s*=\s*\"[^\"]*\"[ \t]*\n?)+)")
_TOML_PAIR: Final = re.compile(r"\"([^\"]*)\"\s*=\s*\"([^\"]*)\"")
# Words by which charts and add-ons call their DaemonSets: node-exporter, nodeAgent, fluent-bit, kube-proxy.
_DAEMON: Final = re.compile(
    r"daemon|^node$|node-?(?:exporter|agent|plugin|driver|server|problem|local)|-agent$|^agents$|device-?plugin"
    r"|fluent-?(?:bit|d)$|promtail|vpc-cni|kube-proxy|^speaker$|^(?:cilium|falco)$",
    re.IGNORECASE,
)
_DOUBT: Final = UnknownReason(
    "its values do not say whether these pods belong to a Deployment or a DaemonSet",
    "Name the taints it needs to tolerate, or render the chart in the program so that its objects are checked. "
    "Exempt a DaemonSet by name.",
)


_DEFAULT_TOLERATIONS: Final = UnknownReason(
    "its values do not say which taints these pods tolerate", "Write the tolerations, or take the annotation out."
)
_OTHERS_ASK: Final = UnknownReason(
    "its values do not say whether these pods are those that request GPUs",
    "Write the request next to the tolerations, or exempt it by name.",
)


def placed(
    values: Any, release: str, namespace: str, resource: str, known: Iterable[str] = (), chart: str = ""
) -> Iterator[Workload]:
    """Pods by the placement that values give them; those at the paths ``known`` (dotted) are read elsewhere.

    Parts of a ``chart`` that certainly are Deployments are those; of others it is unknown.
    """
    certain, requested = _PARTS.get(chart, ()), asks(values)
    for path, placement, daemon_set in _placements(values, (release,)):
        where = ".".join(path[1:])
        if f"{where}.tolerations".lstrip(".") in known:
            continue
        tolerations, selector = tolerations_of(placement.get("tolerations")), texts(placement.get("nodeSelector"))
        idle: IdleTime | None = placement.get("idle")
        if daemon_set:  # it may tolerate everything: rules judge alone whether it keeps nodes
            if idle is not None:
                known_tolerations = "tolerations" in placement
                yield Workload(
                    name="/".join(path),
                    namespace=namespace,
                    kind="DaemonSet",
                    tolerations=tolerations if known_tolerations else UNKNOWN,
                    node_selector=selector,
                    idle=idle,
                    unknown_reason=None if known_tolerations else _DEFAULT_TOLERATIONS,
                    resource=resource,
                )
            continue
        if tolerations is UNKNOWN or selector is UNKNOWN:
            continue
        part = where.removeprefix(chart).lstrip(".") or "."
        sure = part in certain or _is_deployment(values, path[1:])
        yield Workload(
            name="/".join(path),
            namespace=namespace,
            kind="Deployment" if sure else "Release",
            tolerations=tolerations,
            node_selector=selector,
            affinity=affinity_of(placement.get("affinity")),
            idle=None if sure else idle,
            unknown_reason=None if sure else _OTHERS_ASK if requested else _DOUBT,
            resource=resource,
        )


def _is_deployment(values: Any, path: tuple[str, ...]) -> bool:
    """Whether the values at ``path`` say that these pods are no DaemonSet's."""
    return says(at(values, *path), "deployment", "statefulset")


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
    yield from placed(values, name, "kube-system", declared.urn, chart=name)


_Placement: TypeAlias = tuple[tuple[str, ...], Mapping[str, Any], bool]


def _placements(value: Any, path: tuple[str, ...], in_daemon_set: bool = False) -> Iterator[_Placement]:
    """Each placement with its path, and whether it is that of a DaemonSet."""
    if isinstance(value, str):
        yield from ((*each, in_daemon_set) for each in _in_text(value, path))
    if isinstance(value, (list, tuple)):
        for number, part in enumerate(value):
            yield from _placements(part, (*path, str(number)), in_daemon_set)
    if not isinstance(value, Mapping):
        return
    in_daemon_set = in_daemon_set or _DAEMON.search(path[-1]) is not None
    # The word is about the pods of this place. Those further down may be others.
    daemon_set = in_daemon_set or (says(value, "daemonset", "both") and not has_number(value))
    if not asks(value):
        yield from ((path if key == "tolerations" else (*path, key), each, daemon_set) for key, each in _spelled(value))
    for key, part in value.items():
        # An operator's `affinity` may have tolerations and a selector of its own.
        if not any(word.search(str(key)) for word in _WORDS.values()) or at(part, "tolerations") is not None:
            yield from _placements(part, (*path, str(key)), in_daemon_set)


def says(values: Any, *kinds: str) -> bool:
    """Whether values say that the pods of this place are of one of these kinds, as charts of agents let choose."""
    return any(str(at(values, key)).lower() in kinds for key in ("kind", "mode", "type"))


def _in_text(text: str, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
    """Settings that a platform reads from a text: YAML or JSON, and TOML of GitLab's runner.

    https://docs.gitlab.com/runner/executors/kubernetes/#define-settings-in-the-configuration-toml
    """
    for section in _TOML.finditer(text):
        pairs = [(*key.partition("="), effect) for key, effect in _TOML_PAIR.findall(section.group(1))]
        listed = [
            {"key": key or None, "operator": "Equal" if equal else "Exists", "value": value, "effect": effect or None}
            for key, equal, value, effect in pairs
        ]
        yield (*path, "node_tolerations"), {"tolerations": listed}
    if _WORDS["tolerations"].search(text.partition(":")[0]) or re.search(r"olerations[\"']?\s*:", text):
        content = parsed(text)
        if isinstance(content, (Mapping, list)):
            yield from ((own, placement) for own, placement, _ in _placements(content, path))


def _spelled(value: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The placements at this place, each with its key: ``tolerations``, and ``extraTolerations`` in any spelling.

    Selectors hold for all of them.
    """
    given = {str(key): part for key, part in value.items() if part is UNKNOWN or part}
    shared = {
        name: _structured(part)
        for name in ("nodeSelector", "affinity")
        for key, part in given.items()
        if _WORDS[name].search(key)
    }
    annotations = (part for key, part in given.items() if key.lower().endswith("annotations"))
    kept = {"idle": idle} if (idle := next(filter(None, map(idle_of_daemon_set, annotations)), None)) else {}
    keys = [key for key in given if _WORDS["tolerations"].search(key)]
    for key in keys:
        name = "tolerations" if key == "tolerations" else key
        yield name, {**shared, **kept, "tolerations": _structured(given[key])}
    if not keys and (shared or kept):
        yield "tolerations", {**shared, **kept}


def _structured(value: Any) -> Any:
    """Some charts take a text, in YAML, which is a template where it cannot be parsed."""
    content = parsed(value)
    return UNKNOWN if isinstance(value, str) and not isinstance(content, (list, dict)) else content


def asks(value: Any) -> bool:
    """Whether the value requests GPUs anywhere: by their resource, by a number or by a switch."""
    if isinstance(value, Mapping):
        return any(_is_request(str(key), part) for key, part in value.items()) or any(
            asks(part) for key, part in value.items() if not any(word.search(str(key)) for word in _WORDS.values())
        )
    return isinstance(value, (list, tuple)) and any(asks(part) for part in value)


def _is_request(key: str, value: Any) -> bool:
    number = str(value).isdecimal() and int(value) > 0
    if key in RESOURCES.values() or (number and names_gpus(key)):
        return True
    return _COUNT.fullmatch(key) is not None and (number or value is True or at(value, "enabled") is True)


GENERIC: Final = (read_addon,)

READERS: Final[Mapping[str, Reader]] = {
    "aws:eks/addon:Addon": read_addon,
}
