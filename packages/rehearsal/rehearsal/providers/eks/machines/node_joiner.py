"""Watches the account's instances and updates the fleet when they join, stop or terminate: whether a booting instance
would reach the cluster's API server and be admitted."""

from __future__ import annotations

import ipaddress
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from typing_extensions import override

from rehearsal.cluster.threads import PollingThread
from rehearsal.providers.base import at
from rehearsal.providers.cloud import Record
from rehearsal.providers.eks.cloud import Account, AwsError
from rehearsal.providers.eks.cluster import ACCESS_ENTRY
from rehearsal.providers.eks.iam import WORKER_POLICIES, is_workers
from rehearsal.providers.eks.machines.instance import Instance, image_name, instances, published, user_data
from rehearsal.providers.eks.machines.node import Bootstrap, NodeProblem, UserDataError, bootstrap, node
from rehearsal.providers.eks.network import CLUSTER, subnet
from rehearsal.simulation import Fleet, Node

_ENTRY_TYPES: Final = ("EC2_LINUX", "EC2")
_API_SERVER_PORT: Final = 443
_EVERYWHERE: Final = "0.0.0.0/0"


def refusal(account: Account, cluster: Record, instance: Instance) -> str:
    """Why the instance cannot join the cluster in its user data, ``""`` if it can."""
    return _identity(account, cluster, instance) or way(account, cluster, instance)


def _identity(account: Account, cluster: Record, instance: Instance) -> str:
    """https://docs.aws.amazon.com/eks/latest/userguide/create-node-role.html and …/access-entries.html."""
    if not instance.profile:
        return "it has no instance profile, so it cannot authenticate to the cluster"
    name = instance.profile.rpartition("/")[2]
    try:
        roles = account.call("iam", "GetInstanceProfile", InstanceProfileName=name)["InstanceProfile"]["Roles"]
    except AwsError as error:
        return f"its instance profile {name}: {error}"
    if not roles:
        return f"its instance profile {name} has no role"
    role = str(roles[0]["Arn"])
    if not is_workers(account, str(roles[0]["RoleName"])):
        return f"its role {role} has no policy {WORKER_POLICIES[0]}"
    entry = account.store.get(ACCESS_ENTRY, f"{cluster.id}:{role}")
    if entry is not None:
        kind = str(entry.inputs.get("type") or "STANDARD")
        return "" if kind in _ENTRY_TYPES else f"its role {role} has an access entry of type {kind}, not EC2_LINUX"
    return f"its role {role} has no access entry in the cluster {cluster.id}; add one of type EC2_LINUX"


def way(account: Account, cluster: Record, instance: Instance) -> str:
    """Why an instance does not reach the cluster's API server, ``""`` if it does.

    https://docs.aws.amazon.com/eks/latest/userguide/cluster-endpoint.html
    """
    network = account.call("eks", "DescribeCluster", name=cluster.id)["cluster"]["resourcesVpcConfig"]
    place = subnet(account, instance.subnet)
    if network.get("endpointPrivateAccess") and place["VpcId"] == network.get("vpcId"):
        return _let_in(account, network, instance, str(place["CidrBlock"]))
    if network.get("endpointPublicAccess", True):
        return _way_out(account, instance, str(place["VpcId"]), network.get("publicAccessCidrs") or [_EVERYWHERE])
    return f"the cluster's endpoint is private, and its subnet {instance.subnet} is not in the cluster's VPC"


def _let_in(account: Account, network: Mapping[str, Any], instance: Instance, block: str) -> str:
    """Whether a security group of the control plane admits the instance."""
    groups = [network.get("clusterSecurityGroupId"), *(network.get("securityGroupIds") or ())]
    answer = account.call("ec2", "DescribeSecurityGroups", GroupIds=[group for group in groups if group])
    for group in answer["SecurityGroups"]:
        if any(_admits(rule, instance, block) for rule in group["IpPermissions"]):
            return ""
    own = ", ".join(instance.security_groups) or "none"
    return (
        f"no security group of the control plane ({', '.join(filter(None, groups))}) admits the instance's ({own}) "
        f"on port {_API_SERVER_PORT}"
    )


def _admits(rule: Mapping[str, Any], instance: Instance, block: str) -> bool:
    everything = rule.get("IpProtocol") == "-1"
    if not everything and not rule.get("FromPort", 0) <= _API_SERVER_PORT <= rule.get("ToPort", 65535):
        return False
    if any(pair.get("GroupId") in instance.security_groups for pair in rule.get("UserIdGroupPairs") or ()):
        return True
    nested = ipaddress.IPv4Network(block)
    return any(
        nested.subnet_of(ipaddress.IPv4Network(each["CidrIp"]))
        for each in rule.get("IpRanges") or ()
        if "CidrIp" in each
    )


def _way_out(account: Account, instance: Instance, vpc: str, allowed: list[str]) -> str:
    """Whether the subnet's default route leads to the public endpoint, from an address that it allows."""
    tables = account.call("ec2", "DescribeRouteTables", Filters=[{"Name": "vpc-id", "Values": [vpc]}])["RouteTables"]
    if route := default_route(tables, instance.subnet):
        if route.get("NatGatewayId"):
            return _from_allowed(_nat_address(account, str(route["NatGatewayId"])), allowed)
        if str(route.get("GatewayId") or "").startswith("igw-"):
            if not instance.public_ip:
                return f"its subnet {instance.subnet} routes to an internet gateway, but it has no public address"
            return _from_allowed(instance.public_ip, allowed)
        return ""
    return (
        f"its subnet {instance.subnet} has no route to the cluster's endpoint: no NAT gateway and no private endpoint"
    )


def default_route(tables: Sequence[Mapping[str, Any]], subnet_id: str) -> Mapping[str, Any]:
    """The default route in the subnet's own table of its VPC's ``tables``, or in the main one; empty without one."""
    own = [each for each in tables if any(one.get("SubnetId") == subnet_id for one in each["Associations"])]
    main = [each for each in tables if any(one.get("Main") for one in each["Associations"])]
    routes = (own or main)[0]["Routes"] if own or main else []
    return next((each for each in routes if each.get("DestinationCidrBlock") == _EVERYWHERE), {})


def _nat_address(account: Account, id: str) -> str:
    gateways = account.call("ec2", "DescribeNatGateways", NatGatewayIds=[id])["NatGateways"]
    addresses = gateways[0].get("NatGatewayAddresses") or [] if gateways else []
    return str(addresses[0].get("PublicIp") or "") if addresses else ""


def _from_allowed(address: str, allowed: list[str]) -> str:
    if not address or any(ipaddress.ip_address(address) in ipaddress.ip_network(block) for block in allowed):
        return ""
    return f"the cluster's public endpoint does not admit {address}: its publicAccessCidrs are {', '.join(allowed)}"


_PERIOD_SECONDS: Final = 0.3
_BOOT_SECONDS: Final = 1.0
"""From an instance's start until its kubelet registers; in AWS that is about half a minute."""

_RUNS: Final = ("pending", "running")
_STANDS: Final = ("stopping", "stopped")
_PATCH: Final = "0"
"""The kubelet's patch version: the image's name has only the minor one."""

_log = logging.getLogger("rehearsal.aws.machines")


@dataclass
class _Known:
    """A known instance. ``name`` is its node's name, ``cluster`` the one in its user data (``""``: none)."""

    since: float
    name: str
    cluster: str = ""
    joined: bool = False
    stopped: bool = False
    because: str = ""


class NodeJoiner(PollingThread):
    """One thread per account. It evaluates instances when EC2, IAM or EKS changed, and while an instance boots."""

    def __init__(self, account: Account) -> None:
        super().__init__("machines", _PERIOD_SECONDS)
        self._account = account
        self._fleet: Fleet = account.machines()
        self._known: dict[str, _Known] = {}
        self._looked_at = ""
        self._again = 0.0

    @override
    def failed(self, error: Exception) -> None:
        # The next look decides; a request may have been in the middle of a change.
        self._looked_at = ""
        _log.info("the instances: %r", error)

    @override
    def look(self) -> None:
        """Look once, unless nothing can have changed since."""
        now = time.monotonic()
        state = "/".join(str(self._account.writes(service)) for service in ("ec2", "iam", "eks"))
        if state == self._looked_at and now < self._again:
            return
        boots = any(not each.joined for each in self._known.values())
        self._again = now + (_PERIOD_SECONDS if boots else 5.0)
        running = {each.id: each for each in instances(self._account)}
        for instance in running.values():
            self._follow(instance, now)
        for id in [id for id in self._known if id not in running]:
            self._deleted(id)
        self._looked_at = state

    def _follow(self, instance: Instance, now: float) -> None:
        if instance.state in _RUNS:
            known = self._known.setdefault(instance.id, _Known(now, instance.private_name))
            if not known.joined and now - known.since >= _BOOT_SECONDS:
                self._boot(instance, known)
            return
        known = self._known.get(instance.id)
        if known is None:
            return
        if instance.state in _STANDS:
            if known.joined and not known.stopped:
                known.stopped = True
                self._fleet.stop_node(known.cluster, known.name)
            return
        self._deleted(instance.id)

    def _boot(self, instance: Instance, known: _Known) -> None:
        try:
            node = self._node(instance)
        except (UserDataError, NodeProblem) as problem:
            self._report(instance, known, str(problem))
            return
        self._fleet.apply_node(node)
        known.cluster, known.joined, known.because = node.cluster, True, ""
        _log.info("instance %s has joined %s as %s", instance.id, node.cluster, node.name)

    def _node(self, instance: Instance) -> Node:
        account = self._account
        image = published().get(instance.image)
        if image is None:
            name = image_name(account, instance.image)
            called = "does not exist" if name is None else f"is called {name!r}"
            raise NodeProblem(f"its image {instance.image} {called} and is not an EKS node image")
        boot = bootstrap(image.family, user_data(account, instance.id))
        cluster = account.store.get(CLUSTER, boot.cluster)
        if cluster is None:
            raise NodeProblem(f"its user data names the cluster {boot.cluster}, which does not exist")
        _check_address(cluster, boot)
        refused = refusal(account, cluster, instance)
        if refused:
            raise NodeProblem(refused)
        return node(account, instance, image, boot, f"{image.minor}.{_PATCH}")

    def _report(self, instance: Instance, known: _Known, because: str) -> None:
        if because == known.because:
            return
        known.because = because
        _log.warning("instance %s does not become a node: %s", instance.id, because)
        message = f"instance {instance.id} ({instance.type}, {instance.zone}) does not become a node: {because}"
        for cluster in self._account.store.all(CLUSTER):
            self._fleet.report_machine(cluster.id, instance.private_name, message)

    def _deleted(self, id: str) -> None:
        known = self._known.pop(id)
        if known.joined:
            self._fleet.remove_node(known.cluster, known.name)
            _log.info("instance %s has ended", id)


def _check_address(cluster: Record, boot: Bootstrap) -> None:
    endpoint = str(cluster.outputs.get("endpoint") or "")
    if boot.endpoint != endpoint:
        raise NodeProblem(f"its user data says the cluster's endpoint is {boot.endpoint}; it is {endpoint}")
    if boot.ca.strip() != at(cluster.outputs, "certificateAuthority.data"):
        raise NodeProblem(f"its user data has another certificate authority than the cluster {cluster.id}")
