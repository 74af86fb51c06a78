"""The scenario for node groups as any program declares them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from facts.concepts.declared import NodeGroup
from facts.concepts.kubernetes import Taint
from facts.concepts.parts import Gpus, Nodes, Scaling
from facts.concepts.unknown import UNKNOWN
from policies.offline import view_of
from policies.readers.resource import Declared
from rehearsal.scenario import declared
from rehearsal.scenario.timeline import NodeRecord

GPU = Taint("nvidia.com/gpu", "present", "NoSchedule")
POOL = NodeGroup(
    "a10g",
    "eks",
    gpus=Gpus(per_node=4),
    scaling=Scaling(max_nodes=2),
    nodes=Nodes(machine_types=(None,), zones=(), labels={"role": "gpu", "team": UNKNOWN}, taints=(GPU,)),
)


def node(**labels: str) -> NodeRecord:
    written = {key.replace("__", "/").replace("_", "."): value for key, value in labels.items()}
    return NodeRecord("node-1", "(no pool)", None, 0, False, "", 0.0, labels=written)


def test_only_groups_with_gpus_count_each_once() -> None:
    other = replace(POOL, name="a100")
    groups = [
        POOL,
        replace(POOL, name="cpu", gpus=replace(POOL.gpus, per_node=0)),
        replace(POOL, name="any", gpus=replace(POOL.gpus, per_node=UNKNOWN)),
        other,
    ]
    assert [group.name for group in declared.gpu_groups([*groups, POOL])] == ["a100", "a10g"]


@pytest.mark.parametrize(
    ("group", "why"),
    [
        (POOL, ""),
        (replace(POOL, kind="machine"), "its nodes are machine, not a pool"),
        (replace(POOL, scaling=replace(POOL.scaling, autoscaled=False)), "it has a fixed number of nodes"),
        (
            replace(POOL, scaling=replace(POOL.scaling, autoscaled=UNKNOWN)),
            "whether it is autoscaled cannot be read from the program",
        ),
        (replace(POOL, nodes=replace(POOL.nodes, taints=UNKNOWN)), "its taints cannot be read from the program"),
        (replace(POOL, scaling=replace(POOL.scaling, max_nodes=0)), "its maximum is 0"),
    ],
)
def test_why_a_pool_gets_no_pod(group: NodeGroup, why: str) -> None:
    assert declared.without_scenario(group) == why


def test_of_two_pools_with_one_name_both_are_reported_and_one_gets_a_pod() -> None:
    groups = [replace(POOL, resource=f"urn:pulumi:dev::ml::aws:eks/nodeGroup:NodeGroup::{name}") for name in "ab"]
    assert declared.gpu_groups(groups) == groups
    assert [declared.title(each, groups) for each in groups] == ["pool a10g (a)", "pool a10g (b)"]
    assert declared.title(POOL, [POOL]) == "pool a10g"
    assert declared.without_scenario(groups[0]) == ""
    assert declared.without_scenario(groups[1], {"a10g"}) == "another pool has its name, so their nodes look the same"


def test_the_pod_requests_a_whole_node_tolerates_its_taints_and_selects_declared_labels() -> None:
    pod = declared.pod_for(POOL, "rehearsal-0")
    assert pod["metadata"]["name"] == "rehearsal-0"
    assert pod["spec"]["containers"][0]["resources"]["limits"] == {"nvidia.com/gpu": 4}
    assert pod["spec"]["tolerations"] == [
        {"key": "nvidia.com/gpu", "operator": "Equal", "value": "present", "effect": "NoSchedule"}
    ]
    assert pod["spec"]["nodeSelector"] == {"role": "gpu"}


def test_the_pod_selects_the_clouds_label_with_the_pools_name_where_there_is_one() -> None:
    labels = {"kubernetes.io/os": "linux", "cloud.google.com/gke-nodepool": "l4", "team": "ml"}
    pod = declared.pod_for(replace(POOL, nodes=replace(POOL.nodes, labels=labels)), "pod")
    assert pod["spec"]["nodeSelector"] == {"cloud.google.com/gke-nodepool": "l4"}


def test_labels_that_the_cloud_sets_are_not_selected() -> None:
    assert (
        declared.pod_for(replace(POOL, nodes=replace(POOL.nodes, labels={"kubernetes.io/os": "linux"})), "pod")["spec"][
            "nodeSelector"
        ]
        == {}
    )


def test_a_node_belongs_to_the_pool_that_its_label_names() -> None:
    assert declared.belongs(node(eks_amazonaws_com__nodegroup="a10g"), POOL)
    assert not declared.belongs(node(eks_amazonaws_com__nodegroup="system"), POOL)
    assert not declared.belongs(node(role="a10g"), POOL)


def test_a_pool_with_a_minimum_or_of_the_system_does_not_scale_to_zero() -> None:
    assert declared.scales_to_zero(POOL)
    assert not declared.scales_to_zero(replace(POOL, scaling=replace(POOL.scaling, min_nodes=1)))
    assert not declared.scales_to_zero(replace(POOL, for_system_pods=True))


def test_without_a_gpu_pool_the_groups_that_were_read_are_named() -> None:
    groups = [
        replace(POOL, name="cpu", gpus=replace(POOL.gpus, per_node=0)),
        replace(POOL, name="odd", gpus=replace(POOL.gpus, per_node=UNKNOWN)),
    ]
    assert declared.no_pools(groups, 12).startswith(
        "none in 12 resources; without GPUs: cpu; GPUs cannot be read: odd. docs/gating-your-own-program.md"
    )


def test_pools_are_read_from_another_program() -> None:
    properties = {
        "name": "l4-1",
        "cluster": "ml",
        "autoscaling": {"totalMinNodeCount": 0, "totalMaxNodeCount": 4},
        "nodeConfig": {
            "machineType": "g2-standard-8",
            "guestAccelerators": [{"type": "nvidia-l4", "count": 1}],
            "taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}],
        },
    }
    program = [Declared("gcp:container/nodePool:NodePool", "l4", "urn:l4", properties)]
    (group,) = declared.gpu_groups(view_of(program).stack.groups)
    assert (group.name, group.gpus.per_node, group.scaling.max_nodes, group.nodes.taints) == ("l4-1", 1, 4, (GPU,))
    assert declared.without_scenario(group) == ""
    assert declared.pod_for(group, "pod")["spec"]["nodeSelector"] == {"cloud.google.com/gke-nodepool": "l4-1"}
