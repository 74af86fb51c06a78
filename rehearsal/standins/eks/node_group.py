"""Managed node groups: EKS's resource, the Auto Scaling group behind it, and its machines."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from typing_extensions import override

from concepts.unknown import UNKNOWN
from rehearsal.standins.base import Created, Diff, Properties, ProviderError
from rehearsal.standins.eks import scaling_group
from rehearsal.standins.eks.account import Account
from rehearsal.standins.eks.addons import installed
from rehearsal.standins.eks.cluster import require_cluster
from rehearsal.standins.eks.errors import ApiError
from rehearsal.standins.eks.groups import DELETING, NODE_GROUP, asg_name, declared_group, zones_in
from rehearsal.standins.eks.iam import attached_policies, require_role
from rehearsal.standins.eks.instance_types import offered_in
from rehearsal.standins.eks.kind import Kind
from rehearsal.standins.eks.network import subnets
from rehearsal.standins.eks.nodes import types_of
from rehearsal.standins.eks.pool_rules import POOL_RULES
from rehearsal.standins.eks.shape import Shape
from rehearsal.standins.eks.translate import To
from rehearsal.standins.store import Record
from rehearsal.standins.values import at

_WORKER_POLICIES: Final = ("AmazonEKSWorkerNodePolicy", "AmazonEKSWorkerNodeMinimalPolicy")
_LOOK_SECONDS: Final = 0.5
# What a template of a managed node group must not have:
# https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html
_NOT_IN_TEMPLATE: Final = ("IamInstanceProfile", "HibernationOptions", "InstanceInitiatedShutdownBehavior")


class NodeGroupKind(Kind):
    """``aws:eks/nodeGroup:NodeGroup``."""

    token = NODE_GROUP
    shape = Shape(
        service="eks",
        operation="CreateNodegroup",
        table={
            "CreateNodegroupRequest": {
                "nodeGroupName": To("nodegroupName"),
                "nodeRoleArn": To("nodeRole"),
                "subnetIds": To("subnets"),
            },
            "RemoteAccessConfig": {"sourceSecurityGroupIds": To("sourceSecurityGroups")},
        },
        local=("forceUpdateVersion", "nodeGroupNamePrefix"),
        required=("clusterName", "nodeRoleArn", "scalingConfig", "subnetIds"),
        replaces=(
            "amiType",
            "capacityType",
            "clusterName",
            "diskSize",
            "instanceTypes",
            "launchTemplate.id",
            "launchTemplate.name",
            "nodeGroupName",
            "nodeRoleArn",
            "remoteAccess",
            "subnetIds",
        ),
        unordered=("subnetIds", "taints"),
        tags="map",
        tagged="nodegroup",
        name="nodeGroupName",
        name_limit=63,
    )
    rules = POOL_RULES.rules
    computed = ("arn", "resources", "status")

    @override
    def preview(self, account: Account, inputs: Properties) -> Properties:
        state = super().preview(account, inputs)
        late = ("amiType", "capacityType", "diskSize", "instanceTypes", "releaseVersion", "version")
        return {**dict.fromkeys(late, UNKNOWN), **state}

    @override
    def diff(self, old: Properties, new: Properties, ignored: tuple[str, ...]) -> Diff:
        found = super().diff(old, new, ignored)
        # Adding a template or taking it away is another group; only its version changes in place.
        had, has = (each.get("launchTemplate") not in (None, {}) for each in (old, new))
        if had != has:
            changed = tuple(path for path in found.changes if path.startswith("launchTemplate"))
            return replace(found, replaces=(*found.replaces, *(path for path in changed if path not in found.replaces)))
        return found

    @override
    def make(self, account: Account, inputs: Properties, params: dict[str, Any]) -> str:
        cluster = require_cluster(account, inputs["clusterName"])
        self._check_role(account, inputs)
        self._check_subnets(account, inputs, cluster)
        self._check_template(account, inputs)
        self._check_version(inputs, cluster)
        if inputs.get("version") is None:
            params["version"] = cluster.outputs["version"]
        # moto knows no update strategy, repair or warm pool; the request as a whole was checked before.
        for key in ("nodeRepairConfig", "warmPoolConfig"):
            params.pop(key, None)
        params["updateConfig"] = {"maxUnavailable": 1, **params.get("updateConfig", {})}
        params["updateConfig"].pop("updateStrategy", None)
        if "maxUnavailablePercentage" in params["updateConfig"]:
            params["updateConfig"].pop("maxUnavailable")
        account.call("eks", "CreateNodegroup", **params)
        scaling_group.make(account, inputs)
        return f"{inputs['clusterName']}:{inputs['nodeGroupName']}"

    @override
    def look(self, account: Account, id: str, inputs: Properties) -> Properties | None:
        names = {"clusterName": inputs["clusterName"], "nodegroupName": inputs["nodeGroupName"]}
        found = account.call("eks", "DescribeNodegroup", **names)["nodegroup"]
        group = found["resources"]["autoScalingGroups"][0]["name"]
        return {
            "amiType": found["amiType"] if inputs.get("amiType") else "AL2023_x86_64_STANDARD",
            "arn": found["nodegroupArn"],
            "capacityType": found["capacityType"],
            "instanceTypes": list(types_of(inputs)),
            "releaseVersion": inputs.get("releaseVersion") or f"{found['version']}.0-20261101",
            "resources": [{"autoscalingGroups": [{"name": group}], "remoteAccessSecurityGroupId": ""}],
            "status": found["status"],
            "version": found["version"],
        }

    @override
    def live(self, account: Account, record: Record) -> Properties:
        desired = scaling_group.describe(account, asg_name(record))["DesiredCapacity"]
        return {**record.inputs, "scalingConfig": {**record.inputs["scalingConfig"], "desiredSize": desired}}

    @override
    def change(self, account: Account, id: str, old: Properties, new: Properties) -> None:
        cluster = require_cluster(account, new["clusterName"])
        self._check_version(new, cluster)
        self._check_template(account, new)
        names = {"clusterName": new["clusterName"], "nodegroupName": new["nodeGroupName"]}
        labels, taints = _label_changes(old, new), _taint_changes(old, new)
        sizes = {key: int(value) for key, value in new["scalingConfig"].items()}
        resized = new["scalingConfig"] != old["scalingConfig"]
        account.call(
            "eks",
            "UpdateNodegroupConfig",
            **names,
            labels=labels or None,
            taints=taints or None,
            scalingConfig=sizes if resized else None,
        )
        group = scaling_group.name_of(account, new["clusterName"], new["nodeGroupName"])
        if resized:
            scaling_group.resize(account, group, sizes)
        scaling_group.set_versions(account, new)

    @override
    def retag(self, account: Account, record: Record, tags: Mapping[str, str]) -> None:
        # moto answers this request for clusters only.
        scaling_group.live(account, record.inputs["clusterName"], record.inputs["nodeGroupName"]).tags = dict(tags)

    @override
    def remove(self, account: Account, id: str, inputs: Properties) -> None:
        names = {"clusterName": inputs["clusterName"], "nodegroupName": inputs["nodeGroupName"]}
        scaling_group.remove(account, scaling_group.name_of(account, *names.values()))
        account.call("eks", "DeleteNodegroup", **names)

    @override
    def started(self, account: Account, record: Record, *, new: bool) -> Record:
        if not new:
            # Who is in charge of the size decides what becomes of a change: the governor, right after this.
            return record
        group = declared_group(account, record, scaling_group.describe(account, asg_name(record)))
        try:
            if group.desired:
                _wait_for_network(account, group.cluster)
            account.machines().apply_group(group.base)
        except Exception as error:
            # EKS made the group before its nodes failed; the provider keeps it in its state too.
            made = Created(record.id, record.state)
            message = f"waiting for EKS Node Group ({record.id}) create: {error}"
            raise ProviderError(message, partial=made) from error
        return record

    @override
    def stop(self, account: Account, record: Record) -> None:
        # From here on the governor leaves the group alone, or it would bring back what is on its way out.
        account.store.put(replace(record, outputs={**record.outputs, "status": DELETING}))
        try:
            account.machines().delete_group(record.inputs["clusterName"], record.inputs["nodeGroupName"])
        except Exception as error:
            raise ProviderError(f"waiting for EKS Node Group ({record.id}) delete: {error}") from error

    def _check_role(self, account: Account, inputs: Properties) -> None:
        role = require_role(account, inputs["nodeRoleArn"], "ec2.amazonaws.com")
        attached = {arn.rpartition("/")[2] for arn in attached_policies(account, role)}
        if not attached & {*_WORKER_POLICIES}:
            # EKS itself notices only when the nodes cannot join, after many minutes.
            reason = f"Instances failed to join the kubernetes cluster: role {role} has no {_WORKER_POLICIES[0]}"
            raise self.refuse("NodeCreationFailure", reason)

    def _check_subnets(self, account: Account, inputs: Properties, cluster: Record) -> None:
        found = subnets(account, inputs["subnetIds"])
        for subnet in found:
            if subnet["VpcId"] != at(cluster.outputs, "vpcConfig.vpcId"):
                reason = f"The subnet {subnet['SubnetId']} is not in the VPC of cluster {cluster.id}"
                raise self.refuse("InvalidParameterException", reason)
        zones = zones_in(found)
        for name in types_of(inputs):
            if not any(offered_in(account, name, zone) for zone in zones):
                reason = f"Your requested instance type ({name}) is not supported in {', '.join(zones)}"
                raise self.refuse("InvalidParameterException", reason)

    def _check_template(self, account: Account, inputs: Properties) -> None:
        wanted = inputs.get("launchTemplate")
        if not wanted:
            return
        data = scaling_group.template(account, wanted)["LaunchTemplateData"]
        for key in _NOT_IN_TEMPLATE:
            if data.get(key):
                reason = f"Launch template of a managed node group must not specify {key}"
                raise self.refuse("InvalidParameterException", reason)
        if data.get("InstanceType") and inputs.get("instanceTypes"):
            reason = "Instance types are in the launch template and in the request: give them in one place"
            raise self.refuse("InvalidParameterException", reason)
        market = at(data, "InstanceMarketOptions.MarketType")
        if market and not (market == "capacity-block" and inputs.get("capacityType") == "CAPACITY_BLOCK"):
            reason = "Launch template must not have instance market options: set capacityType"
            raise self.refuse("InvalidParameterException", reason)
        if data.get("ImageId") and inputs.get("amiType") not in (None, "CUSTOM"):
            reason = "AMI type must not be given with a launch template that has an image"
            raise self.refuse("InvalidParameterException", reason)

    def _check_version(self, inputs: Properties, cluster: Record) -> None:
        version, offered = inputs.get("version"), cluster.outputs["version"]
        if version and _minor(version) > _minor(offered):
            reason = f"Nodes of version {version} are newer than the control plane's {offered}"
            raise self.refuse("InvalidParameterException", reason)


def _wait_for_network(account: Account, cluster: str) -> None:
    """Nodes become ready only with a network plugin: https://docs.aws.amazon.com/eks/latest/userguide/troubleshooting.html."""
    deadline = time.monotonic() + account.patience
    while not installed(account, cluster, "vpc-cni"):
        if time.monotonic() >= deadline or account.cancelled.wait(_LOOK_SECONDS):
            raise ApiError(
                "eks",
                "CreateNodegroup",
                "NodeCreationFailure",
                "Unhealthy nodes in the kubernetes cluster: container runtime network not ready: cni plugin not "
                "initialized; the cluster has no vpc-cni add-on, on which the node group has to depend",
            )


def _label_changes(old: Properties, new: Properties) -> dict[str, Any]:
    before, after = old.get("labels") or {}, new.get("labels") or {}
    fresh = {key: value for key, value in after.items() if before.get(key) != value}
    gone = sorted(set(before) - set(after))
    return {
        **({"addOrUpdateLabels": fresh} if fresh else {}),
        **({"removeLabels": gone} if gone else {}),
    }


def _taint_changes(old: Properties, new: Properties) -> dict[str, Any]:
    before, after = old.get("taints") or [], new.get("taints") or []
    fresh = [taint for taint in after if taint not in before]
    kept = {(taint["key"], taint["effect"]) for taint in after}
    gone = [taint for taint in before if (taint["key"], taint["effect"]) not in kept]
    return {
        **({"addOrUpdateTaints": fresh} if fresh else {}),
        **({"removeTaints": gone} if gone else {}),
    }


def _minor(version: str) -> int:
    return int(version.split(".")[1])
