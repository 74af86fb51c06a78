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

from components.clouds.base import AdminObjects, ClusterLookup, JoinedCluster, Joining, NodePools
from components.clouds.deployed import Deployed
from components.clouds.gke import compute_class, pools
from components.clouds.gke.context import Context
from components.clouds.gke.kubeconfig import kubeconfig_of
from components.clouds.gke.node_config import OWN_SCOPES
from components.settings import Problem, Settings
from facts.concepts.pool import CLASS_LABEL, Pool

_CLUSTER: Final = "gcp:container/getCluster:getCluster"
# Words of the provider for a cluster that is not there:
# https://github.com/hashicorp/terraform-provider-google/blob/main/google/services/container/data_source_google_container_cluster.go
_MISSING: Final = "not found"
_OLDEST: Final = (1, 30)
"""Of ValidatingAdmissionPolicies: https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/"""
_DATAPLANE_V2: Final = "ADVANCED_DATAPATH"
_DEFAULT_ACCOUNT: Final = "default"
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
    places = [settings.region, *settings.known.regions[settings.region]]
    answers = await asyncio.gather(*(_ask(settings, name, place, parent) for place in places))
    found = [answer for answer in answers if isinstance(answer, Mapping)]
    failures = dict.fromkeys(answer for answer in answers if isinstance(answer, str))
    where = f"{settings.region} of project {settings.project}"
    list_them = f"gcloud container clusters list --project {settings.project}"
    if len(found) == 1:
        return _view(settings, name, found[0], own)
    if found:
        locations = ", ".join(str(each["location"]) for each in found)
        text = f"{len(found)} clusters are called '{name}': in {locations} of project {settings.project}"
        problem = Problem(_NAME, text, "The program cannot tell them apart: add the pools to a cluster of another name")
    elif failures:
        text = f"'{name}' cannot be looked up in {where}: {'; '.join(failures)}"
        problem = Problem(_NAME, text, "Ask the project's administrator for roles/container.clusterViewer or more")
    else:
        text = f"there is no cluster '{name}' in {where}"
        problem = Problem(_NAME, text, f"Correct the name, region or gcp:project; {list_them} lists all")
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
        return None if _MISSING in str(error) else str(error)
    return cast("Mapping[str, Any]", answer)


def _view(settings: Settings, name: str, answer: Mapping[str, Any], own: Collection[str]) -> ClusterLookup:
    properties = _properties(answer, own)
    version, location = str(answer.get("masterVersion") or ""), str(answer["location"])
    accounts = dict.fromkeys(
        filter(None, (_first(pool, "nodeConfigs").get("serviceAccount") for pool in _pools(answer)))
    )
    written = settings.existing_cluster.node_identity if settings.existing_cluster else None
    identity = written or next(iter(accounts), _DEFAULT_ACCOUNT)
    authority = str(_first(answer, "masterAuths").get("clusterCaCertificate") or "")
    by_name = _name_of(answer)
    host, proof = by_name or str(answer.get("endpoint")), None if by_name else authority
    problems = [*_problems(settings, name, answer)]
    if written is None and len(accounts) > 1 and not answer.get("enableAutopilot"):
        text = f"the nodes of '{name}' have several identities: {', '.join(accounts)}"
        problems.append(Problem("existingCluster.nodeIdentity", text, "Write the one that the GPU nodes should have"))
    # A cluster that can have no pools refuses their objects, too, for no other reason.
    hopeless = any(problem.path == _NAME for problem in problems)
    return ClusterLookup(
        name=name,
        location=location,
        version=version,
        kubeconfig="" if hopeless else kubeconfig_of(name, location, settings.project, host, proof),
        authority=authority,
        node_identity=identity,
        nodes=_nodes(answer, identity, written, own),
        network={key: str(answer[key]) for key in ("network", "subnetwork") if answer.get(key)},
        pools=tuple(str(pool["name"]) for pool in _pools(answer)),
        properties=properties,
        problems=tuple(problems),
        notes=tuple(_notes(settings, name, answer)),
    )


def _nodes(answer: Mapping[str, Any], identity: str, written: str | None, own: Collection[str]) -> dict[str, list[str]]:
    """Access scopes of the cluster's nodes with that identity, and the network tags that all its nodes have.

    The scopes are what holds the default account back, which may change the project; a node identity that is written
    has the roles that it needs. Firewall rules go by tags: without theirs a node may not reach its control plane.
    https://docs.cloud.google.com/kubernetes-engine/docs/how-to/access-scopes,
    https://github.com/terraform-google-modules/terraform-google-kubernetes-engine/blob/main/firewall.tf
    """
    configs = [_first(pool, "nodeConfigs") for pool in _pools(answer) if pool["name"] not in own]
    alike = [config for config in configs if (config.get("serviceAccount") or _DEFAULT_ACCOUNT) == identity]
    scopes = [] if written else [[*(config.get("oauthScopes") or ())] for config in alike]
    tags = [[*(config.get("tags") or ())] for config in configs]
    common = [tag for tag in (tags[0] if tags else []) if all(tag in each for each in tags)]
    return {"oauthScopes": scopes[0] if scopes and scopes[0] else [*OWN_SCOPES], "tags": common}


def _name_of(answer: Mapping[str, Any]) -> str:
    """The control plane's name if it is reachable from anywhere, with IAM instead of addresses; else empty.

    https://docs.cloud.google.com/kubernetes-engine/docs/concepts/network-isolation
    """
    by_name = _first(_first(answer, "controlPlaneEndpointsConfigs"), "dnsEndpointConfigs")
    return str(by_name.get("endpoint") or "") if by_name.get("allowExternalTraffic") else ""


def _problems(settings: Settings, name: str, answer: Mapping[str, Any]) -> Iterator[Problem]:
    if answer.get("enableAutopilot"):
        text = f"'{name}' is an Autopilot cluster: Google makes its nodes for pods, and nobody can add a pool"
        remedy = f"Apply these instead, and have pods select one by {CLASS_LABEL}: <name>\n"
        yield Problem(_NAME, text, remedy + _autopilot_classes(settings.gpu_pools))
        return
    version = str(answer.get("masterVersion") or "")
    match = re.match(r"v?(\d+)\.(\d+)", version)
    if match is not None and (int(match[1]), int(match[2])) < _OLDEST:
        text = f"'{name}' has Kubernetes {version}, and the program needs {_OLDEST[0]}.{_OLDEST[1]} or newer"
        yield Problem(_NAME, text, "Ask its owner to upgrade the control plane")
    region = str(answer["location"])
    if region != settings.region and not region.startswith(f"{settings.region}-"):
        yield Problem("region", f"'{name}' is in {region}, not in {settings.region}", f"Write the region of {region}")
    if answer.get("datapathProvider") != _DATAPLANE_V2:
        for pool in settings.gpu_pools:
            if pool.nodes.fabric is not None:
                text = f"'{name}' has no dataplane v2, with which alone GKE offers the devices of a fabric"
                yield Problem(f"{pool.declared_at}.fabric", text, "Leave it out, or choose another cluster")


def _notes(settings: Settings, name: str, answer: Mapping[str, Any]) -> Iterator[str]:
    if new := [pool.name for pool in settings.gpu_pools if pool.name not in {each["name"] for each in _pools(answer)}]:
        # https://registry.terraform.io/providers/hashicorp/google/latest/docs/resources/container_cluster#node_pool
        yield (
            f"adds {', '.join(new)} to '{name}'. If Terraform made that cluster with node_pool blocks inside its own "
            "resource, the next plan replaces the cluster: write lifecycle { ignore_changes = [node_pool] } there first"
        )
    scaling = _first(answer, "clusterAutoscalings")
    limits = [str(each.get("resourceType")) for each in scaling.get("resourceLimits") or ()]
    if scaling.get("enabled") and (gpus := [each for each in limits if each not in ("cpu", "memory")]):
        yield (
            f"node auto-provisioning of '{name}' makes pools of its own for {', '.join(gpus)}, past the pools, limits "
            "and prices of this stack"
        )
    if not _first(answer, "workloadIdentityConfigs").get("workloadPool"):
        yield (
            f"'{name}' has no workload pool, so pods on its nodes, and on these, get the nodes' identity: "
            "https://docs.cloud.google.com/kubernetes-engine/docs/how-to/workload-identity"
        )


def _autopilot_classes(gpu_pools: Sequence[Pool]) -> str:
    """https://docs.cloud.google.com/kubernetes-engine/docs/reference/crds/computeclass"""
    classes = []
    for pool in gpu_pools:
        rule: dict[str, Any] = {"gpu": {"type": pool.gpus.accelerator, "count": pool.gpus.per_node}}
        spec = {
            "nodePoolAutoCreation": {"enabled": True},
            "priorities": [{**rule, **({"spot": True} if pool.scaling.spot else {})}],
            "whenUnsatisfiable": "DoNotScaleUp",
        }
        classes.append(
            json.dumps(
                {"apiVersion": compute_class.API, "kind": "ComputeClass", "metadata": {"name": pool.name}, "spec": spec}
            )
        )
    return "\n---\n".join(classes)


def _properties(answer: Mapping[str, Any], own: Collection[str]) -> dict[str, Any]:
    """The answer in the words of ``gcp:container/cluster:Cluster``, as far as rules and pools use it.

    Without what changes by itself (versions, sizes of autoscaled pools) and by this stack: no preview shows a change
    that nobody made.
    """
    blocks = {key: _singular(_first(answer, name)) for key, name in _BLOCKS.items() if answer.get(name)}
    return {
        **{key: answer[key] for key in _PLAIN if answer.get(key) is not None},
        **blocks,
        "nodePools": [_pool_properties(pool) for pool in _pools(answer) if pool["name"] not in own],
        # Otherwise a cluster without pools has one by default.
        "removeDefaultNodePool": not [pool for pool in _pools(answer) if pool["name"] not in own],
    }


def _pool_properties(pool: Mapping[str, Any]) -> dict[str, Any]:
    config, scaling = _first(pool, "nodeConfigs"), _first(pool, "autoscalings")
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
            "workloadMetadataConfig": dict(_first(config, "workloadMetadataConfigs")),
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


def _first(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """The block ``key`` of an answer, which has it as a list of one; empty without any."""
    blocks = value.get(key) or ()
    return cast("Mapping[str, Any]", blocks[0]) if blocks and blocks[0] else {}


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


def _has_pool(view: ClusterLookup, pool: Mapping[str, Any]) -> bool:
    return (pool.get("cluster"), pool.get("location")) == (view.name, view.location)


def _node_labels(pool: Pool) -> dict[str, str]:
    """https://docs.cloud.google.com/kubernetes-engine/docs/how-to/gpus"""
    labels = {
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": pool.arch,
        "cloud.google.com/gke-nodepool": pool.name,
        "cloud.google.com/gke-os-distribution": pool.nodes.image,
        "node.kubernetes.io/instance-type": pool.nodes.machine_type,
    }
    if pool.gpus.of_nvidia:
        labels["cloud.google.com/gke-accelerator"] = pool.gpus.accelerator
    if pool.scaling.spot:
        labels["cloud.google.com/gke-spot"] = "true"
    return labels


# With the label GKE's own plugin stays away, and its driver, which comes with it:
# https://docs.cloud.google.com/kubernetes-engine/docs/how-to/gpu-operator
_WITHOUT_PLUGIN: Final = "gke-no-default-nvidia-gpu-device-plugin"


def _other_plugin(pool: Pool, plugin: str) -> Problem | None:
    """A node has one device plugin: GKE's, or that of others."""
    taken = pool.nodes.labels.get(_WITHOUT_PLUGIN) == "true" and pool.gpus.drivers == "daemonset"
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
        f'To use it, write drivers: daemonset and labels: {{{_WITHOUT_PLUGIN}: "true"}}. To keep it away, write taints '
        "that it does not tolerate",
    )


JOINING: Final = Joining(
    look=look,
    cluster=JoinedGke,
    has_pool=_has_pool,
    pool_token="gcp:container/nodePool:NodePool",
    # Google's: https://github.com/kubernetes/kubernetes/tree/master/cluster/addons/addon-manager
    own_daemons={"addonmanager.kubernetes.io/mode": "Reconcile"},
    node_labels=_node_labels,
    other_plugin=_other_plugin,
)
