"""What EKS refuses of a cluster, one named rule each."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

from rehearsal.providers.base import Properties
from rehearsal.providers.eks.base.account import Account
from rehearsal.providers.rules import RuleBook
from rehearsal.providers.values import at

CLUSTER_RULES: Final = RuleBook[Account]()
DEFAULT_VERSION: Final = "1.34"
VERSIONS: Final = ("1.32", "1.33", "1.34", "1.35", "1.36")
"""https://docs.aws.amazon.com/eks/latest/userguide/kubernetes-versions.html (1.32 and 1.33 in extended support)."""

_CREATE: Final = "https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateCluster.html"
_ENDPOINT: Final = "https://docs.aws.amazon.com/eks/latest/userguide/cluster-endpoint.html"
_NETWORK: Final = "https://docs.aws.amazon.com/eks/latest/APIReference/API_KubernetesNetworkConfigRequest.html"
_ROLLBACK: Final = timedelta(days=7)
_PRIVATE: Final = tuple(map(ipaddress.ip_network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")))


@CLUSTER_RULES.add(
    "version-offered", "https://docs.aws.amazon.com/eks/latest/userguide/kubernetes-versions.html", "version"
)
def _version(inputs: Properties, account: Account) -> str | None:
    version = inputs.get("version")
    if version is None or version in VERSIONS:
        return None
    return f"InvalidParameterException: unsupported Kubernetes version {version}; supported: {', '.join(VERSIONS)}"


@CLUSTER_RULES.add("subnets-distinct", _CREATE, "vpcConfig.subnetIds")
def _subnets(inputs: Properties, account: Account) -> str | None:
    if len(set(at(inputs, "vpcConfig.subnetIds") or [])) >= 2:
        return None
    return "InvalidParameterException: Subnets specified must be in at least two different AZs"


@CLUSTER_RULES.add("endpoint-somewhere", _ENDPOINT, "vpcConfig.endpointPublicAccess", "vpcConfig.endpointPrivateAccess")
def _endpoint(inputs: Properties, account: Account) -> str | None:
    network: Mapping[str, Any] = inputs["vpcConfig"]
    if network.get("endpointPublicAccess", True) or network.get("endpointPrivateAccess"):
        return None
    return "InvalidParameterException: Private and public endpoint access cannot both be disabled"


@CLUSTER_RULES.add("public-access-ranges", _ENDPOINT, "vpcConfig.publicAccessCidrs", "vpcConfig.endpointPublicAccess")
def _allowed(inputs: Properties, account: Account) -> str | None:
    blocks = at(inputs, "vpcConfig.publicAccessCidrs") or []
    if blocks and at(inputs, "vpcConfig.endpointPublicAccess") is False:
        return "InvalidParameterException: publicAccessCidrs need a public endpoint"
    for text in blocks:
        try:
            block = ipaddress.ip_network(text)
        except ValueError as error:
            return (
                f"InvalidParameterException: The following CIDRs are invalid in publicAccessCidrs: [{text}] ({error})"
            )
        if block.prefixlen and any(block.version == 4 and block.subnet_of(known) for known in _PRIVATE):  # type: ignore[arg-type]
            return f"InvalidParameterException: The following CIDRs are not allowed in publicAccessCidrs: [{text}]"
    return None


@CLUSTER_RULES.add("service-range", _NETWORK, "kubernetesNetworkConfig.serviceIpv4Cidr")
def _services(inputs: Properties, account: Account) -> str | None:
    text = at(inputs, "kubernetesNetworkConfig.serviceIpv4Cidr")
    if text is None:
        return None
    try:
        block = ipaddress.IPv4Network(text)
    except ValueError as error:
        return f"InvalidParameterException: serviceIpv4Cidr {text} is no range: {error}"
    if not 12 <= block.prefixlen <= 24 or not any(block.subnet_of(known) for known in _PRIVATE):  # type: ignore[arg-type]
        return f"InvalidParameterException: serviceIpv4Cidr {text} must be /12 to /24 of a private range"
    return None


@CLUSTER_RULES.add(
    "encrypted-resources", "https://docs.aws.amazon.com/eks/latest/userguide/enable-kms.html", "encryptionConfig"
)
def _encrypted(inputs: Properties, account: Account) -> str | None:
    encryption = inputs.get("encryptionConfig")
    if not encryption or encryption.get("resources") == ["secrets"]:
        return None
    return "InvalidParameterException: The only supported value of encryptionConfig.resources is secrets"


@CLUSTER_RULES.add(
    "auto-mode-complete",
    "https://docs.aws.amazon.com/eks/latest/userguide/automode.html",
    "computeConfig",
    "storageConfig",
)
def _auto_mode(inputs: Properties, account: Account) -> str | None:
    if at(inputs, "computeConfig.enabled") or at(inputs, "storageConfig.blockStorage.enabled"):
        return "InvalidParameterException: EKS Auto Mode is not simulated: leave computeConfig and storageConfig out"
    return None


def version_step(old: str, new: str, since: timedelta | None) -> str | None:
    """Why a control plane of minor version ``old`` cannot become ``new``: one step up at a time
    (https://docs.aws.amazon.com/eks/latest/userguide/update-cluster.html), or one back in the seven days ``since`` it
    was upgraded in place (https://docs.aws.amazon.com/eks/latest/userguide/rollback-cluster.html).
    """
    step = int(new.partition(".")[2]) - int(old.partition(".")[2])
    if step in (0, 1) or (step == -1 and since is not None and since <= _ROLLBACK):
        return None
    return f"Unsupported Kubernetes minor version update from {old} to {new}"
