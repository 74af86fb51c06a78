"""What the cluster autoscaler reads about Amazon's Auto Scaling groups: their names and tags.

https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/cloudprovider/aws/README.md
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from facts.concepts.autoscaler import AutoscalerCall, ScalingGroup
from facts.concepts.unknown import UNKNOWN, Maybe, at, text
from policies.readers.eks.subnets import is_selected
from policies.readers.resource import Declared, Program
from policies.readers.spelling import tag_key

ENABLED_TAG: Final = "k8s.io/cluster-autoscaler/enabled"
OWNED_TAG: Final = "k8s.io/cluster-autoscaler/"
TAG: Final = "aws:autoscaling/tag:Tag"
# https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/cloudprovider/aws/managed_nodegroup_cache.go
_DESCRIBES: Final = AutoscalerCall("eks:DescribeNodegroup", "arn:?:eks:?:?:nodegroup/?")
_UUID: Final = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"


def of_node_group(declared: Declared, name: str, cluster: Maybe[str | None]) -> ScalingGroup:
    """The group behind a managed node group: EKS's own tags for discovery, and what other resources add.

    The node group's own tags do not reach it: https://github.com/aws/containers-roadmap/issues/608.
    """
    tags: dict[Any, Any] = {ENABLED_TAG: "true", "eks:nodegroup-name": name}
    if isinstance(cluster, str):
        tags |= {OWNED_TAG + cluster: "owned", f"kubernetes.io/cluster/{cluster}": "owned", "eks:cluster-name": cluster}
    else:
        tags[UNKNOWN] = UNKNOWN
    found = scaling_group(group_name(name), {**tags, **dict(added_tags(declared))})
    return replace(found, described_by=_DESCRIBES)


def group_name(name: str) -> str:
    """The pattern of the names that EKS gives to the Auto Scaling group of a node group."""
    return f"eks-{re.escape(name)}-{_UUID}"


def scaling_group(name: Maybe[str], tags: Mapping[Any, Any]) -> ScalingGroup:
    """A group with its ``tags``; the key ``UNKNOWN`` stands for tags whose keys are not known yet."""
    known = {str(key): _value(value) for key, value in tags.items() if key not in (UNKNOWN, None)}
    return ScalingGroup(name, known, UNKNOWN in tags)


def tags_among(declared: Declared, pattern: Maybe[str], everything: Program, type: str = TAG) -> Iterable[Declared]:
    """The tags, or other parts of this ``type``, that resources of their own put on the group of ``declared``, whose
    name fits ``pattern``.

    A tag whose group is still unknown may be for this group.
    """
    for other in everything.of(type):
        named, sources = other.properties.get("autoscalingGroupName"), other.dependencies.get("autoscalingGroupName")
        selector = other.properties.get("autoscalingGroupNameSelector")
        if selector is not None and is_selected(declared, (selector,)) is False:
            continue
        by_name = isinstance(named, str) and pattern is not UNKNOWN and re.fullmatch(pattern, named) is not None
        if by_name or declared.urn in (sources or ()) or (named is UNKNOWN and not sources):
            yield other


def added_tags(declared: Declared) -> Iterable[tuple[Any, Any]]:
    """Key and value of every tag that another resource puts on the group."""
    for other in declared.references:
        if other.type != TAG:
            continue
        tag = other.properties.get("tag")
        elsewhere = other.properties.get("autoscalingGroupName") is UNKNOWN and not other.dependencies
        yield (UNKNOWN, UNKNOWN) if elsewhere else (tag_key(at(tag, "key")), at(tag, "value"))


def _value(value: Any) -> Maybe[str]:
    tag_value = text(value)
    return "" if tag_value is None else tag_value
