"""``GpuPools`` on an AKS cluster of others: what it adds, and what it looks at before."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any, Final
from unittest import mock

import pulumi
import pytest

from components.clouds.aks.joined import JOINING
from components.cluster_reader import ClusterReader
from components.gpu_pools import GpuPools, GpuPoolsArgs
from tests import aks_answers
from tests.aks_answers import RESEARCH, SUBNET, SYSTEM
from tests.api_server import ApiServer
from tests.joined import Joined, api_server
from tests.recorder import Recording
from tests.stacks import ROOT, run_with

TYPE: Final = "gpucluster:index:GpuPools"
POOL: Final = "azure-native:containerservice:AgentPool"
NODE_POOL: Final = "kubernetes:karpenter.sh/v1:NodePool"
CLASS: Final = "kubernetes:karpenter.azure.com/v1beta1:AKSNodeClass"
GET_CLUSTER: Final = "azure-native:containerservice:getManagedCluster"
CREDENTIALS: Final = "azure-native:containerservice:listManagedClusterUserCredentials"
KEYS: Final[dict[str, Any]] = {
    "azure-native:subscriptionId": "00000000-0000-0000-0000-000000000001",
    "gpucluster:cloud": "aks",
    "gpucluster:region": "eastus",
    "gpucluster:zones": ["eastus-1"],
    "gpucluster:existingCluster": {"name": "research", "resourceGroup": "platform"},
    "gpucluster:gpuPools": [{"name": "t4", "gpu": "nvidia-t4", "capacity": "spot", "maxNodes": 2}],
}
AUTO: Final = {"nodeProvisioningProfile": {"mode": "Auto", "defaultNodePools": "Auto"}}
PROVISIONED: Final = {**KEYS, "gpucluster:autoscaling": {"autoscaler": "node-auto-provisioning"}}


JOINED: Final = Joined(KEYS)
pools, update, refusal, warnings = JOINED.pools, JOINED.update, JOINED.refusal, JOINED.warnings


@pytest.fixture
def server() -> Iterator[ApiServer]:
    with api_server() as api:
        yield api


def on(*others: dict[str, Any], **fields: Any) -> Any:
    """The cluster with these fields, and with ``others`` beside its system pool."""
    cluster = {**copy.deepcopy(RESEARCH), "agentPoolProfiles": [SYSTEM, *others], **fields}
    return mock.patch.object(aks_answers, "CLUSTERS", {"research": cluster, "another": cluster})


def test_it_adds_agent_pools_and_what_belongs_to_them_and_nothing_of_the_cluster(server: ApiServer) -> None:
    program = update()
    assert {each.type for each in program.resources if each.type.startswith("azure-native:")} == {POOL}
    assert program.reads == {}
    assert all(each.name == "pools" or each.name.startswith("pools-") for each in program.resources)
    assert [each.name for each in program.resources if each.deleted_with or each.protect or each.retain_on_delete] == []
    assert "kubernetes:core/v1:ConfigMap" in {each.type for each in program.resources}
    daemons = [each.inputs["metadata"]["name"] for each in program.of_type("kubernetes:apps/v1:DaemonSet")]
    assert daemons == ["nvidia-device-plugin-whole"]


def test_a_pool_has_its_place_of_what_was_looked_up_and_the_rest_of_its_spec(server: ApiServer) -> None:
    pool = update().only(POOL).inputs
    assert (pool["resourceGroupName"], pool["resourceName"]) == ("platform", "research")
    assert (pool["mode"], pool["enableAutoScaling"], pool["minCount"], pool["maxCount"]) == ("User", True, 0, 2)
    assert (pool["count"], pool["vnetSubnetID"], pool["enableNodePublicIP"]) == (0, SUBNET, False)
    assert pool["nodeTaints"][0].startswith("nvidia.com/gpu=")
    assert pool["nodeLabels"]["nvidia.com/gpu.deploy.operands"] == "false"
    assert pool["gpuProfile"] == {"driver": "Install"}
    assert "orchestratorVersion" not in pool


USERS: Final = {**SYSTEM, "name": "users", "mode": "User", "vnetSubnetID": f"{SUBNET}-2", "maxPods": 30}


@pytest.mark.parametrize(
    ("theirs", "expected"),
    [
        ((), {"vnetSubnetID": SUBNET, "maxPods": 110, "enableEncryptionAtHost": False}),
        ((USERS,), {"vnetSubnetID": f"{SUBNET}-2", "maxPods": 30}),
        (({**USERS, "osType": "Windows"},), {"vnetSubnetID": SUBNET}),
        (({**USERS, "mode": "Gateway"},), {"vnetSubnetID": SUBNET}),
        (({**USERS, "osType": "Windows"}, {**USERS, "vnetSubnetID": f"{SUBNET}-3"}), {"vnetSubnetID": f"{SUBNET}-3"}),
        (({**USERS, "enableEncryptionAtHost": True},), {"enableEncryptionAtHost": True}),
        (({**USERS, "podSubnetID": f"{SUBNET}-pods"},), {"podSubnetID": f"{SUBNET}-pods"}),
    ],
)
def test_nodes_are_where_and_as_those_of_the_pools_that_are_there(
    server: ApiServer, theirs: tuple[dict[str, Any], ...], expected: dict[str, Any]
) -> None:
    with on(*theirs):
        assert expected.items() <= update().only(POOL).inputs.items()


def test_on_a_network_of_azures_no_pool_names_a_subnet(server: ApiServer) -> None:
    system = {key: value for key, value in SYSTEM.items() if key != "vnetSubnetID"}
    with on(agentPoolProfiles=[system]):
        assert {"vnetSubnetID", "podSubnetID"}.isdisjoint(update().only(POOL).inputs)


def test_what_the_owner_changes_makes_no_node_of_a_running_pool_again(server: ApiServer) -> None:
    taken = {"enableEncryptionAtHost", "maxPods", "podIPAllocationMode", "podSubnetID", "vnetSubnetID"}
    assert {*update().only(POOL).ignore_changes} == taken
    own = update(pools(raw={"vnetSubnetID": f"{SUBNET}-3", "enableEncryptionAtHost": True})).only(POOL)
    assert (own.inputs["vnetSubnetID"], own.inputs["enableEncryptionAtHost"]) == (f"{SUBNET}-3", True)
    assert {*own.ignore_changes} == taken - {"vnetSubnetID", "enableEncryptionAtHost"}


def test_pools_in_several_subnets_are_reported_with_the_one_that_is_taken(server: ApiServer) -> None:
    with on(USERS, {**USERS, "name": "more", "vnetSubnetID": f"{SUBNET}-3"}):
        assert f"in several subnets; the new ones are in {SUBNET}-2" in warnings()


FLAT: Final = {"networkProfile": {"networkPlugin": "azure", "networkPluginMode": None}}
OVERLAY: Final = {"networkProfile": {"networkPlugin": "azure", "networkPluginMode": "overlay"}}


def ports(each: int) -> dict[str, Any]:
    """A cluster whose load balancer has one address, and so many of its ports for each node."""
    balancer = {"allocatedOutboundPorts": each, "effectiveOutboundIPs": [{"id": "/ip"}]}
    return {"networkProfile": {"outboundType": "loadBalancer", "loadBalancerProfile": balancer}}


@pytest.mark.parametrize(
    ("cluster", "theirs", "raw", "says"),
    [
        (FLAT, (), {}, "of which the new pools take up to 222"),
        (FLAT, (), {"maxPods": 30}, "of which the new pools take up to 62"),
        (FLAT, (), {"vnetSubnetID": f"{SUBNET}-3"}, ""),
        (FLAT, ({**USERS, "podSubnetID": f"{SUBNET}-pods"},), {}, ""),
        (OVERLAY, (), {}, ""),
        (OVERLAY, ({**USERS, "maxPods": 10},), {}, "take at most 10 pods, as those of another pool"),
        (OVERLAY, ({**USERS, "maxPods": 10},), {"maxPods": 30}, ""),
        # 16 nodes: the system pool's own, these two, and the rest.
        (ports(4000), ({**USERS, "maxCount": 12},), {}, "so it can have 16 nodes"),
        (ports(4000), ({**USERS, "maxCount": 11},), {}, ""),
        (ports(0), ({**USERS, "maxCount": 90},), {}, ""),
    ],
)
def test_what_new_nodes_take_from_the_others_is_said(
    server: ApiServer, cluster: dict[str, Any], theirs: tuple[dict[str, Any], ...], raw: dict[str, Any], says: str
) -> None:
    with on(*theirs, **cluster):
        said = warnings(pools(raw=raw) if raw else KEYS)
    assert says in said
    for words in ("take up to", "take at most", "outbound ports") if not says else ():
        assert words not in said


def test_pools_are_made_one_after_another(server: ApiServer) -> None:
    first, second = update(pools({"name": "v", "gpu": "nvidia-t4", "maxNodes": 1})).of_type(POOL)
    assert first.urn in second.depends_on


def test_a_running_pool_keeps_its_size(server: ApiServer) -> None:
    first = update()
    short = first.only(POOL).inputs["agentPoolName"]
    machines = {key: first.only(POOL).inputs[key] for key in ("vmSize", "osDiskSizeGB")}
    own = {**USERS, **machines, "name": short, "count": 2, "nodeLabels": {"gpucluster.dev/pool": "t4-1"}}
    with on(own):
        again = update(deployed=first)
        # Not the stack's own pool decides what it has.
        assert (again.only(POOL).inputs["count"], again.only(POOL).inputs["vnetSubnetID"]) == (2, SUBNET)
        assert f"az aks nodepool delete --resource-group platform --cluster-name research --name {short}" in refusal()
        names = [each["name"] for each in again.only(TYPE).inputs["cluster"]["agentPoolProfiles"]]
        assert names == ["nodepool1"]
    with on({**own, "nodeLabels": {}}):
        assert "has a pool 't4-1' already, which this stack did not make" in refusal()
    with mock.patch.object(pulumi, "warn") as warn:
        update(deployed=first)
    assert "the pool t4-1 of this stack is gone" in str(warn.call_args_list)


def test_a_pool_of_another_cluster_is_not_the_stacks_own(server: ApiServer) -> None:
    """The provider does not say of a pool where it is."""
    first = update()
    own = {**USERS, "name": first.only(POOL).inputs["agentPoolName"]}
    with on(own):
        assert "which this stack did not make" in refusal(
            {**KEYS, "gpucluster:existingCluster": {"name": "another", "resourceGroup": "platform"}}, deployed=first
        )


@pytest.mark.parametrize(
    ("cluster", "says"),
    [
        ({"provisioningState": "Deleting"}, "'research' is being deleted"),
        ({"provisioningState": "Creating"}, "'research' is being made"),
        ({"powerState": {"code": "Stopped"}}, "'research' is stopped"),
        ({"currentKubernetesVersion": "1.29.9"}, "'research' has Kubernetes 1.29.9"),
        ({"location": "West Europe"}, "Write region: westeurope"),
        ({"networkProfile": {"loadBalancerSku": "Basic"}}, "availability sets or a Basic load balancer"),
        ({"agentPoolProfiles": [{**SYSTEM, "type": "AvailabilitySet"}]}, "availability sets or a Basic load balancer"),
        (AUTO, "Write autoscaling: {autoscaler: node-auto-provisioning}"),
        (AUTO, "ask its owner for the feature AllowClusterAutoscalerAndNAP and a pool with the cluster autoscaler"),
    ],
)
def test_a_cluster_that_cannot_have_pools_is_refused(server: ApiServer, cluster: dict[str, Any], says: str) -> None:
    with on(**cluster):
        assert says in refusal()


def test_agent_pools_beside_node_auto_provisioning_need_one_that_azure_has_taken(server: ApiServer) -> None:
    """Its feature cannot be read in a cluster; a pool of others with the cluster autoscaler shows it."""
    with on({**USERS, "enableAutoScaling": True}, **AUTO):
        assert update().only(POOL).inputs["enableAutoScaling"] is True
        assert "both autoscalers of 'research' may start a node for it" in warnings()
    with on({**USERS, "enableAutoScaling": True}):
        assert "both autoscalers" not in warnings()


@pytest.mark.parametrize(("encrypted", "expected"), [(True, True), (False, False)])
def test_an_automatic_cluster_is_refused_with_the_objects_to_apply(
    server: ApiServer, encrypted: bool, expected: bool
) -> None:
    system = {**SYSTEM, "enableEncryptionAtHost": encrypted}
    with on(sku={"name": "Automatic"}, agentPoolProfiles=[system], **AUTO):
        text = refusal(pools(raw={"enableFIPS": True}))
    assert "device plugin (https://learn.microsoft.com/azure/aks/use-nvidia-gpu)" in text
    node_class, node_pool = (json.loads(each) for each in text.partition("instead\n")[2].rstrip(".").split("\n---\n"))
    assert (node_class["kind"], node_pool["kind"]) == ("AKSNodeClass", "NodePool")
    assert "vnetSubnetID" not in node_class["spec"]
    assert "enableFIPS" not in node_class["spec"]
    assert node_class["spec"]["security"]["encryptionAtHost"] is expected
    assert server.asked == []


@pytest.mark.parametrize(
    ("existing", "says"),
    [
        (
            {"name": "missing", "resourceGroup": "platform"},
            "there is no cluster 'missing' in resource group 'platform' of subscription "
            "00000000-0000-0000-0000-000000000001. Correct the name",
        ),
        ({"name": "missing", "resourceGroup": "MC_a_b_c"}, "Write the cluster's group, not that of its nodes"),
    ],
)
def test_a_cluster_that_is_not_there_is_refused(server: ApiServer, existing: dict[str, str], says: str) -> None:
    assert says in refusal({**KEYS, "gpucluster:existingCluster": existing})


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (GET_CLUSTER, "Ask its owner for Microsoft.ContainerService/managedClusters/read"),
        (CREDENTIALS, "Ask its owner for Microsoft.ContainerService/managedClusters/listClusterUserCredential/action"),
    ],
)
def test_without_rights_the_missing_one_is_named(server: ApiServer, call: str, says: str) -> None:
    def denied(_: Mapping[str, Any]) -> dict[str, Any]:
        raise LookupError('Status=403 Code="AuthorizationFailed" Message="The client does not have authorization"')

    with mock.patch.dict(aks_answers.CALLS, {call: denied}):
        assert says in refusal()


def test_all_problems_come_at_once(server: ApiServer) -> None:
    server.objects["/api/v1/namespaces/kube-system/configmaps/gpucluster-pools"] = {"metadata": {"uid": "theirs"}}
    reservation = "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/r/providers/Microsoft.Compute"
    keys = pools(capacity="reserved", reservation=f"{reservation}/capacityReservationGroups/g")
    text = refusal(keys)
    assert "an identity of Azure's, which may use no capacity reservation" in text
    assert "somebody else has pools on this cluster already" in text
    with on(**AUTO, location="westus2"):
        text = refusal(keys)
    assert "Write region: westus2" in text
    assert "node-auto-provisioning" in text


PROFILE: Final = {"scaleDownUnneededTime": "10m", "maxNodeProvisionTime": "15m", "expander": "priority"}


@pytest.mark.parametrize(
    ("cluster", "keys", "says"),
    [
        ({}, KEYS, ""),
        ({"autoScalerProfile": {"scaleDownUnneededTime": "1h"}}, KEYS, "idle nodes stay for 1h, and for 10m after"),
        ({"autoScalerProfile": {"scaleDownDelayAfterAdd": "30m"}}, KEYS, "and for 30m after any node was added"),
        ({"autoScalerProfile": {"scaleDownDelayAfterDelete": "1h"}}, KEYS, "for 1h after any node was removed"),
        ({"autoScalerProfile": {"newPodScaleUpDelay": "10m"}}, KEYS, "starts no node for a pod in its first 10m"),
        ({"autoScalerProfile": {"newPodScaleUpDelay": "0s"}}, KEYS, ""),
        ({"autoScalerProfile": {"maxNodeProvisionTime": "5m"}}, KEYS, "gives a node up after 5m"),
        ({}, pools(gpusPerNode=[1, 4]), "the expander random: for a pod that selects no pool it may start any"),
        ({"autoScalerProfile": PROFILE}, pools(gpusPerNode=[1, 4]), ""),
        ({"provisioningState": "Upgrading"}, KEYS, "'research' is Upgrading: until it is done"),
        ({"oidcIssuerProfile": {"enabled": False}}, KEYS, "'research' has no workload identity"),
        ({"aiToolchainOperatorProfile": {"enabled": True}}, KEYS, "the AI toolchain operator of 'research'"),
        ({"autoUpgradeProfile": {"upgradeChannel": "stable"}}, KEYS, "versions (stable) and node images (NodeImage)"),
    ],
)
def test_what_strands_or_ends_jobs_there_is_reported(
    server: ApiServer, cluster: dict[str, Any], keys: dict[str, Any], says: str
) -> None:
    with on(**cluster):
        text = warnings(keys)
    assert says in text
    assert bool(text) == bool(says)


def user_of(program: Recording) -> Any:
    kubeconfig = json.loads(program.only("pulumi:providers:kubernetes").inputs["kubeconfig"])
    return kubeconfig["users"][0]["user"], kubeconfig["clusters"][0]["cluster"]["server"]


def test_the_kubeconfig_logs_in_by_the_azure_cli(server: ApiServer) -> None:
    user, address = user_of(update())
    assert user["exec"]["command"] == "kubelogin"
    assert "azurecli" in user["exec"]["args"]
    assert address == "https://203.0.113.9:443"


def test_a_cluster_without_entra_id_is_reached_with_the_certificate_that_it_gives(server: ApiServer) -> None:
    certificate = {"client-certificate-data": "Q0VSVA==", "client-key-data": "S0VZ"}
    given = {**aks_answers.KUBECONFIG, "users": [{"name": "u", "user": {**certificate, "token": "0a"}}]}
    with mock.patch.dict(aks_answers.CALLS, {CREDENTIALS: aks_answers.credentials(given)}):
        program = update()
    assert user_of(program)[0] == certificate
    provider = program.only("pulumi:providers:kubernetes")
    assert "kubeconfig" in provider.secret_inputs
    page = (ROOT / "docs/pools-on-your-aks-cluster.md").read_text()
    config = json.loads(page.partition("```json\n")[2].partition("```")[0])
    exempt, *others = config["no-static-keys"]["exemptions"]
    assert fnmatchcase(f"{provider.type}::{provider.name}", exempt["resource"])
    assert not others


def test_a_private_cluster_is_tried_by_its_private_name_then_by_the_public_one(server: ApiServer) -> None:
    server.silent_at = ("203.0.113.9",)
    access = {"enablePrivateCluster": True, "enablePrivateClusterPublicFQDN": True}
    with on(apiServerAccessProfile=access):
        assert user_of(update())[1] == "https://research-0a.hcp.eastus.azmk8s.io:443"


def test_a_client_certificate_logs_in_without_a_token() -> None:
    kubeconfig = {
        "clusters": [{"cluster": {"server": "https://203.0.113.9"}}],
        "users": [{"user": {"client-certificate-data": "Q0VSVA==", "client-key-data": "S0VZ"}}],
    }
    with (
        mock.patch("ssl.SSLContext.load_cert_chain") as load,
        mock.patch("urllib.request.OpenerDirector.open", side_effect=OSError("stop here")) as opened,
        pytest.raises(Exception, match="stop here"),
    ):
        ClusterReader(json.dumps(kubeconfig)).version()
    assert load.called
    assert "Authorization" not in opened.call_args.args[0].headers


OPERATOR: Final = "/apis/nvidia.com/v1/clusterpolicies/cluster-policy"


@pytest.mark.parametrize(
    ("drivers", "policy", "says"),
    [
        ("managed", {}, None),
        ("none", {}, None),
        ("none", {"driver": {"enabled": False}}, "installs no driver on nodes of t4-1"),
        ("none", None, "no device plugin reaches t4-1"),
    ],
)
def test_the_gpu_operator_brings_driver_and_plugin_or_leaves_nodes_alone(
    server: ApiServer, drivers: str, policy: dict[str, Any] | None, says: str | None
) -> None:
    if policy is not None:
        spec = {"daemonsets": {"tolerations": [{"operator": "Exists"}]}, **policy}
        server.objects[OPERATOR] = {"metadata": {"name": "cluster-policy", "uid": "theirs"}, "spec": spec}
    keys = pools(drivers=drivers)
    if says is not None:
        assert says in refusal(keys)
        return
    program = update(keys)
    pool = program.only(POOL).inputs
    assert pool["gpuProfile"]["driver"] == {"managed": "Install", "none": "None"}[drivers]
    assert bool(program.of_type("kubernetes:apps/v1:DaemonSet")) == (drivers == "managed")


def test_with_node_auto_provisioning_pools_are_objects(server: ApiServer) -> None:
    with on({**USERS, "enableEncryptionAtHost": True}, **AUTO):
        program = update(PROVISIONED)
    assert program.of_type(POOL) == []
    spec = program.only(CLASS).inputs["spec"]
    assert spec["vnetSubnetID"] == f"{SUBNET}-2"
    assert (spec["maxPods"], spec["security"]) == (30, {"encryptionAtHost": True})
    kept = {"spec.vnetSubnetID", "spec.maxPods", "spec.security.encryptionAtHost"}
    assert {*program.only(CLASS).ignore_changes} == kept, "with another subnet nodes drift, or Karpenter makes none"
    node_pool = program.only(NODE_POOL).inputs
    assert node_pool["spec"]["template"]["spec"]["nodeClassRef"]["name"] == "t4-1"
    assert "startupTaints" not in node_pool["spec"]["template"]["spec"]
    assert ("POST dry run", "/apis/karpenter.azure.com/v1beta1/aksnodeclasses") in server.asked


def test_when_its_owner_changes_the_autoscaler_the_stack_follows_in_one_update(server: ApiServer) -> None:
    """What the refusal says to write is taken, both ways; the old pools are the stack's own, and go."""
    agents = update()
    own = {**USERS, "name": agents.only(POOL).inputs["agentPoolName"], "nodeLabels": {"gpucluster.dev/pool": "t4-1"}}
    with on(own, **AUTO):
        assert "Write autoscaling: {autoscaler: node-auto-provisioning}" in refusal(deployed=agents)
        node_pools = update(PROVISIONED, deployed=agents)
        assert (node_pools.of_type(POOL), len(node_pools.of_type(NODE_POOL))) == ([], 1)
    assert "Leave it out, for the cluster autoscaler" in refusal(PROVISIONED, deployed=node_pools)
    assert len(update(deployed=node_pools).of_type(POOL)) == 1


def test_with_cilium_nodes_have_its_startup_taint(server: ApiServer) -> None:
    with on(**AUTO, networkProfile={"networkDataplane": "cilium"}):
        template = update(PROVISIONED).only(NODE_POOL).inputs["spec"]["template"]
    assert template["spec"]["startupTaints"][0]["key"] == "node.cilium.io/agent-not-ready"


@pytest.mark.parametrize(
    ("cluster", "theirs", "what"),
    [
        ({"networkProfile": {"networkPolicy": "calico"}}, (), "Calico"),
        ({"networkProfile": {"networkPlugin": "kubenet"}}, (), "kubenet"),
        ({}, ({**USERS, "podSubnetID": f"{SUBNET}-pods"},), "pods in a subnet of their own"),
        ({"networkProfile": {"networkPlugin": "azure", "networkPolicy": "cilium"}}, (), ""),
    ],
)
def test_networks_that_azure_does_not_support_for_node_auto_provisioning_are_reported(
    server: ApiServer, cluster: dict[str, Any], theirs: tuple[dict[str, Any], ...], what: str
) -> None:
    with on(*theirs, **AUTO, **cluster):
        text = warnings(PROVISIONED)
    assert (f"'research' has {what}, which Azure does not support with node auto-provisioning" in text) is bool(what)
    with on(*theirs, **cluster):
        assert "does not support" not in warnings()


def test_without_node_auto_provisioning_its_pools_are_refused(server: ApiServer) -> None:
    assert "'research' has no node auto-provisioning" in refusal(PROVISIONED)


@pytest.mark.parametrize(
    ("key", "values", "reported"),
    [
        ("karpenter.azure.com/sku-family", ["D"], False),
        ("karpenter.azure.com/sku-family", ["D", "N"], True),
        ("node.kubernetes.io/instance-type", ["Standard_D4s_v5"], False),
        ("node.kubernetes.io/instance-type", ["Standard_NC4as_T4_v3"], True),
        ("karpenter.sh/capacity-type", ["spot"], True),
    ],
)
def test_their_node_pools_for_gpu_machines_are_reported(
    server: ApiServer, key: str, values: list[str], reported: bool
) -> None:
    requirements = [{"key": key, "operator": "In", "values": values}]
    server.objects["/apis/karpenter.sh/v1/nodepools/theirs"] = {
        "metadata": {"name": "theirs", "uid": "theirs"},
        "spec": {"weight": 7, "template": {"spec": {"requirements": requirements}}},
    }
    with on(**AUTO):
        assert ("theirs (weight 7)" in warnings(PROVISIONED)) is reported


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"existingCluster": {"name": "research"}}, "existingCluster.resourceGroup: missing"),
        ({"existingCluster": {"name": "/subscriptions/s", "resourceGroup": "g"}}, "is no name of a cluster"),
        ({"existingCluster": {"name": "r", "resourceGroup": "/resourceGroups/g"}}, "Write the name alone"),
        ({"existingCluster": {"name": "r", "resourceGroup": "g", "nodeIdentity": "x"}}, "kubelet identity"),
        ({"existingCluster": {"name": "r", "resourceGroup": "g", "nodeClass": "x"}}, "not those of a class"),
        ({"existingCluster": {"name": "r", "resourceGroup": "g", "location": "x"}}, "one cluster of a name"),
        ({"autoscaling": {"unneededMinutes": 5}}, "autoscaling.unneededMinutes: belongs to the cluster"),
        ({"kubernetes": {"version": "1.34"}}, "kubernetes: belongs to the cluster"),
    ],
)
def test_keys_of_the_cluster_and_of_other_clouds_are_refused(
    server: ApiServer, keys: dict[str, Any], says: str
) -> None:
    assert says in refusal({**KEYS, **{f"gpucluster:{key}": value for key, value in keys.items()}})
    assert server.asked == []


def test_a_key_of_disks_and_an_idle_time_are_refused(server: ApiServer) -> None:
    sets = "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/g/providers/Microsoft.Compute"
    keys = {**pools(unneededMinutes=5), "gpucluster:security": {"diskKey": f"{sets}/diskEncryptionSets/s"}}
    text = refusal(keys)
    assert "security.diskKey: AKS encrypts disks of all nodes" in text
    assert "gpuPools[0].unneededMinutes: AKS's autoscaler has one idle time" in text


def test_in_a_program_name_and_group_may_be_outputs(server: ApiServer) -> None:
    plain = {key.removeprefix("gpucluster:"): value for key, value in KEYS.items() if key.startswith("gpucluster:")}

    def program() -> None:
        names = {"name": "research", "resourceGroup": "platform"}
        existing = {key: pulumi.Output.from_input(value) for key, value in names.items()}
        GpuPools("gpu", GpuPoolsArgs.of({**plain, "existingCluster": existing}))

    recorded = run_with({"azure-native:subscriptionId": KEYS["azure-native:subscriptionId"]}, "ml", program)
    assert recorded.only(POOL).inputs["resourceGroupName"] == "platform"


def test_where_nobody_answers_the_preview_puts_it_off_and_the_update_refuses(server: ApiServer) -> None:
    server.silent = "timed out"
    text = warnings(new=())
    assert "cannot be asked: timed out. The update asks it before it adds pools" in text
    assert "timed out" in refusal()


def test_the_look_changes_nothing(server: ApiServer) -> None:
    update()
    assert {method for method, _ in server.asked} == {"GET", "POST", "POST dry run"}
    assert {path for method, path in server.asked if method == "POST"} == {"selfsubjectaccessreviews"}


def test_their_workloads_are_known_by_the_labels_that_aks_sets() -> None:
    assert JOINING["managed"].own_daemon({"namespace": "kube-system", "name": "kube-proxy"})
    assert not JOINING["managed"].own_daemon({"namespace": "kube-system", "name": "ama-logs"})


def test_the_roles_that_a_refusal_prints_are_enough(server: ApiServer) -> None:
    server.granted = {}
    server.granted = JOINED.roles()
    assert update().only(POOL)


def test_the_printed_roles_permit_what_the_update_deletes(server: ApiServer) -> None:
    provisioned = Joined(PROVISIONED)
    with on(**AUTO):
        deletable = provisioned.deletable(server, provisioned.pools(name="other"))
    assert deletable == {"NodePool t4-1": True, "AKSNodeClass t4-1": True}
