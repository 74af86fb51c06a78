"""GPU pools on an EKS cluster that somebody else made, with a Karpenter of theirs: what Amazon and the cluster say of
it, and its pools, each a NodePool with an EC2NodeClass.

Nothing of the cluster is a resource of the stack. Of Karpenter the stack has no role, queue or chart: where and as whom
nodes start is copied from the EC2NodeClass that the stack file names.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, cast

import pulumi

from components.clouds import node_pools
from components.clouds.base import ClusterLookup, Joining, Lists, too_old
from components.clouds.data_lookup import first_block
from components.clouds.device_plugin import has_software_of_others, second_plugin
from components.clouds.eks import karpenter_objects
from components.clouds.eks.endpoint import kubeconfig, login
from components.clouds.eks.karpenter import NODE_POOL
from components.settings import Problem, Settings
from facts import catalog
from facts.catalog.eks.cloud import CATALOG
from facts.concepts.kubernetes import ALL_OPERANDS, GPU_RESOURCE
from facts.concepts.pool import Pool

_CLUSTER: Final = "aws:eks/getCluster:getCluster"
SUBNET: Final = "aws:ec2/getSubnet:getSubnet"
_CALLER: Final = "aws:index/getCallerIdentity:getCallerIdentity"
# Words of the provider for a cluster that is not there:
# https://github.com/terraform-aws-modules/terraform-aws-eks/issues/2045
_MISSING: Final = "couldn't find resource"
NAME: Final = "existingCluster.name"
_CLASS: Final = "existingCluster.nodeClass"
# https://docs.aws.amazon.com/eks/latest/APIReference/API_Cluster.html#AmazonEKS-Type-Cluster-status
_NOT_USABLE: Final[Mapping[str, tuple[str, str]]] = {
    "CREATING": ("is being made", "Try again when its status is ACTIVE"),
    "PENDING": ("is being made", "Try again when its status is ACTIVE"),
    "DELETING": ("is being deleted", "Choose another cluster"),
    "FAILED": ("has failed", "Ask its owner, or choose another cluster"),
}
# Of the provider's function: https://www.pulumi.com/registry/packages/aws/api-docs/eks/getcluster/
_NOT_LOOKED_UP: Final = "the provider's function getCluster does not have it"

_AUTOSCALER: Final = "cluster-autoscaler"
TWO_WAYS: Final = (
    "Ask its owner for Karpenter (https://karpenter.sh/docs/getting-started/), or for cluster-autoscaler that "
    "discovers groups by tags (https://github.com/kubernetes/autoscaler/tree/master/cluster-autoscaler/cloudprovider/aws)"
)

# What the gate reads of the cluster itself (policies/readers/joined.py).
_OF_CLUSTER: Final = ("autoscaler", "networkPolicies", "systemNodes")
PUBLIC: Final = "public addresses of nodes"
SEVERAL: Final = "some subnets of the nodes give them public addresses, others do not"
_API, _V1 = "karpenter.sh", "v1"
_AWS_API: Final = "karpenter.k8s.aws"
_CLASSES: Final = f"/apis/{_AWS_API}/{_V1}/ec2nodeclasses"
_POOLS: Final = f"/apis/{_API}/{_V1}/nodepools"
DEPLOYMENTS, _DAEMON_SETS, NODES = "/apis/apps/v1/deployments", "/apis/apps/v1/daemonsets", "/api/v1/nodes"
_NODE_POOL_LABEL: Final = "karpenter.sh/nodepool"
GROUP_LABEL: Final = "eks.amazonaws.com/nodegroup"
_CLASS_SECONDS: Final = 30
_FAMILIES: Final[Mapping[str, str]] = {"AL2023": "al2023", "Bottlerocket": "bottlerocket"}
# Amazon's network plugin enforces NetworkPolicies if this argument says so, these DaemonSets always:
# https://docs.aws.amazon.com/eks/latest/userguide/cni-network-policy-configure.html
_ENFORCES: Final = "--enable-network-policy=true"
_ENFORCERS: Final = frozenset({"antrea-agent", "calico-node", "cilium", "kube-router"})


async def look(settings: Settings, own: Collection[str], parent: pulumi.Resource) -> ClusterLookup:
    """What Amazon says of ``existingCluster`` in the provider's account and region."""
    name = settings.cluster_name
    try:
        answer = await ask(_CLUSTER, {"name": name}, parent)
    except Exception as error:  # the SDK raises no type of its own
        missing = _MISSING in str(error)
        text, remedy = f"'{name}' cannot be looked up in {settings.region}: {error}", ask_for("eks:DescribeCluster")
        if missing:
            caller = await ask(_CALLER, {}, parent)
            text = f"there is no cluster '{name}' in {settings.region} of account {caller['accountId']}"
            lists = f"aws eks list-clusters --region {settings.region} lists all of the account you are logged in to"
            remedy = f"Correct the name, region or login; {lists}"
        problem = Problem(NAME, text, remedy)
        return ClusterLookup(
            name=name, location="", version="", kubeconfig="", authority="", problems=(problem,), missing=missing
        )
    network = answer.get("vpcConfig") or {}
    authority = str(first_block(answer, "certificateAuthorities").get("data") or "")
    problems = tuple(_problems(name, answer))
    endpoint = str(answer.get("endpoint") or "")
    return ClusterLookup(
        name=name,
        location=str(answer.get("arn") or settings.region),
        version=str(answer.get("version") or ""),
        kubeconfig="" if problems else kubeconfig(name, settings.region, endpoint, authority, login()),
        authority=authority,
        network={key: str(network[key]) for key in ("vpcId", "clusterSecurityGroupId") if network.get(key)},
        properties=_properties(settings, answer),
        unknown={"encryptionConfig": _NOT_LOOKED_UP, **dict.fromkeys(_OF_CLUSTER, "the cluster has not been asked")},
        problems=problems,
    )


def _problems(name: str, answer: Mapping[str, Any]) -> Iterator[Problem]:
    if (status := str(answer.get("status"))) in _NOT_USABLE:
        says, remedy = _NOT_USABLE[status]
        yield Problem(NAME, f"'{name}' {says}", remedy)
        return
    if text := too_old(name, str(answer.get("version") or "")):
        yield Problem(NAME, text, "Ask its owner to upgrade the control plane")


def _properties(settings: Settings, answer: Mapping[str, Any]) -> dict[str, Any]:
    """The answer in the words of ``aws:eks/cluster:Cluster``, as far as rules use it."""
    network = answer.get("vpcConfig") or {}
    exposed = ("endpointPrivateAccess", "endpointPublicAccess", "publicAccessCidrs")
    compute = first_block(answer, "computeConfigs")
    return {
        "name": settings.cluster_name,
        "region": settings.region,
        "vpcConfig": {key: network[key] for key in exposed if network.get(key) is not None},
        "computeConfig": {key: compute[key] for key in ("enabled", "nodePools") if compute.get(key) is not None},
    }


def ask_for(action: str) -> str:
    """What to do without a right."""
    return f"Ask the account's administrator for {action}"


def look_inside(
    settings: Settings,
    own: Collection[str],
    view: ClusterLookup,
    lists: Lists,
    find: Callable[[str], Mapping[str, Any] | None],
) -> ClusterLookup:
    """What the cluster says of its Karpenter, and of the EC2NodeClass that the stack file names."""
    deployments, classes = lists.get(DEPLOYMENTS), lists.get(_CLASSES)
    if refused := _without_karpenter(settings, view, find(f"/apis/{_AWS_API}"), deployments):
        return replace(view, problems=(*view.problems, refused), kubeconfig="")
    view = with_inside(view, own, lists, "karpenter")
    if classes is None:
        return replace(view, unknown={**view.unknown, "node class": "the user may not list ec2nodeclasses"})
    named = settings.existing_cluster.node_class if settings.existing_cluster else None
    node_class = next((each for each in classes if each["metadata"]["name"] == named), None)
    if node_class is None:
        names = ", ".join(sorted(each["metadata"]["name"] for each in classes if each["metadata"]["name"] not in own))
        text = f"'{view.name}' has no EC2NodeClass '{named}'"
        problem = Problem(_CLASS, text, f"Write one of {names}" if names else "Ask its owner to make one")
        return replace(view, problems=(*view.problems, problem), kubeconfig="")
    node_class = _looked_at(node_class, find)
    spec = node_class.get("spec") or {}
    zones = {zone for pool in settings.gpu_pools for zone in pool.nodes.zones}
    subnets = [each for each in (node_class.get("status") or {}).get("subnets") or () if each.get("zone") in zones]
    controller = next((each for each in deployments or () if _is_karpenter(each)), None)
    others = [each for each in lists.get(_POOLS, ()) if each["metadata"]["name"] not in own]
    return replace(
        view,
        node_identity=str(spec.get("role") or spec.get("instanceProfile") or ""),
        node_class=spec,
        nodes={"subnets": [str(each["id"]) for each in subnets]},
        problems=(*view.problems, *dict.fromkeys(_class_problems(settings, str(named), node_class))),
        notes=(*view.notes, *_notes(settings, view.name, controller, others)),
    )


def _looked_at(node_class: Mapping[str, Any], find: Callable[[str], Mapping[str, Any] | None]) -> Mapping[str, Any]:
    """The class with what Karpenter writes of it, which takes some seconds where the same program made it.

    It is listed again: the user may list classes, not get one of others.
    """
    for _ in range(_CLASS_SECONDS):
        conditions = (node_class.get("status") or {}).get("conditions") or ()
        if any(each.get("type") == "Ready" and each.get("status") in ("True", "False") for each in conditions):
            break
        time.sleep(1)
        listed = (find(_CLASSES) or {}).get("items") or ()
        named = node_class["metadata"]["name"]
        node_class = next((each for each in listed if each["metadata"]["name"] == named), node_class)
    return node_class


def with_inside(view: ClusterLookup, own: Collection[str], lists: Lists, autoscaler: str) -> ClusterLookup:
    """With what the gate reads of a cluster that has answered (policies/readers/joined.py)."""
    properties, unknown = {**view.properties, "autoscaler": autoscaler}, {**view.unknown}
    del unknown["autoscaler"]
    for key, path, judged in (
        ("systemNodes", NODES, lambda: _has_system_nodes(own, lists)),
        ("networkPolicies", _DAEMON_SETS, lambda: _enforces_policies(lists[_DAEMON_SETS])),
    ):
        unknown[key] = f"the user may not list {path.rpartition('/')[2]}"
        if path in lists:
            properties[key] = judged()
            del unknown[key]
    return replace(view, properties=properties, unknown=unknown)


async def look_again(view: ClusterLookup, parent: pulumi.Resource) -> ClusterLookup:
    """Whether nodes get public addresses, where the node class leaves it to its subnets."""
    if not view.node_class or "associatePublicIPAddress" in view.node_class:
        return view
    asked = (ask(SUBNET, {"id": subnet}, parent) for subnet in view.nodes["subnets"])
    try:
        public = {bool(answer.get("mapPublicIpOnLaunch")) for answer in await asyncio.gather(*asked)}
    except Exception as error:  # the SDK raises no type of its own
        reason = f"the subnets of the node class cannot be looked up ({ask_for('ec2:DescribeSubnets')}): {error}"
        return replace(view, unknown={**view.unknown, PUBLIC: reason})
    if len(public) == 1:
        return replace(view, node_class={**view.node_class, "associatePublicIPAddress": public.pop()})
    return replace(view, unknown={**view.unknown, PUBLIC: SEVERAL if public else "no subnet yet"})


async def ask(token: str, arguments: Mapping[str, Any], parent: pulumi.Resource) -> Mapping[str, Any]:
    """The answer of a function of the provider."""
    answer = await pulumi.runtime.invoke_async(token, dict(arguments), pulumi.InvokeOptions(parent=parent))
    return cast("Mapping[str, Any]", answer)


def _without_karpenter(
    settings: Settings,
    view: ClusterLookup,
    group: Mapping[str, Any] | None,
    deployments: Sequence[Mapping[str, Any]] | None,
) -> Problem | None:
    """The problem of a cluster in which no Karpenter of a supported version starts EC2 instances; ``group`` is that of
    its kinds."""
    versions = [str(each["version"]) for each in (group or {}).get("versions") or ()]
    if group is not None and _V1 not in versions:
        text = f"Karpenter of '{view.name}' has only {', '.join(versions)} of its API, and the program needs {_V1}"
        return Problem(NAME, text, "Ask its owner to upgrade Karpenter to 1.0 or newer")
    if group is None and (view.properties.get("computeConfig") or {}).get("enabled"):
        text = f"'{view.name}' has EKS Auto Mode, whose own Karpenter makes its nodes, and no Karpenter beside it"
        remedy = "Apply these NodePools instead, of Auto Mode's node class default\n"
        return Problem(NAME, text, remedy + _auto_mode_pools(settings))
    if group is None and any(map(is_cluster_autoscaler, deployments or ())):
        text = f"'{view.name}' has cluster-autoscaler and no Karpenter"
        return Problem(NAME, text, "Write autoscaling: {autoscaler: cluster-autoscaler}, and leave out nodeClass")
    if group is None:
        return Problem(NAME, f"'{view.name}' has no Karpenter", TWO_WAYS)
    if deployments is not None and not any(_is_karpenter(each) for each in deployments):
        text = f"'{view.name}' has the kinds of Karpenter, and no Deployment runs it"
        return Problem(NAME, text, "Ask its owner to start it")
    return None


def is_cluster_autoscaler(deployment: Mapping[str, Any]) -> bool:
    """Whether it runs cluster-autoscaler, by its chart's label or its image, which may be a copy."""
    name = str((deployment["metadata"].get("labels") or {}).get("app.kubernetes.io/name") or "")
    runs = (deployment.get("spec") or {}).get("replicas") != 0
    return runs and any(each.endswith(_AUTOSCALER) or f"{_AUTOSCALER}:" in each for each in (name, *images(deployment)))


def _is_karpenter(deployment: Mapping[str, Any]) -> bool:
    """Whether it runs Karpenter, by its chart's label or its image, which may be a copy."""
    name = (deployment["metadata"].get("labels") or {}).get("app.kubernetes.io/name")
    running = (deployment.get("spec") or {}).get("replicas") != 0
    return running and (name == "karpenter" or any("karpenter" in image for image in images(deployment)))


def images(workload: Mapping[str, Any]) -> Iterator[str]:
    """Those of its pods."""
    for container in containers(workload):
        yield str(container.get("image") or "")


def containers(workload: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    """Those of its pods."""
    return workload["spec"]["template"]["spec"].get("containers") or ()


def _auto_mode_pools(settings: Settings) -> str:
    """https://docs.aws.amazon.com/eks/latest/userguide/create-node-pool.html"""
    manifests = []
    for pool in settings.gpu_pools:
        node_pool = karpenter_objects.node_pool(
            pool,
            weight=1,
            unneeded_minutes=pool.scaling.unneeded_minutes or settings.idle_minutes,
            maintenance=settings.maintenance,
        )
        template = node_pool["spec"]["template"]["spec"]
        template["nodeClassRef"] = {"group": "eks.amazonaws.com", "kind": "NodeClass", "name": "default"}
        del template["expireAfter"]  # Auto Mode ends each node after 21 days at most
        manifests.append(json.dumps(node_pool))
    return "\n---\n".join(manifests)


def _has_system_nodes(own: Collection[str], lists: Lists) -> bool:
    """Whether system pods have a home beside the stack's own pools: a node without GPUs and taints, or a NodePool
    without taints, which makes one for them."""

    def is_home(node: Mapping[str, Any]) -> bool:
        taints = (node.get("spec") or {}).get("taints") or ()
        capacity = (node.get("status") or {}).get("capacity") or {}
        labels = node["metadata"].get("labels") or {}
        ours = not {labels.get(_NODE_POOL_LABEL), labels.get(GROUP_LABEL)}.isdisjoint(own)
        free = all(taint.get("effect") == "PreferNoSchedule" for taint in taints)
        return free and not ours and GPU_RESOURCE not in capacity

    def makes_home(node_pool: Mapping[str, Any]) -> bool:
        spec = node_pool["spec"]["template"]["spec"]
        return node_pool["metadata"]["name"] not in own and not spec.get("taints")

    return any(map(is_home, lists[NODES])) or any(map(makes_home, lists.get(_POOLS, ())))


def _enforces_policies(daemons: Iterable[Mapping[str, Any]]) -> bool:
    return any(
        each["metadata"]["name"] in _ENFORCERS or _ENFORCES in (container.get("args") or ())
        for each in daemons
        for container in containers(each)
    )


def _class_problems(settings: Settings, name: str, node_class: Mapping[str, Any]) -> Iterator[Problem]:
    """What stands against nodes of a class. https://karpenter.sh/docs/concepts/nodeclasses/#statusconditions"""
    title, spec, status = f"EC2NodeClass '{name}'", node_class.get("spec") or {}, node_class.get("status") or {}
    if node_class["metadata"].get("deletionTimestamp"):
        yield Problem(_CLASS, f"{title} is being deleted", "Write another one")
        return
    for condition in status.get("conditions") or ():
        if condition.get("type") == "Ready" and condition.get("status") == "False":
            text = f"{title} is not ready: {condition.get('message') or condition.get('reason')}"
            yield Problem(_CLASS, text, "Ask its owner, or write another one")
    zones = {str(each["zone"]) for each in status.get("subnets") or ()}
    for pool in settings.gpu_pools:
        without = [zone for zone in pool.nodes.zones if zone not in zones]
        if zones and without:
            left = [zone for zone in pool.nodes.zones if zone in zones] or sorted(zones)
            text = f"{title} has no subnet in {', '.join(without)}"
            yield Problem(f"{pool.declared_at}.zones", text, f"Write zones: [{', '.join(left)}]")
        yield from _image_problems(pool, title, spec)


def _image_problems(pool: Pool, title: str, spec: Mapping[str, Any]) -> Iterator[Problem]:
    terms = spec.get("amiSelectorTerms") or ()
    alias = next((str(term["alias"]).partition("@")[0] for term in terms if term.get("alias")), "")
    family = alias or _FAMILIES.get(str(spec.get("amiFamily")), "")
    known = CATALOG.nodes.images
    if family and family != pool.nodes.image:
        text = f"{title} starts nodes with the image {family}, and the pool has {pool.nodes.image}"
        remedy = f"Write image: {family}, or another class" if family in known else "Write a class with al2023"
        yield Problem(f"{pool.declared_at}.image", text, remedy)
    elif not alias and pool.nodes.image_version is None and "amiSelectorTerms" not in pool.raw:
        text = f"{title} selects images of its owner's, and nobody can tell whether they have a driver for GPUs"
        remedy = f"Write image: {pool.nodes.image}@<version> for Amazon's, or raw: {{amiSelectorTerms: [{{id: …}}]}}"
        yield Problem(f"{pool.declared_at}.image", text, remedy)


def _notes(
    settings: Settings, name: str, controller: Mapping[str, Any] | None, others: Sequence[Mapping[str, Any]]
) -> Iterator[str]:
    running = containers(controller) if controller is not None else ()
    variables = {each.get("name"): each for container in running for each in container.get("env") or ()}
    spot = [pool.name for pool in settings.gpu_pools if pool.scaling.spot]
    if spot and controller is not None and "INTERRUPTION_QUEUE" not in variables:
        # https://karpenter.sh/docs/concepts/disruption/#interruption
        yield (
            f"Karpenter of '{name}' has no interruption queue, so pods on {', '.join(spot)} get no notice when AWS "
            "takes a spot machine back"
        )
    taking = [each for each in others if any(_takes(each, pool) for pool in settings.gpu_pools)]
    if taking:
        listed = ", ".join(f"{each['metadata']['name']} (weight {each['spec'].get('weight') or 0})" for each in taking)
        yield (
            f"NodePools of others start the same machines for GPU pods that select no pool: {listed}. Karpenter tries "
            "the largest weight first, and theirs have their own limits and idle times"
        )


def _takes(node_pool: Mapping[str, Any], pool: Pool) -> bool:
    """Whether a NodePool of others may start a machine of the pool for a pod that only sets a GPU limit."""
    template = node_pool["spec"]["template"]
    taints = (template.get("spec") or {}).get("taints") or ()
    if any(taint.get("key") != pool.gpus.resource and taint.get("effect") != "PreferNoSchedule" for taint in taints):
        return False
    requirements = (template.get("spec") or {}).get("requirements") or ()
    return any(
        all(_meets(each, _machine_labels(pool, machine_type)) for each in requirements)
        for machine_type in pool.nodes.machine_types
    )


def _meets(requirement: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Whether a machine may meet a requirement; labels that are not of its type may have any value."""
    key, operator, values = str(requirement["key"]), requirement.get("operator"), [*(requirement.get("values") or ())]
    if key not in labels:
        return not (key.startswith(f"{_AWS_API}/instance-accelerator") and operator in ("In", "Exists", "Gt"))
    value = labels[key]
    if operator in ("Gt", "Lt"):
        amount, bound = int(value), int(values[0])
        return amount > bound if operator == "Gt" else amount < bound
    return {"In": value in values, "NotIn": value not in values, "DoesNotExist": False}.get(str(operator), True)


def _machine_labels(pool: Pool, machine_type: str) -> dict[str, str]:
    """Labels that Karpenter sets on a machine's node: https://karpenter.sh/docs/reference/instance-types/"""
    family, _, size = machine_type.partition(".")
    kind = re.match(r"([a-z]+)(\d+)", family)
    ends = {"family": family, "size": size}
    if kind is not None:
        ends |= {"category": kind[1], "generation": kind[2]}
    if pool.gpus.of_nvidia:
        ends |= {"gpu-count": str(pool.gpus.per_node), "gpu-manufacturer": "nvidia"}
        name = catalog.GPUS[pool.gpus.type].skypilot.lower()
        # Names with a hyphen are not Amazon's.
        ends |= {"gpu-name": name} if "-" not in name else {}
    return {
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": pool.arch,
        "node.kubernetes.io/instance-type": machine_type,
        **{f"{_AWS_API}/instance-{end}": value for end, value in ends.items()},
    }


def _node_labels(pool: Pool) -> dict[str, str | None]:
    """Labels that all nodes of a pool have by themselves."""
    first, *rest = (_machine_labels(pool, machine_type) for machine_type in pool.nodes.machine_types)
    common = {key: value for key, value in first.items() if all(each.get(key) == value for each in rest)}
    own = {_NODE_POOL_LABEL: pool.name, "karpenter.sh/capacity-type": karpenter_objects.capacity(pool)}
    return {**common, **own, **without_operator(pool)}


def without_operator(pool: Pool) -> dict[str, str]:
    """The label by which NVIDIA's GPU Operator of somebody else leaves nodes alone."""
    return {ALL_OPERANDS: "false"} if pool.gpus.of_nvidia and pool.gpus.drivers != "none" else {}


class JoinedEks(node_pools.JoinedNodePools):
    """Pools on the cluster, whose owner runs Karpenter."""

    def class_manifest(self, pool: Pool) -> Mapping[str, Any]:
        """An EC2NodeClass."""
        return karpenter_objects.class_of(pool, self.found.apply(partial(self._class_spec, pool)))

    def pool_manifest(self, pool: Pool, weight: int) -> Mapping[str, Any]:
        """A NodePool whose nodes the GPU Operator of others leaves alone."""
        return karpenter_objects.node_pool(
            replace(pool, nodes=replace(pool.nodes, labels={**without_operator(pool), **pool.nodes.labels})),
            weight=weight,
            unneeded_minutes=pool.scaling.unneeded_minutes or self.settings.idle_minutes,
            maintenance=self.settings.maintenance,
        )

    def _class_spec(self, pool: Pool, known: ClusterLookup) -> Any:
        if not known.node_class:  # the update looks at it, or the cluster refuses the pools
            return pulumi.Output.from_input(pulumi.output.UNKNOWN) if pulumi.runtime.is_dry_run() else {}
        return karpenter_objects.joined_class_spec(
            pool, known.node_class, tags=self.settings.labels, disk_key=self.settings.security.disk_key
        )


def other_plugin(pool: Pool, plugin: str) -> Problem | None:
    """A node has one device plugin: that of the image or of the program, or that of others."""
    if pool.nodes.image == "bottlerocket" and not has_software_of_others(pool):
        text = f"{plugin} would offer the GPUs of {pool.name}, as Bottlerocket's own device plugin does"
        return Problem(f"{pool.declared_at}.taints", text, "Write taints that it does not tolerate")
    return second_plugin(pool, plugin)


JOINING: Final = Joining(
    look=look,
    look_inside=look_inside,
    look_again=look_again,
    cluster=JoinedEks,
    pool_token=NODE_POOL,
    own_daemon=CATALOG.nodes.runs,
    lists=(_CLASSES, _POOLS, NODES),
    node_labels=_node_labels,
    # https://karpenter.sh/docs/concepts/scheduling/#well-known-labels
    label_domains=("karpenter.k8s.aws", "karpenter.sh", "topology.k8s.aws"),
    other_plugin=other_plugin,
    needs_plugin=has_software_of_others,
)
