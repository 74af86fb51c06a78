"""What a cluster and its pools declare for one setting: ``<cloud>/declared.yaml``.

There are cases of a cluster, a GPU, a CPU and the admin pool, by the sentence that they prove. A case is the usual one
``with`` other settings (a pool's in a ``cluster`` with other ones). ``inputs``: path in the resource's inputs, with
spaces between its steps → exactly this value. ``lacks``: paths that are not there. ``ignores``: what stays as it was,
and ``follows``: what does not. ``without``: types of which there is no resource. ``of``: the resource's type, where it
is another than the usual; ``template`` is the launch template of a group.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.settings.cluster import AuthorizedNetworkSetting
from components.settings.maintenance import Maintenance
from facts.concepts.kubernetes import Taint
from facts.concepts.parts import Block, SharedGpu, Upgrade
from facts.concepts.pool import Pool
from tests import recorder
from tests.components import eks_specs, specs
from tests.components.clouds.aks import test_cluster as aks_cluster
from tests.components.clouds.aks import test_pools as aks_pools
from tests.components.clouds.eks import test_cluster as eks_cluster
from tests.components.clouds.eks import test_pools as eks_pools
from tests.components.clouds.gke import test_cluster as gke_cluster
from tests.components.clouds.gke import test_pools as gke_pools

Specs = Mapping[str, Callable[..., Pool]]
CLUSTERS = {"gke": gke_cluster, "eks": eks_cluster, "aks": aks_cluster}
POOLS: dict[str, tuple[Callable[..., recorder.Recording], Specs]] = {
    "gke": (gke_pools.recording, {"gpu": specs.gpu_pool, "cpu": specs.cpu_pool, "admin": specs.admin_pool}),
    "eks": (eks_pools.recording, {"gpu": eks_specs.gpu_pool, "cpu": eks_specs.cpu_pool, "admin": eks_specs.admin_pool}),
    "aks": (aks_pools.run, {"gpu": aks_pools.gpu_spec, "cpu": aks_pools.cpu_spec}),
}
OBJECTS: dict[str, Callable[..., Any]] = {
    "authorized_networks": AuthorizedNetworkSetting,
    "block": Block,
    "extra_taints": Taint,
    "maintenance": Maintenance,
    "mps": SharedGpu,
    "time_sharing": SharedGpu,
    "upgrade": Upgrade,
}
CASES = [
    pytest.param(cloud, kind, case, id=f"{cloud} {kind}: {sentence}-{number}")
    for cloud in CLUSTERS
    for kind, sentences in yaml.safe_load((Path(__file__).parent / cloud / "declared.yaml").read_text()).items()
    for sentence, cases in sentences.items()
    for number, case in enumerate(cases)
]


def settings(written: Mapping[str, Any]) -> dict[str, Any]:
    return {key: setting(key, value) for key, value in written.items()}


def setting(key: str, value: Any) -> Any:
    if isinstance(value, list):
        return tuple(setting(key, each) for each in value)
    return OBJECTS[key](**value) if key in OBJECTS and isinstance(value, dict) else value


def declared(cloud: str, kind: str, case: Mapping[str, Any]) -> tuple[recorder.Registration, recorder.Recording]:
    changes, others = settings(case.get("with", {})), settings(case.get("cluster", {}))
    if kind == "cluster":
        module = CLUSTERS[cloud]
        recording = module.run_cluster(**changes)
        return recording.only(case.get("of", module.CLUSTER)), recording
    record, makers = POOLS[cloud]
    spec = makers[kind](**changes)
    suffix = "-template" if case.get("of") == "template" else ""
    recording = record(spec, **others)
    return recording.named(f"{spec.name}-pool{suffix}"), recording


def steps(path: str) -> list[str | int]:
    return [int(step) if step.isdigit() else step for step in path.split()]


@pytest.mark.filterwarnings("ignore::DeprecationWarning:pulumi_aws")
@pytest.mark.parametrize(("cloud", "kind", "case"), CASES)
def test_a_setting_becomes_these_inputs(cloud: str, kind: str, case: Mapping[str, Any]) -> None:
    resource, recording = declared(cloud, kind, case)
    assert {*case} <= {"with", "cluster", "of", "inputs", "lacks", "ignores", "follows", "without"}
    assert not [each for each in recording.resources if each.type in case.get("without", ())]
    assert case.keys() & {"inputs", "lacks", "ignores", "follows"}
    assert {*case.get("ignores", ())} <= {*resource.ignore_changes}
    assert not {*case.get("follows", ())} & {*resource.ignore_changes}
    for path, expected in case.get("inputs", {}).items():
        value: Any = resource.inputs
        for step in steps(path):
            value = value[step]
        assert value == expected, path
    for path in case.get("lacks", ()):
        *parents, last = steps(path)
        block: Any = resource.inputs
        for step in parents:
            block = block[step]
        assert last not in (range(len(block)) if isinstance(block, list) else block), path
