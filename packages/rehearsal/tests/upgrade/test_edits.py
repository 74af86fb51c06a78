"""Each value of every_key.yaml is an edit of a running stack: what the update does to what holds nodes, jobs or data.

There is no engine: the program is real, the clouds are simulated, and each registration goes through their providers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from components.settings import SettingsError
from components.settings.read import NAMESPACE
from packages.rehearsal.tests.upgrade.deployment import Change, Deployment
from packages.rehearsal.tests.upgrade.released import program
from rehearsal.engine.stack import ROOT
from rehearsal.providers.base import ProviderError
from rehearsal.providers.fixtures import create_fixtures
from tests.one_stack import WORDS
from tests.program.test_every_key import COLUMNS, Config, before_and_after

pytestmark = pytest.mark.slow

CLUSTERS: Final = (
    "gcp:container/cluster:Cluster",
    "aws:eks/cluster:Cluster",
    "azure-native:containerservice:ManagedCluster",
)
POOLS: Final = (
    "gcp:container/nodePool:NodePool",
    "aws:eks/nodeGroup:NodeGroup",
    "azure-native:containerservice:AgentPool",
    "kubernetes:karpenter.sh/v1:NodePool",
)


class Running:
    """A small stack that runs, with what it names of others, and the stack file with another value of ``key``.

    Raises ``SettingsError``: today's settings refuse it before the edit.
    """

    def __init__(self, key: str, column: str, folder: Path) -> None:
        self._before, self._after = map(stack_file, before_and_after(key, COLUMNS[column]))
        files = [folder / "every-key.yaml", folder / "edited.yaml"]
        for file, config in zip(files, (self._before, self._after), strict=True):
            file.write_text(yaml.safe_dump({"config": config}))
        self.deployment = Deployment(files[0], folder, {})
        for file in files:
            try:
                create_fixtures(file, self.deployment.cloud)
            except (SettingsError, ProviderError):  # the program says so itself; or they are there already
                continue
        self.created = self.deployment.update(program(ROOT))

    def edit(self) -> list[Change]:
        """What the update with the other value does."""
        gone = {key: None for key in self._before if key not in self._after}
        return self.deployment.update(program(ROOT), **self._after, **gone)


def stack_file(config: Config) -> dict[str, Any]:
    """The keys with their namespace, and the account's."""
    account = WORDS[config["cloud"]]["account"].split(": ")
    return {account[0]: account[1], **{f"{NAMESPACE}:{key}": value for key, value in config.items()}}


def refusals(changes: list[Change]) -> list[str]:
    return [f"{each.name}: {each.why}" for each in changes if each.op == "refuse"]


@pytest.mark.parametrize(
    ("column", "key"),
    [("gke-managed", "network.nodeCidr"), ("gke-managed", "region"), ("gke-managed", "availability")],
)
def test_with_a_network_or_a_cluster_all_is_replaced_that_is_in_it(column: str, key: str, tmp_path: Path) -> None:
    running = Running(key, column, tmp_path)
    changes = running.edit()
    assert refusals(changes) == []
    replaced = {each.type for each in changes if each.op == "replace"}
    assert {CLUSTERS[0], POOLS[0], "pulumi:providers:kubernetes", "kubernetes:core/v1:ConfigMap"} <= replaced
    assert running.deployment.missing() == []
    assert running.edit() == [], "a second update changes nothing"


@pytest.mark.parametrize("column", ["gke-managed", "eks-karpenter", "aks-managed"])
def test_another_name_of_an_access_takes_nobodys_log_in_away(column: str, tmp_path: Path) -> None:
    running = Running("access[].name", column, tmp_path)
    changes = running.edit()
    assert refusals(changes) == []
    assert {each.type.partition(":")[0] for each in changes if each.op != "update"} == {"kubernetes"}
    assert running.deployment.missing() == []


@pytest.mark.parametrize(
    ("column", "key", "cluster"),
    [
        ("eks-cluster-autoscaler", "network.serviceCidr", CLUSTERS[1]),
        ("eks-cluster-autoscaler", "security.rolePath", CLUSTERS[1]),
        ("aks-managed", "network.podCidr", CLUSTERS[2]),
        ("aks-managed", "region", CLUSTERS[2]),
    ],
)
def test_the_pools_of_a_replaced_cluster_are_made_again_in_the_same_update(
    column: str, key: str, cluster: str, tmp_path: Path
) -> None:
    running = Running(key, column, tmp_path)
    changes = running.edit()
    assert refusals(changes) == []
    assert {cluster, *POOLS} & {each.type for each in changes if each.op == "replace"} > {cluster}
    assert running.deployment.missing() == []


@pytest.mark.parametrize(
    ("key", "remedy"),
    [
        ("network.nodeCidr", "Write nodeCidr: 10.0.0.0/20"),
        ("network.existing.network", "virtualNetworks/company, subnets: [gpu-nodes]}"),
        ("network.existing.privateDnsZone", "Take privateDnsZone out"),
        ("adminPool.machineType", "Write machineType: Standard_E2as_v5"),
        ("adminPool.diskGb", "Write diskGb: 50"),
    ],
)
def test_what_azure_cannot_change_is_refused_before_anything_is_made(key: str, remedy: str, tmp_path: Path) -> None:
    running = Running(key, "aks-managed", tmp_path)
    (refused,) = running.edit()
    assert (refused.op, refused.type) == ("refuse", "")
    assert f"{key.removesuffix('.network')}: " in refused.why
    assert remedy in refused.why
