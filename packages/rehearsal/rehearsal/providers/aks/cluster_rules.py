"""What AKS refuses in a cluster, one rule per reason."""

from __future__ import annotations

import ipaddress
import re
from typing import Any, Final

from rehearsal.providers.aks.cloud import Rules, Subscription
from rehearsal.providers.aks.identity import KEY_URL
from rehearsal.providers.aks.pool_rules import SPEC, is_system
from rehearsal.providers.aks.versions import OFFERED, long_term_only, resolve
from rehearsal.providers.base import Properties
from rehearsal.providers.values import at

CLUSTER_RULES: Final = Rules()

SYSTEM: Final = "https://learn.microsoft.com/azure/aks/use-system-pools"
NO_SYSTEM: Final = "https://github.com/Azure/AKS/issues/1602"
AUTHORIZED: Final = "https://learn.microsoft.com/azure/aks/api-server-authorized-ip-ranges"
PRIVATE: Final = "https://learn.microsoft.com/azure/aks/private-clusters#configuration-options-for-private-dns"
ENTRA: Final = "https://learn.microsoft.com/azure/aks/enable-authentication-microsoft-entra-id"
IDENTITY: Final = "https://learn.microsoft.com/azure/aks/use-managed-identity"
OVERLAY: Final = "https://learn.microsoft.com/azure/aks/azure-cni-overlay"
RANGES: Final = "https://learn.microsoft.com/azure/aks/configure-azure-cni"
OUTBOUND: Final = "https://learn.microsoft.com/azure/aks/nat-gateway"
WORKLOAD: Final = "https://learn.microsoft.com/azure/aks/workload-identity-overview"
SCALER: Final = "https://learn.microsoft.com/azure/aks/cluster-autoscaler"
KMS: Final = "https://learn.microsoft.com/azure/aks/use-kms-etcd-encryption"
TIERS: Final = "https://learn.microsoft.com/azure/aks/free-standard-pricing-tiers"

# Of ``dnsPrefix``, which begins the API server's host name.
DNS_PREFIX: Final = re.compile(r"[a-zA-Z0-9](?:[-a-zA-Z0-9]{0,52}[a-zA-Z0-9])?")
# The specification: "No unit of time other than minutes (m) is supported", of all but two of them.
MINUTES: Final = re.compile(r"\d+m")
DURATIONS: Final = {
    "maxNodeProvisionTime": MINUTES,
    "newPodScaleUpDelay": re.compile(r"\d+(s|m|h)"),
    "scaleDownDelayAfterAdd": MINUTES,
    "scaleDownDelayAfterDelete": MINUTES,
    "scaleDownDelayAfterFailure": MINUTES,
    "scaleDownUnneededTime": MINUTES,
    "scaleDownUnreadyTime": MINUTES,
    "scanInterval": re.compile(r"\d+s"),
}
SWITCHES: Final = ("balanceSimilarNodeGroups", "skipNodesWithLocalStorage", "skipNodesWithSystemPods")
# "This range must be smaller than /12": https://learn.microsoft.com/azure/aks/concepts-network-ip-address-planning
WIDEST_SERVICES: Final = 13
MOST_AUTHORIZED: Final = 200


def inline_pools(cluster: Properties) -> list[Properties]:
    """The pools declared inside a cluster."""
    pools: Any = cluster.get("agentPoolProfiles")
    return [pool for pool in pools if isinstance(pool, dict)] if isinstance(pools, list) else []


@CLUSTER_RULES.add("cluster-location", "https://learn.microsoft.com/azure/reliability/regions-list", "location")
def _location(cluster: Properties, cloud: Subscription) -> str | None:
    if cluster.get("location") in cloud.catalog.regions:
        return None
    return (
        f"The provided location '{cluster.get('location')}' is not available for resource type "
        "'Microsoft.ContainerService/managedClusters' in this rehearsal."
    )


@CLUSTER_RULES.add("dns-prefix", SPEC, "dnsPrefix", "fqdnSubdomain")
def _dns(cluster: Properties, cloud: Subscription) -> str | None:
    prefix, subdomain = cluster.get("dnsPrefix"), cluster.get("fqdnSubdomain")
    if (prefix is None) == (subdomain is None):
        return "A cluster needs dnsPrefix or fqdnSubdomain, and not both."
    if prefix is not None and not DNS_PREFIX.fullmatch(prefix):
        return (
            f"The value '{prefix}' of dnsPrefix is invalid: 1 to 54 letters, digits and hyphens, which begins and ends "
            "with a letter or digit."
        )
    return None


@CLUSTER_RULES.add("cluster-system-pool", NO_SYSTEM, "agentPoolProfiles")
def _system(cluster: Properties, cloud: Subscription) -> str | None:
    pools = inline_pools(cluster)
    if not any(map(is_system, pools)):
        return "Must define at least one system pool."
    names = [pool.get("name") for pool in pools]
    return "Agent pool names must be unique in agentPoolProfiles." if len(set(names)) < len(names) else None


@CLUSTER_RULES.add(
    "version-offered",
    "https://learn.microsoft.com/azure/aks/supported-kubernetes-versions",
    "kubernetesVersion",
    "supportPlan",
)
def _version(cluster: Properties, cloud: Subscription) -> str | None:
    version = cluster.get("kubernetesVersion")
    if long_term_only(version) and cluster.get("supportPlan") != "AKSLongTermSupport":
        return f"Managed cluster is on version {version}, which is only available for Long-Term Support (LTS)."
    if version is None or resolve(version):
        return None
    return f"Managed cluster is on version {version}, which is not supported: this rehearsal offers {OFFERED}."


@CLUSTER_RULES.add("identity-or-principal", IDENTITY, "identity", "servicePrincipalProfile")
def _identity(cluster: Properties, cloud: Subscription) -> str | None:
    kind = at(cluster, "identity.type")
    if kind in (None, "None") and not cluster.get("servicePrincipalProfile"):
        return "Provisioning of a cluster needs an identity (identity.type) or a service principal."
    users = at(cluster, "identity.userAssignedIdentities") or []
    if kind == "UserAssigned" and len(users) != 1:
        return "identity.type UserAssigned needs exactly one id in identity.userAssignedIdentities."
    if kind == "SystemAssigned" and users:
        return "identity.userAssignedIdentities needs identity.type UserAssigned."
    if at(cluster, "identityProfile.kubeletidentity") and kind != "UserAssigned":
        return "identityProfile.kubeletidentity needs a cluster identity of type UserAssigned."
    return None


@CLUSTER_RULES.add("authorized-ranges-public", AUTHORIZED, "apiServerAccessProfile")
def _authorized(cluster: Properties, cloud: Subscription) -> str | None:
    ranges = at(cluster, "apiServerAccessProfile.authorizedIPRanges") or []
    if ranges and at(cluster, "apiServerAccessProfile.enablePrivateCluster"):
        return "apiServerAccessProfile: authorizedIPRanges cannot be used with a private cluster."
    if len(ranges) > MOST_AUTHORIZED:
        return f"apiServerAccessProfile.authorizedIPRanges: at most {MOST_AUTHORIZED} ranges, not {len(ranges)}."
    return _bad_range("apiServerAccessProfile.authorizedIPRanges", ranges)


@CLUSTER_RULES.add("private-zone-form", PRIVATE, "apiServerAccessProfile", "location")
def _private_zone(cluster: Properties, cloud: Subscription) -> str | None:
    access = cluster.get("apiServerAccessProfile") or {}
    zone, region = access.get("privateDNSZone") or "system", cluster["location"]
    if zone == "none" and access.get("enablePrivateClusterPublicFQDN") is False:
        return "apiServerAccessProfile: privateDNSZone none needs enablePrivateClusterPublicFQDN."
    suffix = f"privatelink.{region}.azmk8s.io"
    if zone in ("system", "none") or f".{zone.rpartition('/')[2]}".endswith(f".{suffix}"):
        return None
    return f"apiServerAccessProfile.privateDNSZone: the zone's name must end with {suffix}."


@CLUSTER_RULES.add("local-accounts-need-entra", ENTRA, "disableLocalAccounts", "aadProfile")
def _local(cluster: Properties, cloud: Subscription) -> str | None:
    profile = cluster.get("aadProfile")
    if cluster.get("disableLocalAccounts") and not profile:
        return "disableLocalAccounts needs Microsoft Entra ID: give aadProfile with managed true."
    if profile and profile.get("enableAzureRBAC") and not profile.get("managed"):
        return "aadProfile.enableAzureRBAC needs aadProfile.managed."
    if profile and cluster.get("enableRBAC") is False:
        return "aadProfile needs enableRBAC."
    return None


@CLUSTER_RULES.add("workload-identity-needs-issuer", WORKLOAD, "securityProfile", "oidcIssuerProfile")
def _issuer(cluster: Properties, cloud: Subscription) -> str | None:
    workload_identity = at(cluster, "securityProfile.workloadIdentity.enabled")
    if workload_identity and not at(cluster, "oidcIssuerProfile.enabled"):
        return "securityProfile.workloadIdentity needs the OIDC issuer: set oidcIssuerProfile.enabled."
    return None


@CLUSTER_RULES.add("network-ranges", RANGES, "networkProfile")
def _ranges(cluster: Properties, cloud: Subscription) -> str | None:
    profile = cluster.get("networkProfile") or {}
    for key in ("podCidr", "serviceCidr"):
        problem = _bad_range(f"networkProfile.{key}", [profile[key]] if profile.get(key) else [])
        if problem:
            return problem
    services = ipaddress.ip_network(profile["serviceCidr"]) if profile.get("serviceCidr") else None
    if services is not None and services.prefixlen < WIDEST_SERVICES:
        return f"networkProfile.serviceCidr {services} is too wide: it must be smaller than a /{WIDEST_SERVICES - 1}."
    if services is not None and profile.get("podCidr"):
        pods = ipaddress.ip_network(profile["podCidr"])
        if services.overlaps(pods):
            return f"networkProfile.serviceCidr {services} overlaps podCidr {pods}."
    address = profile.get("dnsServiceIP")
    if address and services is not None:
        nested = ipaddress.ip_address(address)
        if nested not in services or nested == services[1] or nested == services[0]:
            return f"networkProfile.dnsServiceIP {address} must be in serviceCidr {services} and not its first address."
    return None


@CLUSTER_RULES.add("overlay-needs-azure-plugin", OVERLAY, "networkProfile")
def _overlay(cluster: Properties, cloud: Subscription) -> str | None:
    profile = cluster.get("networkProfile") or {}
    plugin, overlay = profile.get("networkPlugin"), profile.get("networkPluginMode") == "overlay"
    if overlay and plugin != "azure":
        return "networkProfile.networkPluginMode overlay needs networkPlugin azure."
    if profile.get("podCidr") and plugin == "azure" and not overlay:
        return "networkProfile.podCidr needs networkPluginMode overlay: without it, pods have addresses of the subnet."
    if profile.get("networkPolicy") == "cilium" and profile.get("networkDataplane") != "cilium":
        return "networkProfile.networkPolicy cilium needs networkDataplane cilium."
    return None


@CLUSTER_RULES.add("outbound-type", OUTBOUND, "networkProfile", "agentPoolProfiles")
def _outbound(cluster: Properties, cloud: Subscription) -> str | None:
    profile = cluster.get("networkProfile") or {}
    kind = profile.get("outboundType") or "loadBalancer"
    own_subnet = any(pool.get("vnetSubnetID") for pool in inline_pools(cluster))
    if kind == "managedNATGateway" and own_subnet:
        return "networkProfile.outboundType managedNATGateway needs AKS's own network: with a subnet of yours, use " + (
            "userAssignedNATGateway."
        )
    if kind in ("userAssignedNATGateway", "userDefinedRouting") and not own_subnet:
        return f"networkProfile.outboundType {kind} needs a subnet: give vnetSubnetID in agentPoolProfiles."
    if profile.get("natGatewayProfile") and kind != "managedNATGateway":
        return "networkProfile.natGatewayProfile needs outboundType managedNATGateway."
    if profile.get("loadBalancerProfile") and kind != "loadBalancer":
        return "networkProfile.loadBalancerProfile needs outboundType loadBalancer."
    return None


@CLUSTER_RULES.add("autoscaler-profile-values", SCALER, "autoScalerProfile")
def _profile(cluster: Properties, cloud: Subscription) -> str | None:
    profile = cluster.get("autoScalerProfile") or {}
    for key, form in DURATIONS.items():
        value = profile.get(key)
        if value is not None and not form.fullmatch(value):
            example = "10m" if form.fullmatch("10m") else "10s"
            return f"autoScalerProfile.{key} '{value}' is invalid: write a duration such as {example}."
    for key in SWITCHES:
        if profile.get(key) not in (None, "true", "false"):
            return f"autoScalerProfile.{key} '{profile[key]}' is invalid: write 'true' or 'false'."
    threshold = profile.get("scaleDownUtilizationThreshold")
    if threshold is not None and not (re.fullmatch(r"[01](\.\d+)?", threshold) and float(threshold) <= 1):
        return f"autoScalerProfile.scaleDownUtilizationThreshold '{threshold}' is invalid: write '0' to '1'."
    return None


@CLUSTER_RULES.add("secrets-key", KMS, "securityProfile")
def _kms(cluster: Properties, cloud: Subscription) -> str | None:
    kms = at(cluster, "securityProfile.azureKeyVaultKms") or {}
    if not kms.get("enabled"):
        return None
    if not KEY_URL.fullmatch(kms.get("keyId") or ""):
        return (
            f"securityProfile.azureKeyVaultKms.keyId '{kms.get('keyId')}' is not valid: write "
            "https://VAULT.vault.azure.net/keys/NAME/VERSION, version included."
        )
    if (kms.get("keyVaultNetworkAccess") == "Private") != bool(kms.get("keyVaultResourceId")):
        return "securityProfile.azureKeyVaultKms: keyVaultNetworkAccess Private and keyVaultResourceId go together."
    return None


@CLUSTER_RULES.add("long-term-support", TIERS, "sku", "supportPlan")
def _support(cluster: Properties, cloud: Subscription) -> str | None:
    if (cluster.get("supportPlan") == "AKSLongTermSupport") != (at(cluster, "sku.tier") == "Premium"):
        return "supportPlan AKSLongTermSupport and sku.tier Premium go together."
    return None


def _bad_range(path: str, ranges: list[str]) -> str | None:
    for text in ranges:
        try:
            ipaddress.ip_network(text)
        except ValueError as error:
            return f"{path}: {error}."
    return None
