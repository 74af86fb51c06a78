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
from policies.readers.idle import idle_of_flags, idle_of_profile
from policies.readers.tables import rows

_CLUSTER_AUTOSCALER: Final = re.compile(r"/cluster-autoscaler(-[a-z0-9]+)?[:@]")
_KARPENTER: Final = re.compile(r"/karpenter(/controller)?[:@]")
# Credentials in the pod itself, which take precedence over the cluster's identity.
_OWN_KEYS: Final = ("AWS_ACCESS_KEY_ID", "AWS_ROLE_ARN", "AWS_PROFILE")
_CHART_KEYS: Final = ("awsAccessKeyID", "extraEnv", "extraEnvConfigMaps", "extraEnvSecrets", "envFromSecret")
_CLUSTER_NAME: Final = re.compile(r"\{\{\s*\.Values\.autoDiscovery\.clusterName\s*\}\}")


def _rights(autoscaler: str) -> tuple[AutoscalerCall, ...]:
    table = rows("readers/kubernetes", "autoscaler_rights")
    own = (row for row in table if row["autoscaler"] == autoscaler)
    return tuple(AutoscalerCall(row["action"], row["resource"], on_group=bool(row["on_group"])) for row in own)


_RIGHTS_ON_GROUPS: Final = _rights("cluster-autoscaler")
_RIGHTS_ON_MACHINES: Final = _rights("karpenter")


def autoscaler_of(pod: Any) -> Autoscaler | None:
    """What the pod is, if it is an autoscaler whose cloud's rights are known: cluster-autoscaler for AWS, Karpenter."""
    account_name = coalesce(text(at(pod, "serviceAccountName")), "default")
    for container in items(at(pod, "containers")):
        image = at(container, "image")
        if not isinstance(image, str):
            continue
        if _CLUSTER_AUTOSCALER.search(image):
            autoscaler = _cluster_autoscaler(_words(container), account_name)
            own_keys = items(at(container, "envFrom")) or any(
                at(entry, "name") in (UNKNOWN, *_OWN_KEYS) for entry in items(at(container, "env"))
            )
            return replace(autoscaler, rights=()) if autoscaler is not None and own_keys else autoscaler
        if _KARPENTER.search(image):
            variables = [str(at(entry, "name")) for entry in items(at(container, "env"))]
            azure = any(name.startswith(("ARM_", "AZURE_")) for name in variables)
            return None if azure else Autoscaler(account_name, _RIGHTS_ON_MACHINES)
    return None


def idle_of(pod: Any) -> IdleTime | None:
    """How long the cluster autoscaler in this pod, of any cloud, leaves idle nodes; ``None`` where it does not say."""
    for flags in _all_flags(pod):
        last = {name: values[-1] if values else "true" for name, values in flags.items()}
        totals = {name: " ".join(flags[name]) for name in ("gpu-total",) if name in flags}
        return idle_of_flags({**last, **totals})
    return None


def minimums_of(pod: Any, what: str, resource: str) -> Iterator[Minimum]:
    """The minimums of groups from this cluster autoscaler's flags: ``--nodes=min:max:name``."""
    for spec in (spec for flags in _all_flags(pod) for spec in flags.get("nodes", [])):
        least, _, rest = spec.partition(":")
        yield Minimum(what, amount(least), rest.partition(":")[2], where=f"--nodes={spec}", resource=resource)


def _all_flags(pod: Any) -> Iterator[dict[str, list[str]]]:
    """The flags of each container with the cluster autoscaler."""
    for container in items(at(pod, "containers")):
        image = at(container, "image")
        if isinstance(image, str) and _CLUSTER_AUTOSCALER.search(image):
            yield flags_of(_words(container))


def _words(container: Any) -> list[Any]:
    return [*items(at(container, "command")), *items(at(container, "args"))]


def minimums_of_chart(values: Any, what: str, resource: str) -> Iterator[Minimum]:
    """The same for the Helm chart; its default is 1."""
    for number, group in enumerate(items(at(values, "autoscalingGroups"))):
        where = f"values.autoscalingGroups[{number}].minSize"
        yield Minimum(what, amount(at(group, "minSize"), 1), text(at(group, "name")), where=where, resource=resource)


def idle_of_chart(values: Any) -> IdleTime | None:
    """The same for the Helm chart."""
    flags = at(values, "extraArgs")
    return IdleTime(UNKNOWN, "values.extraArgs") if flags is UNKNOWN else idle_of_profile(flags, "values.extraArgs")


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
    if cluster is UNKNOWN or UNKNOWN in (values, extra, *tags):
        return Autoscaler(coalesce(account, name, default), rights, UNKNOWN, UNKNOWN)
    tag_sets: list[Mapping[str, str]] = []
    if cluster is not None:
        tag_list = tags or [ENABLED_TAG, OWNED_TAG + "{{ .Values.autoDiscovery.clusterName }}"]
        tag_sets.append(tags_of(_CLUSTER_NAME.sub(cluster, ",".join(map(str, tag_list)))))
    if extra is not None:
        tag_sets.append(tags_of(str(extra).partition("tag=")[2]))
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
    static = flags.get("aws-use-static-instance-list", [""])[-1] in ("1", "t", "T", "true", "TRUE", "True")
    rights = tuple(right for right in _RIGHTS_ON_GROUPS if not static or not right.action.startswith("ec2:"))
    specs = [spec.partition("tag=") for spec in flags.get("node-group-auto-discovery", [])]
    return Autoscaler(
        account,
        rights,
        discovery=tuple(tags_of(tags) for kind, _, tags in specs if kind == "asg:"),
        groups=tuple(spec.split(":", 2)[-1] for spec in flags.get("nodes", [])),
    )
