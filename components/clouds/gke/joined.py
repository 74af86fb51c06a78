"""GPU pools on a GKE cluster that somebody else made: what Google says of it, and its pools.

Nothing of the cluster is a resource of the stack, not even a read one: the engine takes what is deleted with a read
resource for deleted.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, cast

import pulumi

from components.clouds.base import AdminObjects, ClusterLookup, JoinedCluster, Joining, NodePools, too_old
from components.clouds.data_lookup import first_block
from components.clouds.deployed import Deployed
from components.clouds.gke import compute_class, pools
from components.clouds.gke.context import Context
from components.clouds.gke.kubeconfig import kubeconfig_of
from components.clouds.gke.node_config import OWN_SCOPES
from components.settings import Problem, Settings
from facts import catalog
from facts.catalog import tables
from facts.concepts.pool import CLASS_LABEL, POOL_LABEL, Pool

_CLUSTER: Final = "gcp:container/getCluster:getCluster"
# What the provider says of a cluster that is not there:
# https://github.com/hashicorp/terraform-provider-google/blob/main/google/services/container/data_source_google_container_cluster.go
_MISSING: Final = "projects/{}/locations/{}/clusters/{} not found"
_DENIED: Final = re.compile(r"Required '(compute\.[\w.]+)' permission|\b(compute\.instanceGroupManagers\.get)\b")
_FORBIDDEN: Final = re.compile(r"\b403\b|PERMISSION_DENIED", re.IGNORECASE)
_OLDEST_WITH: Final[Mapping[str, str]] = {row["need"]: row["version"] for row in tables.rows("gke", "oldest_versions")}
_NO_CHANNEL: Final = "UNSPECIFIED"
_DATAPLANE_V2: Final = "ADVANCED_DATAPATH"
_ROUTES: Final = "ROUTES"
# Pools that Google makes and deletes by itself:
# https://docs.cloud.google.com/kubernetes-engine/docs/how-to/node-auto-provisioning
_AUTOMATIC: Final = "nap-"
_GOOGLES: Final = ("gmp-system", "gke-gmp-system", "gke-managed-")
_CLASSES: Final = "/apis/cloud.google.com/v1/computeclasses"
_NAMESPACES: Final = "/api/v1/namespaces"
# https://docs.cloud.google.com/kubernetes-engine/docs/how-to/run-pods-default-compute-classes
_DEFAULT_CLASS: Final = "cloud.google.com/default-compute-class"
_DEFAULT_ACCOUNT: Final = "default"
# GKE's for that account: https://docs.cloud.google.com/kubernetes-engine/docs/how-to/access-scopes
_DEFAULT_SCOPES: Final = tuple(
    f"https://www.googleapis.com/auth/{each}"
    for each in (
        "devstorage.read_only",
        "logging.write",
        "monitoring",
        "service.management.readonly",
        "servicecontrol",
        "trace.append",
    )
)
_NAME: Final = "existingCluster.name"

# Property of the provider's cluster resource → of its function's answer, where a block is a list of one.
_BLOCKS: Final[Mapping[str, str]] = {
    "clusterAutoscaling": "clusterAutoscalings",
    "controlPlaneEndpointsConfig": "controlPlaneEndpointsConfigs",
    "databaseEncryption": "databaseEncryptions",
    "masterAuthorizedNetworksConfig": "masterAuthorizedNetworksConfigs",
    "networkPolicy": "networkPolicies",
    "privateClusterConfig": "privateClusterConfigs",
    "workloadIdentityConfig": "workloadIdentityConfigs",
}
_PLAIN: Final = ("datapathProvider", "enableAutopilot", "enableLegacyAbac", "enableShieldedNodes", "location", "name")
_OF_POOLS: Final = ("initialNodeCount", "name", "nodeLocations")
_OF_NODES: Final = ("machineType", "spot", "preemptible", "serviceAccount", "imageType")


async def look(settings: Settings, own: Collection[str], parent: pulumi.Resource) -> ClusterLookup:
    """What Google says of ``existingCluster``, wherever in the region it is."""
    name = settings.cluster_name
    written = None if settings.existing_cluster is None else settings.existing_cluster.location
    places = [written] if written else [settings.region, *settings.known.regions[settings.region]]
    answers = await asyncio.gather(*(_ask(settings, name, place, parent) for place in places))
    found = [answer for answer in answers if isinstance(answer, Mapping)]
    failures = dict.fromkeys(answer for answer in answers if isinstance(answer, str))
    where = f"{written or settings.region} of project {settings.project}"
    list_them = f"gcloud container clusters list --project {settings.project}"
    if len(found) == 1:
        return _view(settings, name, found[0], own)
    if found:
        locations = ", ".join(str(each["location"]) for each in found)
        text = f"{len(found)} clusters are called '{name}': in {locations} of project {settings.project}"
        problem = Problem(_NAME, text, f"Write existingCluster.location: {found[0]['location']}, or the other")
    elif failures:
        text = f"'{name}' cannot be looked up in {where}: {'; '.join(failures)}"
        problem = Problem(_NAME, text, _remedy("; ".join(failures)))
    else:
        text = f"there is no cluster '{name}' in {where}"
        short = f"write the last part, {name.rpartition('/')[2]}; " if "/" in name else ""
        problem = Problem(_NAME, text, f"Correct the name, region or gcp:project: {short}{list_them} lists all")
    missing = not found and not failures
    return ClusterLookup(
        name=name, location="", version="", kubeconfig="", authority="", problems=(problem,), missing=missing
    )


async def _ask(settings: Settings, name: str, location: str, parent: pulumi.Resource) -> Mapping[str, Any] | str | None:
    """The answer about the cluster in a place; ``None`` if it is not there, or what Google says instead."""
    arguments = {"name": name, "location": location, "project": settings.project}
    try:
        answer = await pulumi.runtime.invoke_async(_CLUSTER, arguments, pulumi.InvokeOptions(parent=parent))
    except Exception as error:  # the SDK raises no type of its own
        return None if _MISSING.format(settings.project, location, name) in str(error) else str(error)
    return cast("Mapping[str, Any]", answer)


def _remedy(said: str) -> str:
    """What to do if Google refuses to say anything of the cluster."""
    if (denied := _DENIED.search(said)) is not None:
        return f"Ask the project's administrator for roles/compute.viewer, which has {denied[1] or denied[2]}"
    if _FORBIDDEN.search(said):
        return "Ask the project's administrator for roles/container.clusterViewer and roles/compute.viewer, or more"
    return "Correct what Google says: the login, gcp:project, or an API of the project that is off"


def _view(settings: Settings, name: str, answer: Mapping[str, Any], own: Collection[str]) -> ClusterLookup:
    properties = _properties(answer, own)
    version, location = str(answer.get("masterVersion") or ""), str(answer["location"])
    # The stack's own pools have decided; what others add later changes nothing of them.
    own_pools = [pool for pool in _pools(answer) if pool["name"] in own and _of_program(pool)]
    accounts = _accounts(own_pools) or _accounts(_others(answer, own))
    written = settings.existing_cluster.node_identity if settings.existing_cluster else None
    identity = written or next(iter(accounts), _DEFAULT_ACCOUNT)
    authority = str(first_block(answer, "masterAuths").get("clusterCaCertificate") or "")
    kubeconfigs = [
        kubeconfig_of(name, location, settings.project, host, authority if proven else None)
        for host, proven in _addresses(answer)
    ]
    problems = [*_problems(settings, name, answer)]
    if not kubeconfigs and not problems:
        text = f"the control plane of '{name}' has no address: it is being made or deleted"
        problems.append(Problem(_NAME, text, "Wait until it is there, or choose another cluster"))
    if written is None and len(accounts) > 1 and not answer.get("enableAutopilot"):
        text = f"the nodes of '{name}' have several identities: {', '.join(accounts)}"
        problems.append(Problem("existingCluster.nodeIdentity", text, "Write the one that the GPU nodes should have"))
    # A cluster that can have no pools refuses their objects, too, for no other reason.
    hopeless = any(problem.path == _NAME for problem in problems)
    return ClusterLookup(
        name=name,
        location=location,
        version=version,
        kubeconfig="" if hopeless else kubeconfigs[0],
        other_kubeconfigs=tuple(kubeconfigs[1:]),
        authority=authority,
        node_identity=identity,
        nodes={**_nodes(_others(answer, own), identity, written), "channel": _has_channel(answer)},
        network={key: str(answer[key]) for key in ("network", "subnetwork") if answer.get(key)},
        pools=tuple(str(pool["name"]) for pool in _pools(answer)),
        leftovers={
            str(pool["name"]): (
                f"gcloud container node-pools delete {pool['name']} --cluster {name} --location {location} "
                f"--project {settings.project}"
            )
            for pool in _pools(answer)
            if _of_program(pool)
        },
        less_memory={} if not _confidential(answer) else {pool.name: _less(pool) for pool in settings.gpu_pools},
        properties=properties,
        problems=tuple(problems),
        notes=tuple(_notes(settings, name, answer)),
    )


def _others(answer: Mapping[str, Any], own: Collection[str]) -> list[Mapping[str, Any]]:
    """The pools of others: those that somebody made, if there are any."""
    others = [pool for pool in _pools(answer) if pool["name"] not in own]
    return [pool for pool in others if not str(pool["name"]).startswith(_AUTOMATIC)] or others


def _accounts(of: Iterable[Mapping[str, Any]]) -> dict[str, None]:
    """The service accounts of the nodes of pools."""
    configs = [first_block(pool, "nodeConfigs") for pool in of]
    return dict.fromkeys(str(config["serviceAccount"]) for config in configs if config.get("serviceAccount"))


def _of_program(pool: Mapping[str, Any]) -> bool:
    """Whether it has the label that the program gives its pools."""
    return (first_block(pool, "nodeConfigs").get("labels") or {}).get(POOL_LABEL) == pool["name"]


def _addresses(answer: Mapping[str, Any]) -> list[tuple[str, bool]]:
    """The control plane's addresses, the first to try first, each with whether the cluster's CA proves it.

    By name it is reachable from anywhere, with IAM instead of addresses; the private one from its network alone.
    https://docs.cloud.google.com/kubernetes-engine/docs/concepts/network-isolation
    """
    by_name = first_block(first_block(answer, "controlPlaneEndpointsConfigs"), "dnsEndpointConfigs")
    private = first_block(answer, "privateClusterConfigs")
    hosts = [(by_name.get("endpoint"), False)] if by_name.get("allowExternalTraffic") else []
    hosts += [
        (answer.get("endpoint"), True),
        (private.get("publicEndpoint"), True),
        (private.get("privateEndpoint"), True),
    ]
    return [*dict.fromkeys((str(host), proven) for host, proven in hosts if host)]


def _nodes(others: Iterable[Mapping[str, Any]], identity: str, written: str | None) -> dict[str, Any]:
    """What new nodes take over of others: access scopes of those with that identity, and the network tags and resource
    manager tags that all have.

    The scopes are what holds the default account back, which may change the project; a node identity that is written
    has the roles that it needs. Firewall rules go by tags: without theirs a node may not reach its control plane.
    https://docs.cloud.google.com/kubernetes-engine/docs/how-to/access-scopes,
    https://github.com/terraform-google-modules/terraform-google-kubernetes-engine/blob/main/firewall.tf
    """
    configs = [first_block(pool, "nodeConfigs") for pool in others]
    alike = [config for config in configs if (config.get("serviceAccount") or _DEFAULT_ACCOUNT) == identity]
    scopes = next((each for config in alike if (each := config.get("oauthScopes"))), None)
    unseen = OWN_SCOPES if written or identity != _DEFAULT_ACCOUNT else _DEFAULT_SCOPES
    tags = [[*(config.get("tags") or ())] for config in configs]
    common = [tag for tag in (tags[0] if tags else []) if all(tag in each for each in tags)]
    secure = [(config.get("resourceManagerTags") or {}).items() for config in configs]
    bound = {key: value for key, value in (secure[0] if secure else ()) if all((key, value) in each for each in secure)}
    return {
        "oauthScopes": [*(unseen if written or scopes is None else scopes)],
        "tags": common,
        "resourceManagerTags": bound,
    }


def _confidential(answer: Mapping[str, Any]) -> bool:
    """Whether all nodes are, those of new pools, too: https://docs.cloud.google.com/kubernetes-engine/docs/how-to/vtpms"""
    return bool(first_block(answer, "confidentialNodes").get("enabled"))


def _less(pool: Pool) -> int:
    """MiB of its nodes that confidential computing takes, if its ``raw``, which is counted, does not ask for that."""
    known = catalog.of("gke")
    machines = [each for type in pool.nodes.machine_types if (each := known.machines.get(type)) is not None]
    of_raw = (known.nodes.confidential_mib(each, {}, pool.raw) for each in machines)
    asked = {"confidentialNodes": {"enabled": True}}
    return max((known.nodes.confidential_mib(each, asked, {}) for each in machines), default=0) - max(of_raw, default=0)


def _has_channel(answer: Mapping[str, Any]) -> bool:
    return first_block(answer, "releaseChannels").get("channel") != _NO_CHANNEL


def _problems(settings: Settings, name: str, answer: Mapping[str, Any]) -> Iterator[Problem]:
    if answer.get("enableAutopilot"):
        text = f"'{name}' is an Autopilot cluster: Google makes its nodes for pods, and nobody can add a pool"
        remedy = f"Apply these instead, and have pods select one by {CLASS_LABEL}: <name>\n"
        limit = "\nNothing there limits their number as maxNodes does; a ResourceQuota limits the GPUs of a namespace"
        yield Problem(_NAME, text, remedy + _autopilot_classes(settings.gpu_pools) + limit)
        return
    version = str(answer.get("masterVersion") or "")
    if text := too_old(name, version):
        yield Problem(_NAME, text, "Ask its owner to upgrade the control plane")
    for pool in settings.gpu_pools:
        for key, need in _needs(pool).items():
            oldest = _OLDEST_WITH.get(need)
            if oldest is not None and version and _numbers(version) < _numbers(oldest):
                text = f"'{name}' has GKE {version}, and {need} needs {oldest} or newer"
                yield Problem(
                    f"{pool.declared_at}.{key}", text, "Ask its owner to upgrade it, or write the pool without it"
                )
    region = str(answer["location"])
    if region != settings.region and not region.startswith(f"{settings.region}-"):
        yield Problem("region", f"'{name}' is in {region}, not in {settings.region}", f"Write the region of {region}")
    lacks = [
        *(["dataplane v2"] if answer.get("datapathProvider") != _DATAPLANE_V2 else []),
        *(["addresses of its network for pods (VPC-native)"] if answer.get("networkingMode") == _ROUTES else []),
    ]
    for pool in settings.gpu_pools:
        if pool.nodes.fabric is not None and lacks:
            text = f"'{name}' has no {' and no '.join(lacks)}, with which alone GKE offers the devices of a fabric"
            yield Problem(f"{pool.declared_at}.fabric", text, "Leave it out, or choose another cluster")


def _needs(pool: Pool) -> dict[str, str]:
    """Key of a pool → what it asks of GKE, in the catalogue's words."""
    fabric = {} if pool.nodes.fabric is None else {"fabric": "fabric"}
    return {"capacity": f"capacity: {pool.scaling.capacity_type}", "gpu": f"gpu: {pool.gpus.type}", **fabric}


def _numbers(version: str) -> list[int]:
    """``1.34.1-gke.1829001`` in an order."""
    return [int(each) for each in re.findall(r"\d+", version)]


def _notes(settings: Settings, name: str, answer: Mapping[str, Any]) -> Iterator[str]:
    if new := [pool.name for pool in settings.gpu_pools if pool.name not in {each["name"] for each in _pools(answer)}]:
        # https://registry.terraform.io/providers/hashicorp/google/latest/docs/resources/container_cluster#node_pool
        yield (
            f"adds {', '.join(new)} to '{name}'. If Terraform made that cluster with node_pool blocks inside its own "
            "resource, the next plan replaces the cluster: write lifecycle { ignore_changes = [node_pool] } there "
            'first (in Pulumi: ignore_changes=["nodePools"])'
        )
        theirs = {*(answer.get("nodeLocations") or ())}
        zones = {zone for pool in settings.gpu_pools if pool.name in new for zone in pool.nodes.zones}
        if theirs and (beyond := sorted(zones - theirs)):
            yield f"new pools may have nodes in {', '.join(beyond)}, where '{name}' has none: write zones if not wanted"
        fabric = [pool.name for pool in settings.gpu_pools if pool.nodes.fabric is not None and pool.name in new]
        if fabric:
            # https://docs.cloud.google.com/kubernetes-engine/docs/how-to/allocate-network-resources-dra
            yield f"for the fabric of {', '.join(fabric)} Google makes networks in project {settings.project}"
    scaling = first_block(answer, "clusterAutoscalings")
    limits = [str(each.get("resourceType")) for each in scaling.get("resourceLimits") or ()]
    if scaling.get("enabled") and (gpus := [each for each in limits if each not in ("cpu", "memory")]):
        yield (
            f"node auto-provisioning of '{name}' makes pools of its own for {', '.join(gpus)}, past the pools, limits "
            "and prices of this stack"
        )
    if scaling.get("defaultComputeClassEnabled"):
        yield (
            f"'{name}' has a default ComputeClass: for pods that select no class GKE may make nodes of that class, "
            "past the limits and prices of this stack"
        )
    if _confidential(answer):
        types = {type for pool in settings.gpu_pools for type in pool.nodes.machine_types}
        yield (
            f"all nodes of '{name}' are confidential, which few machines with GPUs can be; for another GKE refuses the "
            f"pool ({', '.join(sorted(types))}): https://cloud.google.com/kubernetes-engine/docs/how-to/confidential-gke-nodes"
        )
    if not _has_channel(answer):
        yield (
            f"'{name}' is in no release channel: the pools are made without automatic upgrades, and keep their version "
            "until you upgrade them"
        )
    behind = [f"{pool['name']} ({pool['version']})" for pool in _pools(answer) if _is_behind(pool, answer)]
    if behind:
        # https://cloud.google.com/kubernetes-engine/versioning
        yield (
            f"{', '.join(behind)}: older than the control plane ({answer.get('masterVersion')}), which cannot get more "
            "than two minor versions ahead of its pools. When no job runs there: "
            f"gcloud container clusters upgrade {name} --location {answer['location']} --node-pool <pool>"
        )
    if not first_block(answer, "workloadIdentityConfigs").get("workloadPool"):
        yield (
            f"'{name}' has no workload pool, so pods on its nodes, and on these, get the nodes' identity: "
            "https://docs.cloud.google.com/kubernetes-engine/docs/how-to/workload-identity"
        )


def _is_behind(pool: Mapping[str, Any], answer: Mapping[str, Any]) -> bool:
    """Whether a pool of the program is a minor version older than the control plane."""
    own, control_plane = _numbers(str(pool.get("version") or "")), _numbers(str(answer.get("masterVersion") or ""))
    return _of_program(pool) and bool(own) and own[:2] < control_plane[:2]


def _autopilot_classes(gpu_pools: Sequence[Pool]) -> str:
    """https://docs.cloud.google.com/kubernetes-engine/docs/reference/crds/computeclass"""
    classes = []
    for pool in gpu_pools:
        rule: dict[str, Any] = {"gpu": {"type": pool.gpus.accelerator, "count": pool.gpus.per_node}}
        spec = {
            "nodePoolAutoCreation": {"enabled": True},
            "priorities": [{**rule, **_capacity(pool)}],
            "whenUnsatisfiable": "DoNotScaleUp",
        }
        classes.append(
            json.dumps(
                {"apiVersion": compute_class.API, "kind": "ComputeClass", "metadata": {"name": pool.name}, "spec": spec}
            )
        )
    return "\n---\n".join(classes)


def _capacity(pool: Pool) -> dict[str, Any]:
    """How a ComputeClass has the capacity type of a pool; nothing is on demand."""
    scaling = pool.scaling
    rule: dict[str, Any] = {"spot": True} if scaling.spot else {}
    if scaling.capacity_type == "flex-start":
        rule["flexStart"] = {"enabled": True}
    if scaling.max_run_hours is not None:
        rule["maxRunDurationSeconds"] = scaling.max_run_hours * 3600
    if scaling.reservation is not None:
        path = scaling.reservation.split("/")
        project = {"project": path[1]} if len(path) > 1 else {}
        rule["reservations"] = {"affinity": "Specific", "specific": [{"name": path[-1], **project}]}
    return rule


def _properties(answer: Mapping[str, Any], own: Collection[str]) -> dict[str, Any]:
    """The answer in the words of ``gcp:container/cluster:Cluster``, as far as rules and pools use it.

    Without what changes by itself (versions, sizes of autoscaled pools, pools of node auto-provisioning) and by this
    stack: no preview shows a change that nobody made.
    """
    kept = [pool for pool in _pools(answer) if pool["name"] not in own and not pool["name"].startswith(_AUTOMATIC)]
    blocks = {key: _singular(first_block(answer, name)) for key, name in _BLOCKS.items() if answer.get(name)}
    return {
        **{key: answer[key] for key in _PLAIN if answer.get(key) is not None},
        **blocks,
        "nodePools": [_pool_properties(pool) for pool in kept],
        # Otherwise a cluster without pools has one by default.
        "removeDefaultNodePool": not kept,
    }


def _pool_properties(pool: Mapping[str, Any]) -> dict[str, Any]:
    config, scaling = first_block(pool, "nodeConfigs"), first_block(pool, "autoscalings")
    nodes = {key: config[key] for key in _OF_NODES if config.get(key) is not None}
    return {
        **{key: pool[key] for key in _OF_POOLS if pool.get(key) is not None},
        **({"autoscaling": dict(scaling)} if scaling else {"nodeCount": pool.get("nodeCount")}),
        "nodeConfig": {
            **nodes,
            "guestAccelerators": [
                {"type": each.get("type"), "count": each.get("count")} for each in config.get("guestAccelerators") or ()
            ],
            "labels": dict(config.get("labels") or {}),
            "taints": [dict(each) for each in config.get("effectiveTaints") or config.get("taints") or ()],
            "workloadMetadataConfig": dict(first_block(config, "workloadMetadataConfigs")),
        },
    }


def _singular(value: Any) -> Any:
    """A block of the answer as a resource has it: ``xConfigs: [{…}]`` is ``xConfig: {…}``, at any depth."""
    if not isinstance(value, Mapping):
        return value
    made: dict[str, Any] = {}
    for key, inner in value.items():
        one = key.endswith("Configs") and isinstance(inner, list)
        made[key.removesuffix("s") if one else key] = _singular(inner[0]) if one and inner else inner
    return made


def _pools(answer: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    return answer.get("nodePools") or ()


class JoinedGke(JoinedCluster, NodePools):
    """Pools on the cluster; each takes its name, location and identity of what was looked up."""

    def __init__(
        self,
        settings: Settings,
        found: pulumi.Output[ClusterLookup],
        view: pulumi.Output[ClusterLookup],
        deployed: Deployed,
    ) -> None:
        self._context = Context(
            settings=settings,
            name=view.apply(lambda known: known.name),
            location=view.apply(lambda known: known.location),
            control_plane=None,
            node_account=view.apply(lambda known: known.node_identity),
            deployed=deployed,
            private_nodes=view.apply(lambda known: _has_private_nodes(known.properties)),
            pods_as_nodes=view.apply(lambda known: not known.properties.get("workloadIdentityConfig")),
            nodes=view.apply(lambda known: known.nodes),
        )

    def autoscaler(self, pools: Sequence[Pool], objects: AdminObjects) -> NodePools:
        """Google runs the autoscaler; a pool's limits are all it needs."""
        compute_class.declare(pools, objects)
        return self

    def node_pool(self, name: str, pool: Pool, opts: pulumi.ResourceOptions) -> pulumi.CustomResource:
        """One GPU pool."""
        return pools.node_pool(self._context, name, pool, opts)


def _has_private_nodes(properties: Mapping[str, Any]) -> bool:
    """Whether the cluster's nodes have private addresses unless their pool says otherwise."""
    return bool((properties.get("privateClusterConfig") or {}).get("enablePrivateNodes"))


def _has_pool(view: ClusterLookup, pool: Pool, state: Mapping[str, Any]) -> bool:
    place = (state.get("name"), state.get("cluster"), state.get("location"))
    return place == (pool.name, view.name, view.location)


def _node_labels(pool: Pool) -> dict[str, str | None]:
    """https://docs.cloud.google.com/kubernetes-engine/docs/how-to/gpus"""
    labels: dict[str, str | None] = {
        "cloud.google.com/compute-class": None,
        "cloud.google.com/gke-preemptible": None,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": pool.arch,
        "cloud.google.com/gke-nodepool": pool.name,
        "cloud.google.com/gke-os-distribution": pool.nodes.image,
        "node.kubernetes.io/instance-type": pool.nodes.machine_type,
    }
    labels["cloud.google.com/gke-accelerator"] = pool.gpus.accelerator if pool.gpus.of_nvidia else None
    if pool.gpus.of_nvidia:
        labels["cloud.google.com/gke-tpu-accelerator"] = None
    labels["cloud.google.com/gke-spot"] = "true" if pool.scaling.spot else None
    return {**labels, **pools.without_operator(pool)}


def _other_plugin(pool: Pool, plugin: str) -> Problem | None:
    """A node has one device plugin: GKE's, or that of others."""
    taken = pools.has_plugin_of_others(pool)
    if taken and pool.gpus.shared is None and pool.gpus.mig is None:
        return None
    text = f"{plugin} would offer the GPUs of {pool.name}, as GKE's own device plugin does"
    if taken:
        parts = "mig" if pool.gpus.mig is not None else "mps" if pool.gpus.mps is not None else "timeSharing"
        text = f"{plugin} offers the GPUs of {pool.name}, and decides how they are divided"
        return Problem(f"{pool.declared_at}.{parts}", text, "Leave it out, and divide GPUs there")
    return Problem(
        f"{pool.declared_at}.drivers",
        text,
        f'To use it, write drivers: daemonset and labels: {{{pools.WITHOUT_PLUGIN}: "true"}}. To keep it away, '
        "write taints that it does not tolerate",
    )


def _is_own_daemon(metadata: Mapping[str, Any]) -> bool:
    """Google's: https://github.com/kubernetes/kubernetes/tree/master/cluster/addons/addon-manager, and in namespaces of
    its own."""
    namespace, labels = str(metadata.get("namespace") or ""), metadata.get("labels") or {}
    return "addonmanager.kubernetes.io/mode" in labels or namespace.startswith(_GOOGLES)


def _listed_notes(lists: Mapping[str, Sequence[Mapping[str, Any]]]) -> Iterator[str]:
    """Namespaces where GKE has pods select a ComputeClass, unless they select another; one of the cluster changes no
    pod."""
    by_class: dict[str, list[str]] = {}
    for each in lists.get(_NAMESPACES, ()):
        metadata = each["metadata"]
        if default := (metadata.get("labels") or {}).get(_DEFAULT_CLASS):
            by_class.setdefault(default, []).append(metadata["name"])
    created = {
        each["metadata"]["name"]
        for each in lists.get(_CLASSES, ())
        if ((each.get("spec") or {}).get("nodePoolAutoCreation") or {}).get("enabled")
    }
    for name, namespaces in by_class.items():
        past = ", which Google makes past the limits and prices of this stack" if name in created else ""
        yield (
            f"pods of {', '.join(sorted(namespaces))} get the default ComputeClass {name} and its nodes{past}: submit "
            "jobs for these pools in another namespace"
        )


JOINING: Final = Joining(
    look=look,
    cluster=JoinedGke,
    has_pool=_has_pool,
    pool_token="gcp:container/nodePool:NodePool",
    own_daemon=_is_own_daemon,
    node_labels=_node_labels,
    label_domains=("cloud.google.com", "gke.io"),
    other_plugin=_other_plugin,
    lists=(_CLASSES, _NAMESPACES),
    listed_notes=_listed_notes,
)
