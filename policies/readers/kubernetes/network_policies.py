"""Plugins of the pods' network, and whether they enforce NetworkPolicies: add-ons, charts, DaemonSets, Auto Mode."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from facts.concepts.declared import NetworkPlugin
from facts.concepts.unknown import UNKNOWN, at, flag, items, text
from policies.readers.resource import Declared

# They enforce them as they come: https://docs.cilium.io/en/stable/security/policy,
# https://docs.tigera.io/calico/latest/network-policy, https://antrea.io/docs/main/docs/antrea-network-policy,
# https://github.com/kubernetes-sigs/kube-network-policies
_ENFORCING: Final = re.compile(r"\b(?:cilium|calico|canal|tigera-operator|antrea|kube-router|kube-network-policies)\b")
# Off in both unless this value is set: https://github.com/aws/amazon-vpc-cni-k8s/blob/master/charts/aws-vpc-cni/README.md,
# https://github.com/flannel-io/flannel/blob/master/Documentation/netpol.md
_SWITCHES: Final[Mapping[str, tuple[str, ...]]] = {
    "aws-vpc-cni": ("enableNetworkPolicy",),
    "flannel": ("netpol", "enabled"),
    "vpc-cni": ("enableNetworkPolicy",),  # the add-on, with the values of its chart
}
_FLANNEL: Final = re.compile(r"\bflannel:")
# https://docs.aws.amazon.com/eks/latest/userguide/auto-net-pol.html
_AUTO_MODE: Final = "amazon-vpc-cni"


def plugin_of_values(name: str, values: Any, complete: bool = True, cluster: Any = None) -> Iterator[NetworkPlugin]:
    """That of a chart or an add-on ``name``, if it is one; ``complete``: whether ``values`` are all that are set."""
    if name in _SWITCHES:
        switch = flag(at(values, *_SWITCHES[name]))
        yield NetworkPlugin(switch if complete or switch is True else UNKNOWN, text(cluster))
    elif _ENFORCING.search(name):
        yield NetworkPlugin(True, text(cluster))


def plugin_of_pod(pod: Any) -> Iterator[NetworkPlugin]:
    """That of a DaemonSet, by its images."""
    images = " ".join(str(at(each, "image")) for each in items(at(pod, "containers")))
    if _ENFORCING.search(images) or _FLANNEL.search(images):
        yield NetworkPlugin(_ENFORCING.search(images) is not None)


def plugin_of_auto_mode(config_map: Declared) -> Iterator[NetworkPlugin]:
    """EKS' own in Auto Mode, which a ConfigMap switches on."""
    if config_map.object_name == _AUTO_MODE:
        yield NetworkPlugin(flag(at(config_map.properties, "data", "enable-network-policy-controller")))
