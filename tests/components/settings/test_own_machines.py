"""Settings of own machines and existing clusters. What is refused: ``bad_stacks/own-*`` and ``existing-*``."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from components.settings import Settings, SettingsError
from components.settings.pools.own import ExistingNodes, OwnMachines
from components.settings.read import OWN_KEYS, load
from components.settings.sections.existing_cluster import ExistingStackFile
from components.settings.sections.own_machines import OwnStackFile
from components.settings.sections.stack_file import StackFile
from facts.concepts.kubernetes import Taint
from tests.stacks import EXISTING, OWN_MACHINES

GPU_TAINT = Taint("nvidia.com/gpu", "present", "NoSchedule")


def config(**changed: Any) -> dict[str, Any]:
    keys = yaml.safe_load(OWN_MACHINES.read_text())["config"]
    return {**{key.removeprefix("gpucluster:"): value for key, value in keys.items()}, **changed}


def settings(**changed: Any) -> Settings:
    return load(config(**changed), stack="lab", project=None)


def own_machines(**changed: Any) -> OwnMachines:
    own = settings(**changed).own
    assert isinstance(own, OwnMachines)
    return own


def pool(**changed: Any) -> dict[str, Any]:
    return {**config()["gpuPools"][0], **changed}


def test_each_pool_has_its_machines_and_none_scales() -> None:
    lab = settings()
    machines = {name: [machine.name for machine in each] for name, each in own_machines().machines.items()}
    assert machines == {"admin": ["cp1"], "t4-2": ["gpu1", "gpu2"]}
    for each, count in ((lab.admin_pool, 1), (lab.gpu_pools[0], 2)):
        assert (each.scaling.min_nodes, each.scaling.max_nodes, each.scaling.autoscaled, each.scaling.owned) == (
            count,
            count,
            False,
            True,
        )


def test_labels_and_taints_are_those_of_any_cloud() -> None:
    (t4,) = settings().gpu_pools
    assert t4.nodes.taints == (GPU_TAINT,)
    own = {"gpucluster.dev/pool": "t4-2", "gpucluster.dev/gpu": "nvidia-t4", "gpucluster.dev/gpus-per-node": "2"}
    assert t4.nodes.labels == {"skypilot.co/accelerator": "t4", "nvidia.com/gpu.present": "true", **own}


def test_larger_machines_repel_pods_of_smaller_ones() -> None:
    first, second = pool()["machines"]
    pools = [pool(name="small", gpusPerNode=1, machines=[first]), pool(name="large", machines=[second])]
    small, large = settings(teams=[], gpuPools=pools).gpu_pools
    assert small.nodes.taints == (GPU_TAINT,)
    assert large.nodes.taints == (GPU_TAINT, Taint("gpucluster.dev/gpus-per-node", "2", "NoSchedule"))


def test_a_gpu_that_no_cloud_has_is_welcome() -> None:
    (rtx,) = settings(gpuPools=[pool(gpu="nvidia-rtx-4090")]).gpu_pools
    assert rtx.gpus.type == "nvidia-rtx-4090"
    assert "skypilot.co/accelerator" not in rtx.nodes.labels


def test_the_driver_is_ours_unless_the_machines_have_one() -> None:
    assert own_machines().driver == {"t4-2": "580"}
    assert own_machines(gpuPools=[pool(drivers="none")]).driver == {}


def test_a_price_is_the_machines_own_and_the_same_idle_or_not() -> None:
    assert settings().cost_idle_hourly is None
    priced = settings(gpuPools=[pool(hourlyUsd=1.5)])
    assert (priced.cost_idle_hourly, priced.cost_max_hourly) == (3.0, 3.0)


def test_the_private_key_is_a_secret_or_refused() -> None:
    assert load(config(sshPrivateKey="key"), stack="lab", project=None, secrets=["sshPrivateKey"]).own is not None
    with pytest.raises(SettingsError, match="pulumi config set --secret gpucluster:sshPrivateKey"):
        settings(sshPrivateKey="key")


def test_defaults_that_the_engine_adds_for_clouds_are_no_problem() -> None:
    defaults = {"availability": "zonal", "zones": [], "tags": {}, "raw": {}, "autoscaling": {}, "ssh": {}}
    assert settings(**defaults).own is not None
    with pytest.raises(SettingsError, match="zones: there is no key"):
        settings(zones=["a"])


def test_a_version_is_a_minor_or_one_of_its_patches() -> None:
    assert settings(kubernetes={}).kubernetes.version == "1.36"
    for version in ("1.34", "1.37", "1.34.7", "1.35.0"):
        assert settings(kubernetes={"version": version}).kubernetes.version == version
    for version in ("1.33", "1.33.9", "1.34.x", "v1.34.4", "1.34.4-1.1"):
        with pytest.raises(SettingsError, match=r"kubernetes\.version: "):
            settings(kubernetes={"version": version})


def test_a_driver_branch_that_nvidia_gave_up_is_refused() -> None:
    for branch, since in (("570", " since February 2026"), ("575", ""), ("590", ""), ("610", " since August 2026")):
        with pytest.raises(
            SettingsError, match=rf"driverVersion: '{branch}' is not a driver branch that NVIDIA supports{since}\b"
        ):
            settings(gpuPools=[pool(driverVersion=branch)])
    assert own_machines(gpuPools=[pool(driverVersion="595")]).driver == {"t4-2": "595"}


def test_a_clouds_file_does_not_know_the_keys_of_own_machines() -> None:
    files = (OwnStackFile, ExistingStackFile, StackFile)
    own, existing, cloud = ({field.alias or name for name, field in each.model_fields.items()} for each in files)
    assert (own | existing) - cloud == set(OWN_KEYS) == {"ssh", "packages", "context"}


@pytest.mark.parametrize(
    ("addresses", "text"),
    [
        ("10.99.0.0/28", "is not a range of IPv4 addresses. .*192.168.1.240-192.168.1.250"),
        ("10.99.0.220-10.99.0.200", "is not a range of IPv4 addresses"),
        ("10.244.255.250-10.245.0.9", "overlaps with podCidr: 10.244.0.0/16"),
        ("10.95.0.1-10.97.0.1", "overlaps with serviceCidr: 10.96.0.0/16"),
        ("10.99.0.1-10.99.0.11", r"holds the addresses of cp1 \(10.99.0.11\)"),
    ],
)
def test_addresses_for_services_are_a_free_range(addresses: str, text: str) -> None:
    with pytest.raises(SettingsError, match=rf"network\.loadBalancerRange: .*{text}"):
        settings(network={"loadBalancerRange": addresses})
    assert own_machines(network={"loadBalancerRange": "10.99.0.1-10.99.0.10"}).file.network.load_balancer_range


def test_mirrors_need_the_whole_fingerprint_of_their_key() -> None:
    mirror = {"url": "https://mirror.example.com/k8s/", "key": "https://mirror.example.com/key.asc"}
    with pytest.raises(SettingsError, match=r"packages\.kubernetes\.fingerprint.*40 hexadecimal digits"):
        settings(packages={"kubernetes": {**mirror, "fingerprint": "9A296436"}})
    whole = "DE15 B144 86CD 377B 9E87 6E1A 2346 54DA 9A29 6436"
    own = own_machines(packages={"kubernetes": {**mirror, "fingerprint": whole}})
    assert own.file.packages.kubernetes is not None
    assert own.file.packages.kubernetes.fingerprint == "DE15B14486CD377B9E876E1A234654DA9A296436"


FILE = yaml.safe_load(EXISTING.read_text())["config"]
EXAMPLE = {key.removeprefix("gpucluster:"): value for key, value in FILE.items()}
SCALED = {"name": "a100", "gpu": "nvidia-a100-40gb", "capacity": "autoscaled", "maxNodes": 4, "hourlyUsd": 10}


def existing(**changed: Any) -> Settings:
    return load({**EXAMPLE, **changed}, stack="lab", project=None)


def existing_pool(**changed: Any) -> dict[str, Any]:
    return {key: value for key, value in {**EXAMPLE["gpuPools"][0], **changed}.items() if value is not None}


def test_named_nodes_are_fixed_and_have_the_labels_and_taints_of_any_cloud() -> None:
    lab = existing()
    (t4,) = lab.gpu_pools
    assert (t4.scaling.min_nodes, t4.scaling.max_nodes, t4.scaling.autoscaled, t4.scaling.owned) == (2, 2, False, True)
    assert t4.nodes.taints == (Taint("nvidia.com/gpu", "present", "NoSchedule"),)
    assert t4.nodes.labels["gpucluster.dev/pool"] == "t4-2"
    assert isinstance(lab.own, ExistingNodes)
    assert lab.own.machines == {"t4-2": ("gpu1", "gpu2")}
    assert lab.admin_pool.scaling.max_nodes == 0


def test_a_selector_tells_how_many_nodes_it_finds() -> None:
    lab = existing(gpuPools=[existing_pool(machines=None, selector={"gpu": "t4"}, maxNodes=3)])
    assert (lab.gpu_pools[0].scaling.min_nodes, lab.gpu_pools[0].scaling.max_nodes) == (3, 3)
    assert isinstance(lab.own, ExistingNodes)
    assert (lab.own.machines, lab.own.selectors) == ({}, {"t4-2": {"gpu": "t4"}})


def test_nodes_of_somebody_elses_autoscaler_start_at_none_and_cost_nothing_idle() -> None:
    lab = existing(gpuPools=[SCALED, existing_pool(hourlyUsd=1)], teams=[])
    scaled = lab.gpu_pools[0]
    assert (scaled.scaling.min_nodes, scaled.scaling.max_nodes, scaled.scaling.autoscaled, scaled.scaling.owned) == (
        0,
        4,
        True,
        False,
    )
    assert (lab.cost_idle_hourly, lab.cost_max_hourly) == (2.0, 42.0)
    assert existing(gpuPools=[SCALED, existing_pool()], teams=[]).cost_max_hourly is None


def test_the_kubeconfig_is_a_secret_or_refused() -> None:
    assert load({**EXAMPLE, "kubeconfig": "x"}, stack="lab", project=None, secrets=["kubeconfig"]).own is not None
    with pytest.raises(SettingsError, match=r"kubeconfig: is in plain text.*--secret gpucluster:kubeconfig"):
        existing(kubeconfig="x")
    with pytest.raises(SettingsError, match="teams: is encrypted"):
        load(EXAMPLE, stack="lab", project=None, secrets=["teams"])


def test_defaults_that_the_engine_adds_for_others_are_no_problem() -> None:
    defaults = {"availability": "zonal", "zones": [], "tags": {}, "ssh": {}, "packages": {}, "context": ""}
    assert existing(**defaults).own == existing().own
