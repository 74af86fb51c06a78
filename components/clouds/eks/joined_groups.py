"""GPU pools on an EKS cluster that somebody else made, with a cluster-autoscaler of theirs: managed node groups that it
discovers by their tags.

Where and as whom nodes start is as in the managed node groups that are there. The autoscaler is never changed: what its
flags would do to running pods, tags of the pools' own groups say otherwise.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import pulumi

from components.clouds.base import AdminObjects, ClusterLookup, JoinedCluster, Joining, Lists, NodePools
from components.clouds.data_lookup import first_block
from components.clouds.deployed import Deployed
from components.clouds.eks import joined, pools
from components.clouds.eks.joined import NAME, PUBLIC, SUBNET, ask, ask_for
from components.clouds.eks.node_template import LAUNCH_TEMPLATE, template_name
from components.clouds.eks.pools import running_nodes
from components.clouds.eks.running_groups import ENDED, RunningGroup, running_group
from components.settings import Problem, Settings
from facts.catalog.eks import node_tags
from facts.concepts.autoscaler import flags_of, tags_of
from facts.concepts.pool import POOL_LABEL, Pool

if TYPE_CHECKING:
    from schemas import eks

_GROUPS: Final = "aws:eks/getNodeGroups:getNodeGroups"
_GROUP: Final = "aws:eks/getNodeGroup:getNodeGroup"
# Its answer is about the template's latest version:
# https://github.com/hashicorp/terraform-provider-aws/blob/main/internal/service/ec2/ec2_launch_template_data_source.go
_TEMPLATE: Final = "aws:ec2/getLaunchTemplate:getLaunchTemplate"
# Words of the provider for a template that is not there:
# https://github.com/hashicorp/terraform-provider-aws/blob/main/internal/tfresource/not_found_error.go
_NO_TEMPLATE: Final = "no matching EC2 Launch Template found"
_IDENTITY: Final = "existingCluster.nodeIdentity"
_SUBNETS: Final = "existingCluster.subnets"
_SECURITY_GROUPS: Final = "existingCluster.securityGroups"
_RIGHTS: Final = (
    "eks:ListNodegroups, eks:DescribeNodegroup, ec2:DescribeSubnets, ec2:DescribeLaunchTemplates and "
    "ec2:DescribeLaunchTemplateVersions"
)
# What Go's programs take for false: https://pkg.go.dev/strconv#ParseBool
_OFF: Final = ("0", "f", "false")
_RELEASE: Final = re.compile(r":v?1\.(\d+)\.")
_LIMITS: Final = ("cores-total", "memory-total", "gpu-total")
_BLIND: Final = ("random", "most-pods", "least-nodes")
"""Expanders that do not look at what a node leaves unused."""


async def look(settings: Settings, own: Collection[str], parent: pulumi.Resource) -> ClusterLookup:
    """What Amazon says of ``existingCluster`` and its managed node groups."""
    view = await joined.look(settings, own, parent)
    if not view.kubeconfig:
        return view
    try:
        names = (await ask(_GROUPS, {"clusterName": view.name}, parent)).get("names") or ()
        asked = (ask(_GROUP, {"clusterName": view.name, "nodeGroupName": name}, parent) for name in names)
        groups = {str(answer["nodeGroupName"]): answer for answer in await asyncio.gather(*asked)}
        theirs = [group for name, group in groups.items() if name not in own]
        written = settings.existing_cluster
        ids = written.subnets if written and written.subnets else _union(each["subnetIds"] for each in theirs)
        found = await asyncio.gather(*(ask(SUBNET, {"id": id}, parent) for id in ids))
        subnets = dict(zip(ids, found, strict=True))
        security_groups = list(written.security_groups) if written else []
        sets = [security_groups] if security_groups else await _security_groups(view, theirs, parent)
        taken = await _taken_templates(settings, view, parent)
    except Exception as error:  # the SDK raises no type of its own
        text = f"the node groups of '{view.name}' cannot be looked up: {error}"
        return replace(view, kubeconfig="", problems=(Problem(NAME, text, ask_for(_RIGHTS)),))
    roles = [*dict.fromkeys(str(group["nodeRoleArn"]) for group in theirs)]
    role = (written.node_identity if written else None) or next(iter(roles), "")
    public = {bool(answer.get("mapPublicIpOnLaunch")) for answer in subnets.values()}
    by_zone: dict[str, list[str]] = {}
    for id, answer in subnets.items():
        by_zone.setdefault(str(answer["availabilityZone"]), []).append(id)
    return replace(
        view,
        node_identity=role,
        nodes={
            "groups": groups,
            "subnets": by_zone,
            "securityGroups": sets[0] if sets else [],
            "public": public.pop() if len(public) == 1 else None,
        },
        pools=tuple(groups),
        leftovers={
            name: f"aws eks delete-nodegroup --cluster-name {view.name} --nodegroup-name {name} "
            f"--region {settings.region}"
            for name, group in groups.items()
            if (group.get("labels") or {}).get(POOL_LABEL) == name
        },
        unknown={**view.unknown, **({PUBLIC: joined.SEVERAL} if len(public) > 1 else {})},
        problems=(*_problems(settings, view, roles, sets, subnets, by_zone), *taken),
    )


def _union(listed: Iterable[Iterable[str]]) -> list[str]:
    return [*dict.fromkeys(each for some in listed for each in some)]


async def _security_groups(
    view: ClusterLookup, groups: Iterable[Mapping[str, Any]], parent: pulumi.Resource
) -> list[list[str]]:
    """The sets of security groups that nodes of these groups have, each once.

    Those that a launch template names, and only without any the cluster's own:
    https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html#launch-template-security-groups
    """
    templates = {str(first_block(group, "launchTemplates").get("id") or "") for group in groups}
    named = sorted(each for each in templates if each)
    answers = await asyncio.gather(*(ask(_TEMPLATE, {"id": id}, parent) for id in named))
    found = {id: _named_by(answer) for id, answer in zip(named, answers, strict=True)}
    own = [view.network["clusterSecurityGroupId"]] if "clusterSecurityGroupId" in view.network else []
    return [[*each] for each in sorted({tuple(found.get(template) or own) for template in templates})]


async def _taken_templates(settings: Settings, view: ClusterLookup, parent: pulumi.Resource) -> list[Problem]:
    """A problem for each pool whose launch template has a name that one of others has."""
    own = set(Deployed().ends(LAUNCH_TEMPLATE, "", "name").values())
    names = {template_name(view.name, pool): pool for pool in settings.gpu_pools}
    new = [name for name in names if name not in own]
    there = await asyncio.gather(*(_has_template(name, parent) for name in new))
    return [
        Problem(
            f"{names[name].declared_at}.name",
            f"there is a launch template '{name}' already, which this stack did not make",
            "Choose another name, or if nobody uses it: aws ec2 delete-launch-template "
            f"--launch-template-name {name} --region {settings.region}",
        )
        for name, taken in zip(new, there, strict=True)
        if taken
    ]


async def _has_template(name: str, parent: pulumi.Resource) -> bool:
    try:
        await ask(_TEMPLATE, {"name": name}, parent)
    except Exception as error:  # the SDK raises no type of its own
        if _NO_TEMPLATE in str(error):
            return False
        raise
    return True


def _named_by(template: Mapping[str, Any]) -> list[str]:
    interfaces = [each.get("securityGroups") or () for each in template.get("networkInterfaces") or ()]
    return sorted({*(template.get("vpcSecurityGroupIds") or ()), *(each for some in interfaces for each in some)})


def _problems(
    settings: Settings,
    view: ClusterLookup,
    roles: Sequence[str],
    sets: Sequence[Sequence[str]],
    subnets: Mapping[str, Mapping[str, Any]],
    by_zone: Mapping[str, Sequence[str]],
) -> Iterator[Problem]:
    written = settings.existing_cluster
    identity = written.node_identity if written else None
    if not roles:
        text = f"'{view.name}' has no managed node group whose role, subnets and security groups new nodes could have"
        yield Problem(NAME, text, "Ask its owner for one, of one small machine without GPUs")
        return
    # With the last managed group of a role EKS takes the role's access away, also from nodes of other groups:
    # https://docs.aws.amazon.com/eks/latest/userguide/delete-managed-node-group.html
    if identity is not None and identity not in roles:
        text = f"no managed node group of '{view.name}' has the role {identity}, and EKS would take the role's access "
        text += "to the cluster away with the pools"
        yield Problem(_IDENTITY, text, f"Write one of {', '.join(roles)}, or leave it out")
    if identity is None and len(roles) > 1:
        text = f"the node groups of '{view.name}' have several roles: {', '.join(roles)}"
        yield Problem(_IDENTITY, text, "Write the one that the GPU nodes should have")
    if len(sets) > 1:
        text = f"the node groups of '{view.name}' have different security groups: "
        text += ", or ".join(" and ".join(each) for each in sets)
        yield Problem(_SECURITY_GROUPS, text, f"Write those that the GPU nodes should have: [{', '.join(sets[0])}]")
    for id, answer in subnets.items():
        if (vpc := answer.get("vpcId")) and vpc != view.network.get("vpcId", vpc):
            text = f"{id} is in {vpc}, and '{view.name}' in {view.network['vpcId']}"
            yield Problem(_SUBNETS, text, "Write subnets of the cluster's network")
    for pool in settings.gpu_pools:
        if without := [zone for zone in pool.nodes.zones if zone not in by_zone]:
            text = f"the node groups of '{view.name}' have no subnet in {', '.join(without)}"
            remedy = f"Write zones: [{', '.join(sorted(by_zone))}], or in existingCluster subnets with one there"
            yield Problem(f"{pool.declared_at}.zones", text, remedy)


def look_inside(
    settings: Settings,
    own: Collection[str],
    view: ClusterLookup,
    lists: Lists,
    find: Callable[[str], Mapping[str, Any] | None],
) -> ClusterLookup:
    """What the cluster says of its cluster-autoscaler."""
    deployments, asked = lists.get(joined.DEPLOYMENTS), joined.with_inside(view, own, lists, "cluster-autoscaler")
    if deployments is None:
        unknown = {**asked.unknown, "autoscaler": "the user may not list deployments"}
        properties = {key: value for key, value in asked.properties.items() if key != "autoscaler"}
        return replace(asked, properties=properties, unknown=unknown)
    scalers = [each for each in deployments if joined.is_cluster_autoscaler(each)]
    if not scalers:
        karpenter = find("/apis/karpenter.k8s.aws") is not None
        text = f"'{view.name}' has no cluster-autoscaler{', and has Karpenter' if karpenter else ''}"
        remedy = "Write autoscaling: {autoscaler: karpenter}, and nodeClass" if karpenter else joined.TWO_WAYS
        return replace(asked, problems=(*asked.problems, Problem(NAME, text, remedy)), kubeconfig="")
    problems = [[*_against(settings, view, each)] for each in scalers]
    working = next((each for each, against in zip(scalers, problems, strict=True) if not against), None)
    if working is None:
        return replace(asked, problems=(*asked.problems, *problems[0]))
    return replace(asked, notes=(*asked.notes, *_notes(settings, view, working, lists.get(joined.NODES))))


def _flags(deployment: Mapping[str, Any]) -> dict[str, list[str]]:
    """Of its first container that has any of a node autoscaler."""
    every = (
        flags_of([*(each.get("command") or ()), *(each.get("args") or ())]) for each in joined.containers(deployment)
    )
    return next((flags for flags in every if flags), {})


def _against(settings: Settings, view: ClusterLookup, deployment: Mapping[str, Any]) -> Iterator[Problem]:
    """Why this cluster-autoscaler would not scale the pools' groups.

    https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/cloudprovider/aws/README.md
    """
    metadata, flags = deployment["metadata"], _flags(deployment)
    title = f"Deployment {metadata.get('namespace') or ''}/{metadata['name']} of '{view.name}'"
    wanted = f"--node-group-auto-discovery=asg:tag={node_tags.ENABLED},{node_tags.owned(view.name)}"
    specs = [spec.partition("tag=") for spec in flags.get("node-group-auto-discovery", [])]
    sets = [tags_of(listed) for kind, _, listed in specs if kind == "asg:"]
    if flags.get("cloud-provider", [""])[-1] != "aws" or not sets:
        knows = "knows its groups by name (--nodes)" if flags.get("nodes") else "discovers no Auto Scaling groups"
        yield Problem(NAME, f"{title} {knows}, so nobody would scale the pools", f"Ask its owner for {wanted}")
        return
    # What EKS gives the Auto Scaling group of each managed node group, and this stack.
    tags = {
        **settings.labels,
        node_tags.ENABLED: "true",
        node_tags.owned(view.name): "owned",
        f"kubernetes.io/cluster/{view.name}": "owned",
        "eks:cluster-name": view.name,
    }
    lacking = min(({key: value for key, value in each.items() if not _has(tags, key, value)} for each in sets), key=len)
    if lacking:
        listed = ", ".join(f"{key}={value}" if value else key for key, value in lacking.items())
        written = ", ".join(f"{key}: {value or 'true'}" for key, value in lacking.items())
        text = f"{title} discovers groups by the tag {listed}, which neither EKS nor this stack gives them"
        yield Problem("tags", text, f"Write tags: {{{written}}}")
    if flags.get("scale-down-enabled", ["true"])[-1].lower() in _OFF:
        text = f"{title} removes no nodes (--scale-down-enabled=false), so a GPU node would stay, and cost, for ever"
        yield Problem(NAME, text, "Ask its owner to remove that flag")


def _has(tags: Mapping[str, str], key: str, value: str) -> bool:
    return key in tags and value in ("", tags[key])


def _notes(
    settings: Settings, view: ClusterLookup, deployment: Mapping[str, Any], nodes: Sequence[Mapping[str, Any]] | None
) -> Iterator[str]:
    flags = _flags(deployment)
    title = f"cluster-autoscaler of '{view.name}'"
    expanders = flags.get("expander", [""])[-1].split(",")
    if "priority" in expanders:
        yield (
            f"{title} orders groups by its ConfigMap cluster-autoscaler-priority-expander: unless that names the "
            "pools, a pod that fits groups of others too gets those first"
        )
    sizes = {pool.gpus.type: pool.gpus.per_node for pool in settings.gpu_pools}
    if expanders[0] in _BLIND and any(pool.gpus.per_node != sizes[pool.gpus.type] for pool in settings.gpu_pools):
        text = f"{title} has --expander={expanders[0]}: a pod that selects no pool may start one of the larger nodes"
        yield f"{text}. Pods of gpuJobs and of gpu select theirs"
    most = int(total) if (total := flags.get("max-nodes-total", ["0"])[-1]).isdigit() else 0
    wanted = len(nodes or ()) + sum(pool.scaling.max_nodes for pool in settings.gpu_pools)
    if 0 < most < wanted:
        yield f"{title} makes {most} nodes in all (--max-nodes-total), so the pools may not get all of maxNodes"
    if limits := [f"--{name}={flags[name][-1]}" for name in _LIMITS if name in flags]:
        yield f"{title} limits all nodes together ({', '.join(limits)}), so the pools may not get all of maxNodes"
    release = next((match for image in joined.images(deployment) if (match := _RELEASE.search(image))), None)
    minor = re.match(r"1\.(\d+)", view.version)
    if release is not None and minor is not None and abs(int(release[1]) - int(minor[1])) > 1:
        # https://github.com/kubernetes/autoscaler/tree/master/cluster-autoscaler#releases
        yield f"{title} is of release 1.{release[1]}, and the control plane of 1.{minor[1]}: it is made for its own"


@dataclass(frozen=True, kw_only=True)
class _Context:
    """The ``NodesContext`` of such a cluster: a refusal of ``view`` builds no group."""

    settings: Settings
    deployed: Deployed
    found: pulumi.Output[ClusterLookup]
    view: pulumi.Output[ClusterLookup]
    parent: pulumi.Resource
    groups: dict[str, pulumi.Output[RunningGroup]] = field(default_factory=dict)

    @property
    def name(self) -> pulumi.Output[str]:
        return self.view.apply(lambda known: known.name)

    @property
    def version(self) -> pulumi.Output[str]:
        return self.view.apply(lambda known: known.version)

    @property
    def node_role_arn(self) -> pulumi.Output[str]:
        return self.view.apply(lambda known: known.node_identity)

    @property
    def security_group(self) -> pulumi.Output[Any]:
        return self.view.apply(lambda known: known.network["clusterSecurityGroupId"])

    @property
    def interfaces(self) -> pulumi.Output[Sequence[eks.LaunchTemplateNetworkInterface]]:
        return self.view.apply(lambda known: _interfaces(known.nodes))

    def subnets(self, zones: Sequence[str]) -> pulumi.Output[Sequence[pulumi.Input[str]]]:
        return self.view.apply(lambda known: [id for zone in zones for id in known.nodes["subnets"].get(zone, ())])

    def named(self, name: Callable[[str], str]) -> pulumi.Output[str]:
        return self.view.apply(lambda known: name(known.name))

    def running(self, group: str, after: Sequence[pulumi.Resource]) -> pulumi.Output[RunningGroup]:
        def read(known: ClusterLookup) -> pulumi.Input[RunningGroup]:
            answer = known.nodes.get("groups", {}).get(group)
            return ENDED if answer is None else running_group(answer, self.parent)

        # Of what was found: ``view`` waits for the objects in the cluster, and a device plugin for this.
        if group not in self.groups:
            self.groups[group] = self.found.apply(read)
        return self.groups[group]


def _interfaces(nodes: Mapping[str, Any]) -> list[eks.LaunchTemplateNetworkInterface]:
    """The network interface of each node; whether it is public as its subnets say, for the gate."""
    interface: eks.LaunchTemplateNetworkInterface = {
        "deviceIndex": 0,
        "deleteOnTermination": "true",
        "securityGroups": [*nodes["securityGroups"]],
    }
    if nodes["public"] is not None:
        interface["associatePublicIpAddress"] = str(nodes["public"]).lower()
    return [interface]


class JoinedGroups(JoinedCluster, NodePools):
    """Pools on the cluster, each a managed node group with the tags by which the autoscaler knows it."""

    def __init__(
        self,
        settings: Settings,
        found: pulumi.Output[ClusterLookup],
        view: pulumi.Output[ClusterLookup],
        deployed: Deployed,
    ) -> None:
        self._made = partial(_Context, settings=settings, deployed=deployed, found=found, view=view)
        self._context: _Context | None = None

    def autoscaler(self, pools: Sequence[Pool], objects: AdminObjects) -> NodePools:
        """Its owner runs it."""
        self._context = self._made(parent=objects.parent)
        self.running_nodes = running_nodes(self._context)
        return self

    def node_pool(self, name: str, pool: Pool, opts: pulumi.ResourceOptions) -> pulumi.CustomResource:
        """A managed node group with a launch template of its own."""
        assert self._context is not None
        labels = {**joined.without_operator(pool), **pool.nodes.labels}
        pool = replace(pool, nodes=replace(pool.nodes, labels=labels))
        return pools.node_pool(self._context, name, pool, (), opts)


def _node_labels(pool: Pool) -> dict[str, str | None]:
    """https://docs.aws.amazon.com/eks/latest/userguide/managed-node-groups.html"""
    machine = (
        {"node.kubernetes.io/instance-type": pool.nodes.machine_type} if len(pool.nodes.machine_types) == 1 else {}
    )
    return {
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": pool.arch,
        joined.GROUP_LABEL: pool.name,
        "eks.amazonaws.com/capacityType": pools.capacity_type(pool),
        "eks.amazonaws.com/compute-type": None,
        **machine,
        **joined.without_operator(pool),
    }


def _name(state: Mapping[str, Any]) -> str:
    return str(state.get("nodeGroupName"))


JOINING: Final = Joining(
    look=look,
    look_inside=look_inside,
    cluster=JoinedGroups,
    has_pool=lambda view, pool, state: (state.get("clusterName"), _name(state)) == (view.name, pool.name),
    pool_token=pools.NODE_GROUP,
    pool_name=_name,
    own_daemon=joined.JOINING.own_daemon,
    lists=(joined.NODES,),
    node_labels=_node_labels,
    label_domains=("eks.amazonaws.com", "topology.k8s.aws"),
    other_plugin=joined.other_plugin,
    needs_plugin=joined.JOINING.needs_plugin,
)
