"""Reads Google's resources: all ways to declare nodes of a GKE cluster, machines with GPUs.

Field meanings: https://cloud.google.com/kubernetes-engine/docs/reference/rest/v1/projects.locations.clusters.nodePools
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from facts import catalog
from facts.catalog.carbon import carbon
from facts.concepts.addresses import open_to_internet
from facts.concepts.declared import Cluster, Exposure, NodeGroup, NotEvaluated, UnknownReason, capacity_type
from facts.concepts.kubernetes import RESOURCES, Taint
from facts.concepts.parts import Gpus, Nodes, Scaling, SharedGpu
from facts.concepts.pool import CLASS_LABEL, GPU_TAINT
from facts.concepts.unknown import (
    UNKNOWN,
    Maybe,
    Texts,
    amount,
    at,
    both,
    coalesce,
    either,
    flag,
    holds_unknown,
    is_false,
    items,
    mapping,
    negation,
    text,
    texts,
    whole,
)
from policies.readers.gke.facts import CLOUD, chip_labels, chip_of, node_price, partitions, whole_machine_gpus
from policies.readers.resource import Declared, Item, Program, Reader, Referrer
from policies.readers.taints import CONSTANTS, Additions, entry_of, taints_of
from policies.readers.unknown_reasons import reasons_for

LABEL_DOMAINS: Final = ("kubernetes.io", "k8s.io", "cloud.google.com", "gke.io")
# A regional cluster has each pool in three zones by default, and no region has more than four:
# https://cloud.google.com/kubernetes-engine/docs/concepts/regional-clusters, https://cloud.google.com/compute/docs/regions-zones
_ZONES_OF_A_REGION: Final = 3
_MOST_ZONES: Final = 4
# Every Standard cluster since 1.34.1 has them, and makes nodes as Autopilot does for pods that select one:
# https://docs.cloud.google.com/kubernetes-engine/docs/concepts/about-built-in-compute-classes
_CLASSES: Final = ((CLASS_LABEL, "autopilot"), (CLASS_LABEL, "autopilot-spot"))
_CONNECTOR: Final = UnknownReason(
    "it has controllers that a cloud runs, which make what objects in the cluster ask for (configConnectorConfig)",
    "Let this program declare what Config Connector makes, or exempt the cluster by name.",
)
_PARTS_OF_GPUS: Final = ("gpuPartitionSize", "gpuSharingConfig")
# us-central1-a, and us-central1-ai1a: https://docs.cloud.google.com/compute/docs/regions-zones/ai-zones
_ZONE: Final = re.compile(r"^[a-z]+-[a-z]+\d+-(?:ai\d+)?[a-z]$")
_CLUSTER: Final = "gcp:container/cluster:Cluster"
_LINK: Final = re.compile(r"(?:projects/(?P<project>[^/]+)/locations/(?P<location>[^/]+)/clusters/)?(?P<name>[^/]+)")


def read_node_pool(declared: Declared) -> Iterable[Item]:
    """``gcp:container/nodePool:NodePool``, which is where its cluster is."""
    pool = declared.properties
    cluster = text(pool.get("cluster"))
    if isinstance(cluster, str):
        cluster = cluster.rpartition("/")[2]  # also given as projects/P/locations/L/clusters/NAME
    yield _group(pool, declared.named("name"), cluster, _located(declared), declared.urn)


def _located(pool: Declared) -> Mapping[str, Any]:
    """Where the pool is; of several clusters that may be meant, in the one with the most zones."""
    places = [_place_of(pool, each.properties) for each in pool.references] or [_place_of(pool, {})]
    return max(places, key=lambda place: _zone_count(pool.properties, place))


def zones_of(pool: Declared) -> int:
    """In how many zones the pool has nodes; at most, where that is not known."""
    return _zone_count(pool.properties, _located(pool))


def pools_named(name: str, everything: Program) -> Iterable[Declared]:
    """The pools of this name, each with its cluster."""
    for each in everything.of("gcp:container/nodePool:NodePool"):
        if each.named("name") == name:
            yield replace(each, references=tuple(_clusters_of(each, everything)))


def _place_of(declared: Declared, cluster: Mapping[str, Any]) -> Mapping[str, Any]:
    """Where a pool is that may be ``cluster``'s: what it says itself, then its cluster, then its provider.

    https://registry.terraform.io/providers/hashicorp/google/latest/docs/resources/container_node_pool (node_locations)
    """
    pool = declared.properties
    link = _LINK.fullmatch(str(pool.get("cluster")))
    said = (pool.get("location"), link and link["location"], cluster.get("location"))
    known = [each for each in (*said, declared.provider.get("zone")) if isinstance(each, str)]
    location = known[0] if known else UNKNOWN if UNKNOWN in said else None
    return {"location": location, "nodeLocations": cluster.get("nodeLocations")}


def _clusters_of(pool: Declared, everything: Program) -> Iterable[Declared]:
    link = pool.properties.get("cluster")
    made = pool.dependencies.get("cluster", ())
    parts = _LINK.fullmatch(str(link))
    # A pool is where its cluster is, so a cluster elsewhere is another of that name.
    said = {"location": (pool.properties.get("location"), parts and parts["location"])}
    said["project"] = (pool.properties.get("project"), parts and parts["project"])
    for each in everything.of(_CLUSTER):
        apart = any(
            isinstance(own := each.properties.get(key), str)
            and any(own != value for value in values if isinstance(value, str))
            for key, values in said.items()
        )
        named = isinstance(link, str) and link.rpartition("/")[2] == each.named("name") and not apart
        if named or each.urn in made:
            yield each


def read_cluster(declared: Declared) -> Iterable[Item]:
    """``gcp:container/cluster:Cluster`` with its inline pools, default pool and auto-provisioning limits."""
    inputs = declared.properties
    autopilot = flag(inputs.get("enableAutopilot"))
    auth = inputs.get("masterAuth")
    open_api, open_to_cloud, shut_api = _api_access(inputs)
    name: Maybe[str] = coalesce(text(inputs.get("name")), declared.name)
    region = region_of(inputs.get("location"))
    yield Cluster(
        name=name,
        cloud=CLOUD,
        region=region,
        managed_nodes=autopilot,
        private_nodes=_private_nodes(inputs),
        secrets_key=_secrets_key(inputs.get("databaseEncryption")),
        open_api=open_api,
        open_to_cloud=open_to_cloud,
        shut_api=shut_api,
        local_accounts=either(
            (flag(at(auth, "clientCertificateConfig", "issueClientCertificate")), _has_password(auth))
        ),
        # Its pools have the metadata server of GKE by default where the cluster has a workload pool:
        # https://docs.cloud.google.com/kubernetes-engine/docs/how-to/workload-identity
        pods_as_nodes=autopilot is not True and text(at(inputs, "workloadIdentityConfig", "workloadPool")) is None,
        network_policies=_network_policies(inputs, autopilot),
        verified_boot=negation(is_false(inputs.get("enableShieldedNodes"))),
        # Of pools that it makes by itself; its other pools are groups. Not of the one that the provider deletes as
        # soon as the cluster is there: another nodeConfig replaces a running cluster
        # (https://github.com/hashicorp/terraform-provider-google/issues/12070).
        default_identity=autopilot is not True and _provisions_as_default(inputs.get("clusterAutoscaling")),
        carbon=carbon(CLOUD, region) if isinstance(region, str) else None,
        classes=() if autopilot is True else _CLASSES,
        resource=declared.urn,
    )
    # https://docs.cloud.google.com/config-connector/docs/concepts/installation-types
    if flag(at(inputs, "addonsConfig", "configConnectorConfig", "enabled")) is True:
        yield NotEvaluated(f"Cluster '{declared.name}'", _CONNECTOR, declared.urn, opaque=True)
    # It gives every service account the rights of an administrator:
    # https://docs.cloud.google.com/kubernetes-engine/docs/how-to/hardening-your-cluster
    legacy_rights = flag(inputs.get("enableLegacyAbac"))
    if legacy_rights is not False:
        yield Exposure("rights", f"Cluster '{declared.name}' with enableLegacyAbac", legacy_rights, declared.urn)
    if autopilot is True:
        return  # Autopilot creates nodes for pods only, and bills pods: there is no pool to check
    yield from _own_pools(inputs, declared, name)
    yield from _auto_provisioned(inputs, declared, name)


READERS: Final[Mapping[str, Reader]] = {
    "gcp:container/nodePool:NodePool": read_node_pool,
    _CLUSTER: read_cluster,
}
# A pool is checked alone: only how many zones it has depends on its cluster.
REFERRERS: Final[Mapping[str, Referrer]] = {
    "gcp:container/nodePool:NodePool": Referrer(refers=lambda _: False, finds=_clusters_of)
}


def _api_access(cluster: Mapping[str, Any]) -> tuple[Maybe[bool], Maybe[bool], Maybe[bool]]:
    """Whether everybody, the cloud's customers, and nobody reaches the control plane.

    Authorized networks let Google Cloud's own public addresses in unless they say otherwise or the nodes are private.
    Without endpoints with addresses, identities decide at the one with a name, unless it takes Kubernetes' own tokens
    or certificates: these are enough from anywhere.
    https://docs.cloud.google.com/kubernetes-engine/docs/how-to/authorized-networks,
    https://docs.cloud.google.com/kubernetes-engine/docs/concepts/network-isolation
    """
    by_address = at(cluster, "controlPlaneEndpointsConfig", "ipEndpointsConfig", "enabled")
    private = either((flag(at(cluster, "privateClusterConfig", "enablePrivateEndpoint")), is_false(by_address)))
    networks = cluster.get("masterAuthorizedNetworksConfig")
    name = at(cluster, "controlPlaneEndpointsConfig", "dnsEndpointConfig")
    by_name = flag(at(name, "allowExternalTraffic"))
    keys = both((by_name, either(flag(at(name, f"enableK8s{kind}ViaDns")) for kind in ("Tokens", "Certs"))))
    if keys is not False:
        return keys, False, False
    if private is True:
        return False, False, False
    if UNKNOWN in (private, networks):
        return UNKNOWN, False, False
    if networks is None:
        return True, False, False
    blocks = [at(block, "cidrBlock") for block in items(at(networks, "cidrBlocks"))]
    public, private_nodes = at(networks, "gcpPublicCidrsAccessEnabled"), _private_nodes(cluster)
    cloud = negation(private_nodes) if public is None else flag(public)
    return open_to_internet(blocks), cloud, both((not blocks, negation(cloud), negation(by_name)))


def _secrets_key(encryption: Any) -> Maybe[str | None]:
    """The key that encrypts secrets; none while they are decrypted, whatever key is declared.

    https://docs.cloud.google.com/kubernetes-engine/docs/reference/rest/v1/projects.locations.clusters#DatabaseEncryption
    """
    state = at(encryption, "state")
    return None if state == "DECRYPTED" else UNKNOWN if state is UNKNOWN else text(at(encryption, "keyName"))


def _private_nodes(cluster: Mapping[str, Any]) -> Maybe[bool]:
    return either(flag(at(cluster, key, "enablePrivateNodes")) for key in ("privateClusterConfig", "networkConfig"))


def _network_policies(cluster: Mapping[str, Any], autopilot: Maybe[bool]) -> Maybe[bool]:
    """https://docs.cloud.google.com/kubernetes-engine/docs/how-to/network-policy"""
    path = cluster.get("datapathProvider")
    dataplane_v2 = UNKNOWN if path is UNKNOWN else path == "ADVANCED_DATAPATH"
    return either((autopilot, dataplane_v2, flag(at(cluster, "networkPolicy", "enabled"))))


def _has_password(auth: Any) -> Maybe[bool]:
    """Whether there is a user with a password, as in old clusters."""
    name = text(at(auth, "username"))
    return UNKNOWN if name is UNKNOWN else name is not None


# The accounts that Google makes for a project: https://docs.cloud.google.com/iam/docs/service-account-types#default
_DEFAULT_ACCOUNT: Final = re.compile(
    r"default|\d+-compute@developer\.gserviceaccount\.com|[^@]+@appspot\.gserviceaccount\.com", re.IGNORECASE
)


def _default_account(config: Any) -> bool:
    """Whether nodes are the default account of Compute Engine, or that of App Engine; an unknown account is one that
    the update creates.

    https://docs.cloud.google.com/kubernetes-engine/docs/how-to/hardening-your-cluster#use_least_privilege_sa
    """
    named = (at(config, key) for key in ("serviceAccountRef", "serviceAccountSelector"))  # in other tools' spellings
    account = text(at(config, "serviceAccount"))
    return all(each is None for each in named) if account is None else names_default_account(account)


def names_default_account(account: object) -> bool:
    """Whether this is the word or the address of an account that Google makes for a project."""
    return isinstance(account, str) and _DEFAULT_ACCOUNT.fullmatch(account) is not None


def _provisions_as_default(scaling: Any) -> Maybe[bool]:
    """Whether nodes that the cluster provisions by itself are the default account.

    https://docs.cloud.google.com/kubernetes-engine/docs/how-to/node-auto-provisioning#identity
    """
    return both((flag(at(scaling, "enabled")), _default_account(at(scaling, "autoProvisioningDefaults"))))


def _pods_as_nodes(config: Any) -> Maybe[bool | None]:
    mode = text(at(config, "workloadMetadataConfig", "mode"))
    if is_false(at(config, "metadata", "disable-legacy-endpoints")) is True:
        return True
    return mode if mode is None or mode is UNKNOWN else mode != "GKE_METADATA"


def _verified_boot(config: Any) -> Maybe[bool]:
    """Secure boot loads drivers that Google signs: those that GKE installs on Container-Optimized OS.

    https://docs.cloud.google.com/kubernetes-engine/docs/how-to/shielded-gke-nodes
    """
    shielded = at(config, "shieldedInstanceConfig")
    drivers = [
        at(entry, "gpuDriverInstallationConfig", "gpuDriverVersion") for entry in items(at(config, "guestAccelerators"))
    ]
    cos = "COS" in str(coalesce(at(config, "imageType"), "COS")).upper()
    foreign = any(driver not in ("DEFAULT", "LATEST") or not cos for driver in drivers)
    secure = True if foreign else flag(at(shielded, "enableSecureBoot"))
    return both((secure, negation(is_false(at(shielded, "enableIntegrityMonitoring")))))


def _own_pools(cluster: Mapping[str, Any], declared: Declared, name: Maybe[str]) -> Iterable[NodeGroup]:
    removed = flag(cluster.get("removeDefaultNodePool"))
    pools = items(cluster.get("nodePools"))
    for number, entry in enumerate(pools):
        pool = mapping(entry)
        own_name = at(pool, "name")
        if removed is True and own_name == "default-pool":
            continue  # the provider deletes the pool of this name, and no other
        label = own_name if isinstance(own_name, str) else f"{declared.name} nodePools[{number}]"
        if pool is UNKNOWN:
            yield NodeGroup(
                label,
                CLOUD,
                gpus=Gpus(per_node=UNKNOWN),
                nodes=Nodes(machine_types=(None,), zones=(), labels={}, taints=UNKNOWN),
                scaling=Scaling(autoscaled=False, min_nodes=UNKNOWN, max_nodes=None),
                resource=declared.urn,
            )
        else:
            yield _group(pool, label, name, cluster, declared.urn)
    if not pools and removed is not True:
        # Its zones are the cluster's, which lists those beside its own.
        pool = {key: cluster.get(key) for key in ("initialNodeCount", "networkConfig", "nodeConfig")}
        yield _group(pool, "default-pool", name, cluster, declared.urn)


def _auto_provisioned(cluster: Mapping[str, Any], declared: Declared, name: Maybe[str]) -> Iterable[NodeGroup]:
    scaling = cluster.get("clusterAutoscaling")
    if flag(at(scaling, "enabled")) is False:
        return
    for limit in items(at(scaling, "resourceLimits")):
        kind = text(at(limit, "resourceType"))
        if kind == "memory":
            continue  # a limit of vCPUs is required beside it, which is read as that many nodes without GPUs
        gpus = 0 if kind == "cpu" else UNKNOWN if kind is UNKNOWN else 1
        yield NodeGroup(
            name=f"auto-provisioned {kind}",
            cloud=CLOUD,
            kind="auto-provisioned",
            gpus=Gpus(per_node=gpus),
            scaling=Scaling(min_nodes=amount(at(limit, "minimum")), max_nodes=whole(at(limit, "maximum"))),
            # GKE taints such pools: https://cloud.google.com/kubernetes-engine/docs/how-to/node-auto-provisioning
            nodes=Nodes(machine_types=(None,), zones=(), labels={}, taints=() if gpus == 0 else (GPU_TAINT,)),
            region=region_of(cluster.get("location")),
            cluster=name,
            cloud_label_domains=LABEL_DOMAINS,
            disk_key=text(at(scaling, "autoProvisioningDefaults", "bootDiskKmsKey")),
            private=None,
            pods_as_nodes=None,
            resource=declared.urn,
        )


def _group(
    pool: Mapping[str, Any], name: str, cluster: Maybe[str | None], located: Mapping[str, Any], urn: str
) -> NodeGroup:
    config = pool.get("nodeConfig")
    scaling = pool.get("autoscaling")
    per_zone = _zone_count(pool, located)
    gpus = gpus_of(config)
    spot = either((flag(at(config, "spot")), flag(at(config, "preemptible"))))
    region = region_of(located.get("location"))
    machine = text(at(config, "machineType"))
    max_nodes = _bound(scaling, "totalMaxNodeCount", "maxNodeCount", per_zone)
    initial = _times(amount(coalesce(pool.get("nodeCount"), pool.get("initialNodeCount"))), per_zone)
    network = pool.get("networkConfig")
    price = node_price(config, region, spot)
    return NodeGroup(
        name=name,
        cloud=CLOUD,
        gpus=Gpus(per_node=gpus, time_sharing=_shared(config)),
        scaling=Scaling(
            autoscaled=UNKNOWN if scaling is UNKNOWN else scaling is not None,
            min_nodes=coalesce(_bound(scaling, "totalMinNodeCount", "minNodeCount", per_zone), 0),
            max_nodes=max_nodes,
            capacity_type=capacity_type(spot),
        ),
        initial_nodes=initial,
        nodes=Nodes(
            machine_types=(machine,),
            zones=_zones(pool, located),
            labels=_labels(pool, name, gpus, spot, machine),
            taints=_taints(at(config, "taints"), machine),
            dearest_hourly_usd=None if price is None else price.usd,
            price_at_most=price is not None and price.at_most,
        ),
        region=region,
        # The provider sends a declared block without it as false, whatever the cluster has: expandNodeNetworkConfig in
        # https://github.com/GoogleCloudPlatform/magic-modules (resource_container_node_pool.go.tmpl)
        private=None if network is None else flag(at(network, "enablePrivateNodes")),
        pods_as_nodes=_pods_as_nodes(config),
        verified_boot=_verified_boot(config),
        default_identity=_default_account(config),
        disk_encrypted=True,  # always: https://docs.cloud.google.com/docs/security/encryption/default-encryption
        disk_key=text(at(config, "bootDiskKmsKey")),
        plans_claims=_plans_claims(config),
        cluster=cluster,
        cloud_label_domains=LABEL_DOMAINS,
        unknown_reasons=unknown_reasons_of(config),
        resource=urn,
    )


def _plans_claims(config: Any) -> Maybe[bool]:
    """Whether the pool's label says so; GKE's autoscaler expects whole GPUs then."""
    labels = texts(at(config, "labels"))
    if labels is UNKNOWN:
        return UNKNOWN
    parts = [at(each, key) for each in items(at(config, "guestAccelerators")) for key in _PARTS_OF_GPUS]
    if any(part not in (None, UNKNOWN) for part in parts):
        return False
    return either(
        UNKNOWN if (value := labels.get(label)) is UNKNOWN else value == expected
        for label, expected in catalog.of(CLOUD).labels.gpu_claims.items()
    )


# ct5lp-hightpu-4t, ct6e-standard-4t, tpu7x-standard-4t: https://docs.cloud.google.com/kubernetes-engine/docs/concepts/plan-tpus
_TPU: Final = re.compile(r"(?:ct|tpu)\d\w*-")
_TPU_TAINT: Final = Taint(RESOURCES["google"], "present", "NoSchedule")


def _taints(listed: Any, machine: Maybe[str | None]) -> Maybe[tuple[Taint, ...]]:
    """The declared taints, and the one that GKE sets on nodes with TPUs by itself.

    https://docs.cloud.google.com/kubernetes-engine/docs/concepts/tpus
    """
    taints = taints_of(listed, CONSTANTS)
    if taints is UNKNOWN or not isinstance(machine, str) or not _TPU.match(machine):
        return taints
    return taints if any(taint.key == _TPU_TAINT.key for taint in taints) else (*taints, _TPU_TAINT)


def unknown_reasons_of(config: Any) -> dict[str, UnknownReason]:
    """``gpus_per_node`` → the reason, where the catalogue does not list the machine type."""
    machine = text(at(config, "machineType"))
    return (
        {}
        if holds_unknown(at(config, "guestAccelerators"))
        else reasons_for(CLOUD, whole_machine_gpus(machine), machine)
    )


def gpus_of(config: Any) -> Maybe[int]:
    """GPUs per node: attached ones, or those of the machine type."""
    counts = [amount(at(entry, "count")) for entry in items(at(config, "guestAccelerators"))]
    if UNKNOWN in counts:
        return UNKNOWN
    attached = sum(count for count in counts if count is not UNKNOWN)
    return attached or whole_machine_gpus(text(at(config, "machineType")))


_MOST_CLIENTS: Final = 48  # https://docs.cloud.google.com/kubernetes-engine/docs/concepts/timesharing-gpus


def _shared(config: Any) -> SharedGpu | None:
    """How many pods one GPU serves: its partitions, and the clients of each, which may share a partition, too.

    https://docs.cloud.google.com/kubernetes-engine/docs/reference/rest/v1/AcceleratorConfig
    """
    entries = items(at(config, "guestAccelerators"))
    entry = entries[0] if len(entries) == 1 else None
    pods = partitions(text(at(entry, "type")), text(at(entry, "gpuPartitionSize")))
    sharing = at(entry, "gpuSharingConfig")
    clients = whole(at(sharing, "maxSharedClientsPerGpu"))
    if at(sharing, "gpuSharingStrategy") in ("TIME_SHARING", "MPS") and isinstance(clients, int):
        pods *= clients if 1 <= clients <= _MOST_CLIENTS else 1
    return SharedGpu(clients_per_gpu=pods) if pods > 1 else None


def _labels(
    pool: Mapping[str, Any], name: str, gpus: Maybe[int], spot: Maybe[bool], machine: Maybe[str | None]
) -> Maybe[Texts]:
    """Declared labels, and those GKE adds: https://cloud.google.com/kubernetes-engine/docs/how-to/gpus."""
    config = pool.get("nodeConfig")
    declared = texts(at(config, "labels"))
    if declared is UNKNOWN:
        return UNKNOWN
    labels: Texts = {"cloud.google.com/gke-nodepool": name, "kubernetes.io/os": "linux"}
    if machine is not None:
        labels["node.kubernetes.io/instance-type"] = machine
    if (chip := chip_of(machine)) is not None:
        topology = text(at(pool, "placementPolicy", "tpuTopology"))
        if topology is None and at(pool, "placementPolicy", "policyName") is not None:
            topology = UNKNOWN  # GKE takes that of the workload policy
        labels |= {"cloud.google.com/gke-accelerator": None, **chip_labels(machine, chip, topology)}
    elif gpus == 0:
        labels["cloud.google.com/gke-accelerator"] = None
    elif gpus is not UNKNOWN:
        accelerator = next(iter(items(at(config, "guestAccelerators"))), None)
        kind = text(at(accelerator, "type"))
        labels["cloud.google.com/gke-accelerator"] = UNKNOWN if kind is None else kind
        driver = at(accelerator, "gpuDriverInstallationConfig", "gpuDriverVersion")
        if driver in ("DEFAULT", "LATEST"):
            labels["cloud.google.com/gke-gpu-driver-version"] = driver.lower()
        elif driver == "INSTALLATION_DISABLED":
            labels["cloud.google.com/gke-gpu-driver-version"] = None
    if spot is not UNKNOWN:
        labels["cloud.google.com/gke-spot"] = "true" if at(config, "spot") is True else None
    return {**labels, **declared}


def _bound(scaling: Any, total: str, per_zone: str, zones: int) -> Maybe[int | None]:
    """A bound over all zones: given as a total, or per zone and multiplied."""
    if scaling is UNKNOWN:
        return UNKNOWN
    whole_pool, each = whole(at(scaling, total)), whole(at(scaling, per_zone))
    if whole_pool is UNKNOWN or (whole_pool is not None and whole_pool != 0):
        return whole_pool
    if each is UNKNOWN:
        return UNKNOWN
    return whole_pool if each is None else _times(each, zones)


def _zones(pool: Mapping[str, Any], located: Mapping[str, Any]) -> tuple[str, ...]:
    """The pool's zones; empty where they are not known."""
    zones = _listed_zones(pool, located)
    return () if zones is UNKNOWN or holds_unknown(zones) else tuple(str(zone) for zone in zones)


def _listed_zones(pool: Mapping[str, Any], located: Mapping[str, Any]) -> Maybe[tuple[Any, ...]]:
    """The zones that the pool lists, or else its cluster, which lists those beside its own; unknown ones too."""
    own, theirs = pool.get("nodeLocations"), located.get("nodeLocations")
    if own is UNKNOWN or items(own):
        return UNKNOWN if own is UNKNOWN else tuple(items(own))
    location = located.get("location")
    of_cluster = (location,) if isinstance(location, str) and _ZONE.match(location) else ()
    if theirs is UNKNOWN:
        return UNKNOWN
    zones = [text(each) for each in items(theirs)]
    # Each that is not known yet may be another one.
    known = dict.fromkeys((*of_cluster, *(zone for zone in zones if zone is not UNKNOWN)))
    return (*known, *(zone for zone in zones if zone is UNKNOWN))


def _zone_count(pool: Mapping[str, Any], located: Mapping[str, Any]) -> int:
    """How many zones a pool has; at most, where they are not known."""
    zones = _listed_zones(pool, located)
    return _MOST_ZONES if zones is UNKNOWN else len(zones) or _ZONES_OF_A_REGION


def region_of(location: Any) -> Maybe[str | None]:
    """The region of a zone or region; ``None`` where nothing is declared."""
    if location is UNKNOWN:
        return UNKNOWN
    if not isinstance(location, str):
        return None
    return location.rpartition("-")[0] if _ZONE.match(location) else location


def _times(count: Maybe[int], zones: int) -> Maybe[int]:
    """``count`` per zone over all zones."""
    return count if count is UNKNOWN else count * zones


ADDITIONS: Final[Mapping[str, Additions]] = {
    "gcp:container/nodePool:NodePool": Additions("taints", "labels", spelled=entry_of, inside="nodeConfig")
}
