"""The cluster says of every pool what its settings and the catalogue say, to every user and nothing else."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from components.clouds.base import GpuDaemon
from components.gpu_admission import rooms
from components.published_offer import offer
from facts import catalog
from facts.concepts.offer import CONFIG_MAP, KEY, NAMESPACE, PoolOffer, from_config_map
from facts.concepts.parts import SharedGpu
from facts.concepts.pool import Pool
from tests import one_stack
from tests.components import specs
from tests.components.settings.test_clouds import load_stack
from tests.recorder import Recording
from tests.stacks import ROOT, STACK_FILES, run_program, run_with, settings_of, stack_name

FILES = [*STACK_FILES, *one_stack.files()]
CLOUDS = pytest.mark.parametrize("cloud", one_stack.CLOUDS)


def of_pool(cloud: str, pool: Pool, *daemons: GpuDaemon) -> PoolOffer:
    settings = specs.given(specs.cluster_settings(), cloud=cloud)
    (published,) = offer(settings, [pool], daemons, {}).pools
    return published


def _published(recording: Recording) -> dict[str, Any]:
    config_maps = [each.inputs for each in recording.of_type("kubernetes:core/v1:ConfigMap")]
    (config_map,) = [each for each in config_maps if each["metadata"]["name"] == CONFIG_MAP]
    return config_map


@CLOUDS
def test_a_pool_says_whether_a_real_node_of_each_machine_was_compared(cloud: str) -> None:
    recorded, *_ = sorted(catalog.of(cloud).nodes.recorded)
    for types, compared in (((recorded,), True), ((recorded, machine(cloud, 0)), machine(cloud, 0) == recorded)):
        pool = specs.gpu_pool(machine_types=types)
        assert of_pool(cloud, pool).compared is compared, types


def machine(cloud: str, index: int) -> str:
    """Of the machines with one T4, the ``index``-th by size (-1: the largest)."""
    machines = catalog.of(cloud).machines.having("nvidia-t4", 1)
    return sorted(machines, key=lambda each: (each.vcpus, each.memory_gib))[index].type


@pytest.mark.parametrize("file", FILES, ids=stack_name)
def test_every_gpu_pool_is_published_with_what_its_settings_say(file: Path) -> None:
    settings = settings_of(file)
    inventory = from_config_map(_published(run_program(file)))
    expected = (settings.stack, settings.cloud, settings.cluster_name)
    assert (inventory.stack, inventory.cloud, inventory.cluster) == expected
    room = rooms(settings.cloud, settings.gpu_pools)
    assert [pool.name for pool in inventory.pools] == [pool.name for pool in settings.gpu_pools]
    for published, pool in zip(inventory.pools, settings.gpu_pools, strict=True):
        for fact in ("labels", "taints", "zones", "hourly_usd", "machine_types"):
            assert getattr(published.nodes, fact) == getattr(pool.nodes, fact), fact
        assert published.scaling.max_nodes == pool.scaling.max_nodes
        assert published.scaling.capacity_type == pool.scaling.capacity_type
        assert (published.gpus.type, published.gpus.per_node) == (pool.gpus.type, pool.gpus.per_node)
        assert (published.notice_seconds is None) is not pool.scaling.spot
        assert published.milli_cpu is not None
        assert published.memory_mib is not None
        # Less than admission's: that counts neither the nodes' own pods nor the smaller of several machines.
        assert 0 < published.milli_cpu < room[pool.name].milli_cpu
        assert 0 < published.memory_mib < room[pool.name].memory_mib


@pytest.mark.parametrize(
    ("size", "machine_type", "taken"),
    # 4 % of what GKE reserves of 32 GiB, 3606 MiB; of the machine with 8 H100 45098 MiB.
    [(1, "g2-standard-8", 145), (8, "a3-highgpu-8g", 1804)],
)
def test_image_streaming_takes_memory(size: int, machine_type: str, taken: int) -> None:
    gpu = "nvidia-l4" if size == 1 else "nvidia-h100-80gb"
    offered = []
    for streams in (False, True):
        entry = {"name": "one", "gpu": gpu, "gpusPerNode": size, "machineType": machine_type, "maxNodes": 1}
        settings = load_stack("gke", gpuPools=[{**entry, "capacity": "spot", "imageStreaming": streams}])
        (pool,) = offer(settings, settings.gpu_pools, (), {}).pools
        offered.append(pool.memory_mib or 0)
    assert offered[0] - offered[1] == taken


@pytest.mark.parametrize("raw", [{}, {"confidentialNodes": {"enabled": True}}], ids=["of the pool", "of the cluster"])
def test_confidential_nodes_leave_less_memory(raw: dict[str, Any]) -> None:
    offered = []
    for of_pool in ({}, {"nodeConfig": {"confidentialNodes": {"enabled": True}}}):
        entry = {"name": "one", "gpu": "nvidia-h100-80gb", "machineType": "a3-highgpu-1g", "maxNodes": 1}
        settings = load_stack("gke", gpuPools=[{**entry, "capacity": "spot", "raw": of_pool}], raw=raw)
        (pool,) = offer(settings, settings.gpu_pools, (), {}).pools
        offered.append(pool.memory_mib or 0)
    # The machine has 234 GiB. Of 128 GiB the kernel takes 971 MiB more, of 256 GiB 1163.
    assert offered[0] - offered[1] == (0 if raw else 1131)
    assert offered[0] == 222_735 - (1131 if raw else 0)


def test_a_pod_that_asks_for_all_that_is_offered_gets_a_node_of_node_auto_provisioning() -> None:
    pool = {"name": "t4", "gpu": "nvidia-t4", "machineType": "Standard_NC4as_T4_v3", "capacity": "spot", "maxNodes": 1}
    offered = {}
    for autoscaler in ("managed", "node-auto-provisioning"):
        settings = load_stack("aks", gpuPools=[pool], autoscaling={"autoscaler": autoscaler})
        (each,) = offer(settings, settings.gpu_pools, (), {}).pools
        offered[autoscaler] = each.memory_mib or 0
    # Less than Karpenter expects of that machine, and the system's pods besides.
    assert 21_000 < offered["node-auto-provisioning"] < 22_372 < offered["managed"]


@CLOUDS
def test_a_stacks_registry_is_where_images_go(cloud: str) -> None:
    recording = run_with(one_stack.config(cloud, workloads={"registry": {}}), f"registry-{cloud}")
    assert from_config_map(_published(recording)).registry == recording.stack_outputs["registry"] != ""
    assert from_config_map(_published(run_program(one_stack.file(cloud)))).registry is None


@CLOUDS
def test_a_stacks_checkpoints_are_told_with_who_may_write_them(cloud: str) -> None:
    written = {"checkpoints": {"serviceAccount": "ml/writer"}}
    recording = run_with(one_stack.config(cloud, workloads=written), f"checkpoints-{cloud}")
    inventory = from_config_map(_published(recording))
    assert inventory.checkpoints is not None
    assert inventory.checkpoints.url == recording.stack_outputs["checkpoints"] != ""
    assert inventory.checkpoints.service_account == "ml/writer"
    assert inventory.accounts == ("ml/writer",)
    assert (inventory.account_labels == {}) is (cloud != "aks")
    nothing = json.loads(_published(run_program(one_stack.file(cloud)))["data"][KEY])
    assert not {"checkpoints", "accounts", "account_labels"} & {*nothing}


def log_words(command: str) -> list[str]:
    place = {"region": "mars-1", "cluster": "gpu-dev", "namespace": "ml"}
    return shlex.split(command.format(**place, pods="^train-[a-z0-9]+$"))


def test_the_clouds_command_for_logs_of_deleted_pods_is_published_where_the_stack_saves_them() -> None:
    """GKE always does; EKS with an add-on, which is named where it is missing; AKS cannot."""
    inventories = {cloud: from_config_map(_published(run_program(one_stack.file(cloud)))) for cloud in one_stack.CLOUDS}
    logs = {cloud: (each.log_command is not None, each.log_setting) for cloud, each in inventories.items()}
    assert logs == {"gke": (True, None), "eks": (False, "addons: [cloudwatch]"), "aks": (False, None)}
    words = log_words(inventories["gke"].log_command or "")
    # gcloud's own default project may be another one.
    assert words[:5] == ["gcloud", "logging", "read", "--project", settings_of(one_stack.file("gke")).project]
    for part in ('cluster_name="gpu-dev"', 'namespace_name="ml"', 'pod_name=~"^train-[a-z0-9]+$"'):
        assert f"resource.labels.{part}" in words[5]
    with_addon = from_config_map(_published(run_with(one_stack.config("eks", addons=["cloudwatch"]), "logs-eks")))
    assert with_addon.log_setting is None
    words = log_words(with_addon.log_command or "")
    options = dict(zip(words[3:11:2], words[4:12:2], strict=True))
    assert (words[:3], words[13]) == (["aws", "logs", "filter-log-events"], "|")
    assert options == {
        "--region": "mars-1",
        "--log-group-name": "/aws/containerinsights/gpu-dev/application",
        "--filter-pattern": '{ $.kubernetes.namespace_name = "ml" && $.kubernetes.pod_name = %^train-[a-z0-9]+$% }',
        "--query": "events[].message",
    }


@pytest.mark.parametrize(
    "file",
    [*(one_stack.file(cloud) for cloud in one_stack.CLOUDS), ROOT / "examples" / "gke-company.yaml"],
    ids=stack_name,
)
def test_every_user_may_read_the_offer_and_nothing_beside_it(file: Path) -> None:
    recording, settings = run_program(file), settings_of(file)
    role = recording.called("kubernetes:rbac.authorization.k8s.io/v1:Role", CONFIG_MAP).inputs
    assert role["metadata"]["namespace"] == NAMESPACE
    rule = {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": [CONFIG_MAP], "verbs": ["get"]}
    assert role["rules"] == [rule]
    bindings = recording.of_type("kubernetes:rbac.authorization.k8s.io/v1:RoleBinding")
    (binding,) = [each.inputs for each in bindings if each.inputs["roleRef"]["name"] == CONFIG_MAP]
    subjects = {(each["kind"], each["name"]) for each in binding["subjects"]}
    if settings.cloud != "gke":
        assert subjects == {("Group", "system:authenticated")}
        return
    # On GKE every Google account is in that group.
    people = {tuple(entry.who.split(":")) for entry in settings.access}
    kinds = {"group": "Group", "user": "User", "serviceAccount": "User"}
    assert subjects == {("Group", "system:serviceaccounts"), *((kinds[kind], name) for kind, name in people)}


@CLOUDS
def test_of_several_machines_the_smallest_counts_and_an_unknown_one_leaves_it_open(cloud: str) -> None:
    pool = specs.gpu_pool(gpu="nvidia-t4", machine_types=(machine(cloud, 0),))
    small = of_pool(cloud, pool)
    mixed = of_pool(cloud, specs.changed(pool, machine_types=(machine(cloud, -1), machine(cloud, 0))))
    large = of_pool(cloud, specs.changed(pool, machine_types=(machine(cloud, -1),)))
    assert (mixed.milli_cpu, mixed.memory_mib) == (small.milli_cpu, small.memory_mib)
    assert large.milli_cpu is not None
    assert small.milli_cpu is not None
    assert large.milli_cpu > small.milli_cpu
    unknown = of_pool(cloud, specs.changed(pool, machine_types=(machine(cloud, 0), "no-such-machine")))
    assert (unknown.milli_cpu, unknown.memory_mib) == (None, None)


@pytest.mark.parametrize(
    ("addons", "milli_cpu", "memory_mib"), [(("cloudwatch",), 550, 281), (("fsx",), 30, 104), (("efs", "ebs"), 0, 0)]
)
def test_what_addons_pods_ask_for_is_not_offered(addons: tuple[str, ...], milli_cpu: int, memory_mib: int) -> None:
    """https://github.com/aws-observability/helm-charts and https://github.com/kubernetes-sigs/aws-fsx-csi-driver."""
    pool = specs.gpu_pool(gpu="nvidia-a10g", machine_types=("g5.xlarge",))
    settings = specs.given(specs.cluster_settings(), cloud="eks")
    free, taken = (offer(specs.given(settings, addons=on), [pool], (), {}).pools[0] for on in ((), addons))
    assert free.milli_cpu is not None
    assert free.memory_mib is not None
    assert (taken.milli_cpu, taken.memory_mib) == (free.milli_cpu - milli_cpu, free.memory_mib - memory_mib)


@CLOUDS
def test_what_our_own_daemons_ask_for_is_not_offered(cloud: str) -> None:
    pool = specs.gpu_pool(gpu="nvidia-t4", machine_types=(machine(cloud, -1),))
    containers = [{"resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}}, {"resources": {}}]
    start = [{"resources": {"requests": {"cpu": "0.15"}}}]
    pod = {"initContainers": start, "containers": containers}
    daemon = GpuDaemon(app="plugin", variant="whole", pod=pod, pools=(pool,))
    free, taken = of_pool(cloud, pool), of_pool(cloud, pool, daemon)
    assert free.milli_cpu is not None
    assert free.memory_mib is not None
    assert (taken.milli_cpu, taken.memory_mib) == (free.milli_cpu - 150, free.memory_mib - 64)
    others = GpuDaemon(app="plugin", variant="whole", pod=pod, pools=(replace(pool, name="other"),))
    assert of_pool(cloud, pool, others) == free


def test_a_pod_gets_one_share_of_a_gpu_where_gpus_are_shared() -> None:
    published = of_pool("gke", specs.gpu_pool(size=2, time_sharing=SharedGpu(clients_per_gpu=4)))
    assert (published.gpus.per_node, published.allocatable_gpus, published.gpus_per_pod) == (2, 8, 1)
