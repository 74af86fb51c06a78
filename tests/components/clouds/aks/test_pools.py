"""AKS agent pools, one setting at a time."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection
from typing import Any

import pytest
import yaml

from components.clouds.aks import roles
from components.cluster import Cluster, ClusterArgs
from components.node_pool import AdminPool, AdminPoolArgs
from facts.concepts.kubernetes import Taint
from facts.concepts.pool import Pool
from rehearsal.providers.aks.nodes import scale_set
from tests import recorder
from tests.components import specs
from tests.components.clouds.aks.test_cluster import CLUSTER, admin_spec, settings

AGENT_POOL = "azure-native:containerservice:AgentPool"
ROLE_ASSIGNMENT = "azure-native:authorization:RoleAssignment"
SPOT = Taint("kubernetes.azure.com/scalesetpriority", "spot", "NoSchedule")


@recorder.remembered
def run(
    *pools: Pool, admin: Pool | None = None, new: Collection[str] | None = None, **cluster_changes: Any
) -> recorder.Recording:
    its = settings(admin_pool=admin or admin_spec(), **cluster_changes)
    return recorder.run(specs.declare(its, pools, drivers=True), new=new)


def gpu_spec(name: str = "t4-1", **changes: Any) -> Pool:
    usual: dict[str, Any] = {"machine_types": ("Standard_NC4as_T4_v3",), "zones": ("eastus-1",), "image": "ubuntu"}
    usual["capacity_type"] = "on-demand"
    return specs.gpu_pool(name, **{**usual, **changes})


def cpu_spec(**changes: Any) -> Pool:
    usual: dict[str, Any] = {"machine_types": ("Standard_D4s_v5",), "image": "ubuntu", "zones": ("eastus-1",)}
    return specs.cpu_pool(**{**usual, **changes})


def declared(spec: Pool) -> recorder.Registration:
    return run(spec).named(f"{spec.name}-pool")


def admin_profile(**changes: Any) -> dict[str, Any]:
    (profile,) = run(admin=admin_spec(**changes)).only(CLUSTER).inputs["agentPoolProfiles"]
    return profile


def test_a_pool_makes_room_for_its_replacement_and_follows_every_input() -> None:
    pool = declared(gpu_spec())
    assert pool.ignore_changes == ()
    assert pool.delete_before_replace


RESERVED = f"/subscriptions/{'0' * 8}-0000-0000-0000-{'0' * 12}/resourceGroups/gpus"
RESERVATION = f"{RESERVED}/providers/Microsoft.Compute/capacityReservationGroups/june"


def test_a_pool_names_its_reservation_and_the_control_plane_may_use_it_before() -> None:
    reserved = gpu_spec("t4-1-reserved", capacity_type="reserved", reservation=RESERVATION)
    other = gpu_spec("t4-1-spot", capacity_type="spot", preference=1)
    recording = run(reserved, other, gpu_pools=(reserved, other))
    assert recording.named("t4-1-reserved-pool").inputs["capacityReservationGroupID"] == RESERVATION
    assert "capacityReservationGroupID" not in recording.named("t4-1-spot-pool").inputs
    (grant,) = [each for each in recording.of_type(ROLE_ASSIGNMENT) if each.inputs["scope"] == RESERVED]
    assert grant.inputs["roleDefinitionId"].endswith(roles.CONTRIBUTOR)
    assert grant.urn in recording.only(CLUSTER).depends_on
    # Without a reservation it is contributor of nothing.
    granted = [each.inputs["roleDefinitionId"].rpartition("/")[2] for each in run(gpu_spec()).of_type(ROLE_ASSIGNMENT)]
    assert granted
    assert roles.CONTRIBUTOR not in granted


def test_pools_go_with_the_cluster() -> None:
    recording = run(gpu_spec("t4-1"), cpu_spec())
    assert {pool.deleted_with for pool in recording.of_type(AGENT_POOL)} == {recording.only(CLUSTER).urn}


@pytest.mark.parametrize("spec", [gpu_spec(capacity_type="spot"), cpu_spec()])
def test_what_azure_cannot_change_replaces_the_pool(spec: Pool) -> None:
    pool = declared(spec)
    in_place = {"count", "minCount", "maxCount", "nodeLabels", "nodeTaints", "tags", "upgradeSettings"}
    assert not in_place & set(pool.replace_on_changes)
    written = {path for path in pool.replace_on_changes if path.partition(".")[0] in pool.inputs}
    assert {"osDiskSizeGB", "availabilityZones", "scaleSetPriority", "vnetSubnetID"} <= written


def test_the_device_plugin_runs_where_aks_installs_the_driver() -> None:
    with_driver = gpu_spec("t4-1", extra_taints=(SPOT,), capacity_type="spot")
    recording = run(with_driver, gpu_spec("own-1", drivers="none"))
    (daemon,) = recording.of_type("kubernetes:apps/v1:DaemonSet")
    pod = daemon.inputs["spec"]["template"]["spec"]
    (term,) = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert term["matchExpressions"][0]["values"] == ["t4-1"]
    expected = {(taint.key, taint.value) for taint in with_driver.nodes.taints}
    assert {(each["key"], each["value"]) for each in pod["tolerations"]} == expected


def test_azure_changes_nodes_in_a_window_that_is_there_before_any_pool() -> None:
    recording = run(gpu_spec())
    windows = recording.of_type("azure-native:containerservice:MaintenanceConfiguration")
    assert len(windows) == 3
    assert {window.deleted_with for window in windows} == {recording.only(CLUSTER).urn}
    for before, after in itertools.pairwise(windows):
        assert before.urn in after.depends_on
    assert windows[-1].urn in recording.named("t4-1-pool").depends_on


@pytest.mark.parametrize("spec", [gpu_spec(), gpu_spec(capacity_type="spot"), cpu_spec()])
def test_pools_follow_a_pinned_version_and_only_that(spec: Pool) -> None:
    pool = run(spec, version="1.34").named(f"{spec.name}-pool")
    assert pool.inputs["orchestratorVersion"] == "1.34"
    assert "orchestratorVersion" not in pool.replace_on_changes
    assert "orchestratorVersion" not in declared(spec).inputs
    # In the cluster's own request Azure takes the versions of all pools or of none.
    (admin,) = run(version="1.34").only(CLUSTER).inputs["agentPoolProfiles"]
    assert "orchestratorVersion" not in admin


def test_the_admin_pool_is_born_with_the_cluster_and_is_only_read() -> None:
    recording = run()
    assert recording.of_type(AGENT_POOL) == []
    assert recording.reads == {"admin-pool": "cluster-control-plane-id/agentPools/admin"}


def test_the_admin_pool_is_the_one_system_pool_and_has_a_fixed_size() -> None:
    profile = admin_profile(nodes=2, zones=("eastus-1", "eastus-2"))
    assert (profile["name"], profile["mode"], profile["count"]) == ("admin", "System", 4)
    assert profile["enableAutoScaling"] is False
    assert profile["availabilityZones"] == ["1", "2"]
    assert "nodeTaints" not in profile
    assert "minCount" not in profile
    # Ignored, a size that some earlier update recorded would be sent.
    assert run().only(CLUSTER).ignore_changes == ()


def test_the_autoscaler_owns_the_size_of_an_admin_pool_that_may_grow() -> None:
    recording = run(admin=admin_spec(nodes=2, max_nodes=5))
    (profile,) = recording.only(CLUSTER).inputs["agentPoolProfiles"]
    assert (profile["enableAutoScaling"], profile["minCount"], profile["maxCount"]) == (True, 2, 5)
    assert profile["count"] == 2
    assert recording.only(CLUSTER).ignore_changes == ()


def test_an_admin_pool_other_than_the_clusters_own_is_refused() -> None:
    def program() -> None:
        cluster = Cluster("cluster", ClusterArgs(settings=settings()))
        AdminPool("admin", AdminPoolArgs(cluster=cluster, pool=admin_spec(nodes=3)))

    with pytest.raises(ValueError, match="differs"):
        recorder.run(program)


@pytest.mark.parametrize(
    ("changes", "minutes"),
    [
        ({"autoscaling_profile": "optimize-utilization"}, "5m"),
        ({"autoscaling_profile": "balanced"}, "10m"),
        ({"autoscaling_profile": "balanced", "unneeded_minutes": 25}, "25m"),
    ],
)
def test_idle_nodes_go_after_the_written_time(changes: dict[str, Any], minutes: str) -> None:
    recording = run(gpu_spec(), **changes)
    profile = recording.only(CLUSTER).inputs["autoScalerProfile"]
    assert profile["scaleDownUnneededTime"] == minutes
    pools = recording.of_type(AGENT_POOL)
    assert {pool.inputs["scaleDownMode"] for pool in pools if pool.inputs} == {"Delete"}, "a stopped one keeps its disk"
    # A pod for whatever reason on the node must not keep it for ever, and nodes are taken where there is capacity.
    switches = ("skipNodesWithSystemPods", "skipNodesWithLocalStorage", "balanceSimilarNodeGroups")
    assert [profile[switch] for switch in switches] == ["false"] * 3
    governance = next(outputs for urn, outputs in recording.outputs.items() if urn.endswith("::autoscaler"))
    assert governance["pools"]["t4-1"]["scaleDown"].startswith(f"{minutes.removesuffix('m')} minutes")
    # A busy pool must not keep another's idle nodes, and a fallback not wait for Azure's default of 15 minutes.
    assert profile["scaleDownDelayAfterAdd"] == "1m"
    assert profile["maxNodeProvisionTime"] == "10m"
    assert "after 10 minutes" in governance["pools"]["t4-1"]["scaleUp"]


@pytest.mark.parametrize(("gpus", "minutes"), [(4, "10"), (8, "20")])
def test_a_machine_with_eight_gpus_has_longer_to_start(gpus: int, minutes: str) -> None:
    recording = run(gpu_spec(size=gpus), gpu_pools=(gpu_spec(size=gpus),))
    assert recording.only(CLUSTER).inputs["autoScalerProfile"]["maxNodeProvisionTime"] == f"{minutes}m"


def test_the_order_has_a_place_for_every_group_there_is() -> None:
    recording = run(gpu_spec(), cpu_spec(), admin=admin_spec(max_nodes=3))
    order = yaml.safe_load(recording.named("autoscaler-order").inputs["data"]["priorities"])

    def place(pool: str) -> int | None:
        priorities = [
            number for number, patterns in order.items() if re.search("|".join(patterns), scale_set("/c", pool))
        ]
        return max(priorities, default=None)

    named = [recording.named(f"{name}-pool").inputs["agentPoolName"] for name in ("t4-1", "cpu")]
    assert place("admin") == place("foreign") == 1
    assert all((place(name) or 0) > 1 for name in named)


def test_spot_is_tried_before_its_fallback() -> None:
    pools = (
        gpu_spec("t4-1-ondemand", capacity_type="on-demand", preference=1),
        gpu_spec("t4-1-spot", capacity_type="spot", preference=0),
    )
    recording = run(*pools)
    assert recording.only(CLUSTER).inputs["autoScalerProfile"]["expander"] == "priority"
    order = recording.named("autoscaler-order").inputs
    assert order["metadata"] == {"name": "cluster-autoscaler-priority-expander", "namespace": "kube-system"}
    spot, fallback = (
        recording.named(f"t4-1-{capacity}-pool").inputs["agentPoolName"] for capacity in ("spot", "ondemand")
    )
    text = order["data"]["priorities"]
    assert text.index(f"^aks-{spot}-[0-9]+-vmss$") < text.index(f"^aks-{fallback}-[0-9]+-vmss$")


def test_partitioned_gpus_are_known_to_be_miscounted() -> None:
    recording = run(gpu_spec("a100-1", mig="1g"), gpu_spec("t4-1"))
    pools = next(outputs for urn, outputs in recording.outputs.items() if urn.endswith("::autoscaler"))["pools"]
    assert "whole GPUs" in pools["a100-1"]["scaleUp"]
    assert "whole GPUs" not in pools["t4-1"]["scaleUp"]
