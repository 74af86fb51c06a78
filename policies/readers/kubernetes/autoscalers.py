"""Node autoscalers as workloads: the groups that they discover, their identity, and their calls to the cloud."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from facts.concepts.autoscaler import Autoscaler, AutoscalerCall, flags_of, tags_of
from facts.concepts.declared import IdleTime, Minimum
from facts.concepts.unknown import UNKNOWN, Maybe, amount, at, coalesce, flag, items, text
from policies.readers.eks.scaling import ENABLED_TAG, OWNED_TAG
from policies.readers.idle import idle_of_flags
from policies.readers.tables import rows

_CLUSTER_AUTOSCALER: Final = re.compile(r"(?:^|/)cluster-autoscaler(?:-[a-z0-9]+)?(?:[:@]|$)")
_KARPENTER: Final = re.compile(r"(?:^|/)karpenter(?:/controller)?(?:[:@]|$)")
# Credentials in the pod itself, which take precedence over the cluster's identity.
_OWN_KEYS: Final = ("AWS_ACCESS_KEY_ID", "AWS_ROLE_ARN", "AWS_PROFILE")
_CHART_KEYS: Final = ("awsAccessKeyID", "extraEnv", "extraEnvConfigMaps", "extraEnvSecrets", "envFromSecret")
# What of ``autoDiscovery`` has the chart make its Deployment.
_FINDS: Final = ("clusterName", "namespace", "labels")
_CLUSTER_NAME: Final = re.compile(r"\{\{\s*\.Values\.autoDiscovery\.clusterName\s*\}\}")


def _rights(autoscaler: str) -> tuple[AutoscalerCall, ...]:
    table = rows("readers/kubernetes", "autoscaler_rights")
    own = (row for row in table if row["autoscaler"] == autoscaler)
    return tuple(AutoscalerCall(row["action"], row["resource"], on_group=bool(row["on_group"])) for row in own)


_RIGHTS_ON_GROUPS: Final = _rights("cluster-autoscaler")
_RIGHTS_ON_MACHINES: Final = _rights("karpenter")


def scales_nodes(pod: Any) -> Maybe[bool]:
    """Whether the pod is a node autoscaler, by its image or its command."""
    if pod is UNKNOWN:
        return UNKNOWN
    containers = items(at(pod, "containers"))
    if any(_is_cluster_autoscaler(each) or _is_karpenter(each) for each in containers):
        return True
    return UNKNOWN if UNKNOWN in [at(each, "image") for each in containers] else False


def _is_cluster_autoscaler(container: Any) -> bool:
    """By its image, or where that is a copy under another name, by the program that it starts."""
    image, words = at(container, "image"), _words(container)
    program = str(words[0]).rpartition("/")[2] if words else ""
    return (isinstance(image, str) and _CLUSTER_AUTOSCALER.search(image) is not None) or program == "cluster-autoscaler"


def _is_karpenter(container: Any) -> bool:
    image = at(container, "image")
    return isinstance(image, str) and _KARPENTER.search(image) is not None


def autoscaler_of(pod: Any) -> Autoscaler | None:
    """What the pod is, if it is an autoscaler whose cloud's rights are known: cluster-autoscaler for AWS, Karpenter."""
    account_name = coalesce(text(at(pod, "serviceAccountName")), "default")
    for container in items(at(pod, "containers")):
        if _is_cluster_autoscaler(container):
            autoscaler = _cluster_autoscaler(_words(container), account_name)
            own_keys = items(at(container, "envFrom")) or any(
                at(entry, "name") in (UNKNOWN, *_OWN_KEYS) for entry in items(at(container, "env"))
            )
            return replace(autoscaler, rights=()) if autoscaler is not None and own_keys else autoscaler
        if _is_karpenter(container):
            variables = [str(at(entry, "name")) for entry in items(at(container, "env"))]
            azure = any(name.startswith(("ARM_", "AZURE_")) for name in variables)
            return None if azure else Autoscaler(account_name, _RIGHTS_ON_MACHINES)
    return None


def idle_of(pod: Any) -> IdleTime | None:
    """How long the cluster autoscaler in this pod, of any cloud, leaves idle nodes; ``None`` where it does not say."""
    for flags in _all_flags(pod):
        return idle_of_flags(_at_last(flags))
    return None


def _at_last(flags: Mapping[str, list[Any]]) -> dict[str, Any]:
    """What holds of flags that are given several times: the last, of totals of GPUs all."""
    totals = {name: UNKNOWN if UNKNOWN in values else " ".join(values) for name, values in flags.items()}
    return {name: totals[name] if name == "gpu-total" else values[-1] for name, values in flags.items()}


def minimums_of(pod: Any, what: str, resource: str) -> Iterator[Minimum]:
    """The minimums of groups from this cluster autoscaler's flags: ``--nodes=min:max:name``."""
    for flags in _all_flags(pod):
        yield from _minimums_of_flags(flags, what, resource)


def _minimums_of_flags(flags: Mapping[str, list[Any]], what: str, resource: str) -> Iterator[Minimum]:
    for spec in flags.get("nodes", []):
        if spec is UNKNOWN:
            yield Minimum(what, UNKNOWN, UNKNOWN, where="--nodes", resource=resource)
            continue
        least, _, rest = spec.partition(":")
        yield Minimum(what, amount(least), rest.partition(":")[2], where=f"--nodes={spec}", resource=resource)


def _all_flags(pod: Any) -> Iterator[dict[str, list[str]]]:
    """The flags of each container with the cluster autoscaler."""
    for container in items(at(pod, "containers")):
        if _is_cluster_autoscaler(container):
            yield flags_of(_words(container))


def _words(container: Any) -> list[Any]:
    return [*items(at(container, "command")), *items(at(container, "args"))]


def runs(chart: str, values: Any) -> Maybe[bool]:
    """Whether the Helm chart starts pods; that of cluster-autoscaler starts none without a cluster's name or groups.

    https://github.com/kubernetes/autoscaler/blob/master/charts/cluster-autoscaler/templates/deployment.yaml
    """
    if chart == "karpenter":
        pods = amount(at(values, "replicas"), 2)
        return UNKNOWN if UNKNOWN in (values, pods) else pods != 0
    given = [at(values, "autoDiscovery", key) for key in _FINDS] + [at(values, "autoscalingGroups")]
    pods = amount(at(values, "replicaCount"), 1)
    if UNKNOWN in (values, pods, *given):
        return UNKNOWN
    return pods != 0 and any(each not in (None, "", [], {}) for each in given)


def minimums_of_chart(values: Any, what: str, resource: str) -> Iterator[Minimum]:
    """The same for the Helm chart; its default is 1."""
    yield from _minimums_of_flags(_flags_of_chart(values), what, resource)
    for number, group in enumerate(items(at(values, "autoscalingGroups"))):
        where = f"values.autoscalingGroups[{number}].minSize"
        yield Minimum(what, amount(at(group, "minSize"), 1), text(at(group, "name")), where=where, resource=resource)


def idle_of_chart(values: Any) -> IdleTime | None:
    """The same for the Helm chart."""
    places = [key for key in ("extraArgs", "customArgs") if at(values, key) is UNKNOWN]
    if places:
        return IdleTime(UNKNOWN, f"values.{places[0]}")
    times = idle_of_flags(_at_last(_flags_of_chart(values)), "")
    if times is None:
        return None
    place = "customArgs: --" if times.where in flags_of(items(at(values, "customArgs"))) else "extraArgs."
    return IdleTime(times.minutes, f"values.{place}{times.where}")


def _flags_of_chart(values: Any) -> dict[str, list[Any]]:
    """Flag → its values in the program's order: ``extraArgs`` by key, of which what follows an underscore only tells
    several of one flag apart, and then the words of ``customArgs``.

    https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/charts/cluster-autoscaler/templates/deployment.yaml
    """
    extra, flags = at(values, "extraArgs"), dict[str, list[Any]]()
    for key, value in sorted(extra.items()) if isinstance(extra, Mapping) else ():
        given = "true" if value is None else value if value is UNKNOWN else str(value)
        flags.setdefault(str(key).partition("_")[0], []).append(given)
    for name, given_values in flags_of(items(at(values, "customArgs"))).items():
        flags.setdefault(name, []).extend(given_values)
    return flags


def of_cluster_autoscaler_chart(values: Any, release: str) -> Autoscaler | None:
    """The same for the Helm chart: https://github.com/kubernetes/autoscaler/tree/master/charts/cluster-autoscaler."""
    provider = text(at(values, "cloudProvider"))
    if provider not in (None, "aws"):
        return None
    rights = () if any(at(values, key) not in (None, "", {}) for key in _CHART_KEYS) else _RIGHTS_ON_GROUPS
    account = text(at(values, "rbac", "serviceAccount", "name"))
    # The chart's name for everything is <release>-<provider>-<chart>, the chart's part once.
    default = f"{release}-aws-cluster-autoscaler"
    name = text(at(values, "fullnameOverride"))
    discovery = at(values, "autoDiscovery")
    cluster, tags = text(at(discovery, "clusterName")), items(at(discovery, "tags"))
    listed = [at(entry, "name") for entry in items(at(values, "autoscalingGroups"))]
    extra = at(values, "extraArgs", "node-group-auto-discovery")
    found = [] if extra is UNKNOWN else _flags_of_chart(values).get("node-group-auto-discovery", [])
    if cluster is UNKNOWN or UNKNOWN in (values, extra, at(values, "customArgs"), *tags):
        return Autoscaler(coalesce(account, name, default), rights, UNKNOWN, UNKNOWN)
    tag_sets: list[Mapping[str, str]] = []
    if cluster is not None:
        tag_list = tags or [ENABLED_TAG, OWNED_TAG + "{{ .Values.autoDiscovery.clusterName }}"]
        tag_sets.append(tags_of(_CLUSTER_NAME.sub(cluster, ",".join(map(str, tag_list)))))
    tag_sets += [tags_of(each.partition("tag=")[2]) for each in found]
    groups: Maybe[tuple[str, ...]] = UNKNOWN if UNKNOWN in listed else tuple(str(entry) for entry in listed)
    return Autoscaler(coalesce(account, name, default), rights, tuple(tag_sets), groups)


def of_karpenter_chart(values: Any, release: str) -> Autoscaler:
    """The same for Karpenter's chart: https://github.com/aws/karpenter-provider-aws/tree/main/charts/karpenter."""
    account, name = text(at(values, "serviceAccount", "name")), text(at(values, "fullnameOverride"))
    default = release if "karpenter" in release else f"{release}-karpenter"
    claims = flag(at(values, "settings", "enableDRA"))
    return Autoscaler(coalesce(account, name, default), _RIGHTS_ON_MACHINES, claims=claims)


def _cluster_autoscaler(words: Sequence[Any], account: Maybe[str]) -> Autoscaler | None:
    flags = flags_of(words)
    providers = flags.get("cloud-provider", [])
    # A flag that is not known yet may name any cloud, and any group.
    if UNKNOWN in words and not providers:
        return Autoscaler(account, (), UNKNOWN, UNKNOWN)
    if providers[-1:] != ["aws"]:
        return None
    if UNKNOWN in words:
        return Autoscaler(account, _RIGHTS_ON_GROUPS, UNKNOWN, UNKNOWN)
    # With its built-in list of machine types it asks EC2 nothing (the README's minimal policy).
    static = flag(flags.get("aws-use-static-instance-list", [""])[-1]) is True
    rights = tuple(right for right in _RIGHTS_ON_GROUPS if not static or not right.action.startswith("ec2:"))
    specs = [spec.partition("tag=") for spec in flags.get("node-group-auto-discovery", [])]
    return Autoscaler(
        account,
        rights,
        discovery=tuple(tags_of(tags) for kind, _, tags in specs if kind == "asg:"),
        groups=tuple(spec.split(":", 2)[-1] for spec in flags.get("nodes", [])),
    )
