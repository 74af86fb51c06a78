"""What Azure cannot change of a running cluster is refused; what replaces the cluster, or is not declared, is not."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, cast

import pulumi
import pytest

from components.clouds.aks.fixed import refuse_other_fixed
from components.clouds.aks.running_pools import RunningPools
from components.clouds.deployed import Deployed
from tests.components.clouds.aks.test_cluster import SUBSCRIPTION, settings

GROUP = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/{settings().cluster_name}"
SUBNET = f"{GROUP}/providers/Microsoft.Network/virtualNetworks/{settings().cluster_name}/subnets/nodes"
IDENTITY = f"{GROUP}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/{settings().cluster_name}"
OUTBOUND = "userAssignedNATGateway"


class State:
    """The state of a stack: by type the outputs of its one resource."""

    def __init__(self, outputs: Mapping[str, Mapping[str, Any]]) -> None:
        self._outputs = outputs

    def outputs(self, token: str, name: str) -> Mapping[str, Any]:
        return self._outputs.get(token, {})

    def names(self, token: str) -> frozenset[str]:
        return frozenset(each["name"] for each in [self._outputs.get(token)] if each)


def running(admin: Mapping[str, Any] = {}, **changes: Any) -> Mapping[str, Any]:
    """A cluster as Azure answers, which has what the settings say."""
    nodes = settings().admin_pool.nodes
    own = {
        "name": "admin",
        "vmSize": str(nodes.machine_type).upper(),
        "osDiskSizeGB": float(nodes.disk_gb),
        "vnetSubnetID": SUBNET.upper(),
        "availabilityZones": [zone[-1] for zone in reversed(nodes.zones)],
        **admin,
    }
    network = settings().network
    return {
        "location": settings().region,
        "networkProfile": {
            "podCidr": network.pod_cidr,
            "serviceCidr": network.service_cidr,
            "dnsServiceIP": network.service_cidr.replace(".0/", ".10/").partition("/")[0],
            "networkDataplane": "azure",
            "outboundType": OUTBOUND,
        },
        "agentPoolProfiles": [{"name": "other"}, own],
        **changes,
    }


AGENT_POOL = {"azure-native:containerservice:AgentPool": {"name": "t4"}}
NODE_POOL = {"kubernetes:karpenter.sh/v1:NodePool": {"name": "t4"}}


def refusal(
    cluster: Mapping[str, Any],
    *,
    runs: str = "",
    long_term: bool = False,
    pool: Mapping[str, Mapping[str, Any]] = {},
    **keys: Any,
) -> str:
    """Why it is refused, or an empty text. Azure says what it ``runs`` and whether it has ``long_term`` support."""
    state = State({"azure-native:containerservice:ManagedCluster": cluster, **pool})
    pools = SimpleNamespace(version=runs, long_term=long_term)
    try:
        refuse_other_fixed("cluster", settings(**keys), OUTBOUND, cast("Deployed", state), cast("RunningPools", pools))
    except pulumi.RunError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    "cluster",
    [
        {},
        running(),
        running(agentPoolProfiles=None),
        running(apiServerAccessProfile={"enablePrivateCluster": False}),
        running(
            identity={"userAssignedIdentities": {f"{IDENTITY}-control-plane".upper(): {}}},
            identityProfile={"kubeletidentity": {"resourceId": f"{IDENTITY}-nodes".lower()}},
        ),
        # These replace the cluster.
        running({"vmSize": "Standard_D8s_v5"}, location="westus2"),
        running({"vmSize": "Standard_D8s_v5"}, networkProfile={**running()["networkProfile"], "outboundType": "none"}),
    ],
)
def test_what_is_the_same_and_what_replaces_the_cluster_is_no_problem(cluster: Mapping[str, Any]) -> None:
    assert refusal(cluster) == ""


@pytest.mark.parametrize(
    ("cluster", "words"),
    [
        (running({"vmSize": "Standard_D8s_v5"}), "adminPool.machineType: the running cluster has Standard_D8s_v5"),
        (running({"osDiskSizeGB": 90}), "Write diskGb: 90"),
        (
            running({"availabilityZones": ["9"]}),
            "Write zones: [eastus-9], and other ones as zones of a GPU or CPU pool",
        ),
        (running({"availabilityZones": None}), "Write zones: [eastus-0]"),
        (running({"vnetSubnetID": "/network/subnets/a"}), "Write existing: {network: /network, subnets: [a]}"),
        (running(apiServerAccessProfile={"enablePrivateCluster": True}), "Write privateEndpoint: true"),
        (running(identity={"userAssignedIdentities": {"/theirs/cluster": {}}}), "Write controlPlaneIdentity: /theirs"),
        (running(identityProfile={"kubeletidentity": {"resourceId": "/theirs"}}), "Write nodeIdentity: /theirs;"),
    ],
)
def test_another_value_is_refused_with_the_one_to_write(cluster: Mapping[str, Any], words: str) -> None:
    assert words in refusal(cluster)


AUTO = running(nodeProvisioningProfile={"mode": "Auto", "defaultNodePools": "None"})
NAP = {"autoscaler": "node-auto-provisioning"}


@pytest.mark.parametrize(
    ("cluster", "pool", "keys", "words"),
    [
        (
            running(),
            AGENT_POOL,
            NAP,
            "has the cluster autoscaler, beside which Azure turns on no node-auto-provisioning",
        ),
        (running({"enableAutoScaling": True}), {}, NAP, "Leave it out; for another one create a new cluster"),
        (AUTO, NODE_POOL, {}, "Write autoscaler: node-auto-provisioning; for another one create a new cluster"),
        (running(), {}, NAP, ""),
        (AUTO, {}, {}, ""),
        (AUTO, NODE_POOL, NAP, ""),
        (running(), AGENT_POOL, {}, ""),
    ],
)
def test_another_autoscaler_is_refused_while_there_are_pools_of_the_former_one(
    cluster: Mapping[str, Any], pool: Mapping[str, Any], keys: dict[str, Any], words: str
) -> None:
    answer = refusal(cluster, pool=pool, **keys)
    assert words in answer if words else answer == ""


@pytest.mark.parametrize(
    ("runs", "keys", "words"),
    [
        ("1.34.4", {"version": "1.36"}, "upgrades by one minor version at a time. Write '1.35', and '1.36' in a later"),
        ("1.34.4", {"version": "1.36.1"}, "Write '1.35', and '1.36.1' in a later update."),
        ("1.34.4", {"version": "1.35"}, ""),
        ("1.34.4", {"version": "1.34"}, ""),
        ("1.34.4", {"version": "1.34.5"}, ""),
        ("1.34.4", {"version": "1.34.3"}, "runs 1.34.4, and Azure does not go back. Write '1.34.4', or '1.34' for"),
        ("1.35.1", {"version": "1.34"}, "Write '1.35.1'"),
        ("1.34.4", {}, ""),
        # Out of the community's support since August, and with long-term support:
        ("1.33.2", {"version": "1.35"}, ""),
        ("1.34.4", {"version": "1.36", "channel": "extended"}, ""),
    ],
)
def test_a_version_that_azure_does_not_make_of_the_running_one_is_refused(
    runs: str, keys: dict[str, Any], words: str
) -> None:
    answer = refusal(running(), runs=runs, **keys)
    assert words in answer if words else answer == ""


@pytest.mark.parametrize(
    ("runs", "keys", "refused"),
    [
        ("1.33.2", {}, True),
        ("1.33.2", {"version": "1.33"}, True),
        ("1.33.2", {"version": "1.34"}, False),
        ("1.33.2", {"channel": "extended"}, False),
        ("1.34.4", {}, False),
    ],
)
def test_long_term_support_ends_with_a_version_that_has_another(runs: str, keys: dict[str, Any], refused: bool) -> None:
    assert ("kubernetes.channel: cluster" in refusal(running(), runs=runs, long_term=True, **keys)) is refused
    assert refusal(running(), runs=runs, **keys) == ""
