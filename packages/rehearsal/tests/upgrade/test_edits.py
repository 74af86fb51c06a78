"""Each value of every_key.yaml is an edit of a running stack: what the update does to what holds nodes, jobs or data.

There is no engine: the program is real, the clouds are simulated, and each registration goes through their providers.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from components.settings import SettingsError
from components.settings.read import NAMESPACE
from facts import catalog
from facts.catalog.changes import Effects
from packages.rehearsal.tests.upgrade.deployment import Change, Deployment
from packages.rehearsal.tests.upgrade.released import program
from rehearsal.engine.stack import ROOT
from rehearsal.providers.base import ProviderError
from rehearsal.providers.eks import scaling_group
from rehearsal.providers.fixtures import create_fixtures
from tests.one_stack import WORDS
from tests.program.test_every_key import CHANGES, COLUMNS, Config, asked, before_and_after

pytestmark = pytest.mark.slow

HOLDERS: Final = {
    "gcp:artifactregistry/repository:Repository": "registry",
    "aws:ecr/repository:Repository": "registry",
    "azure-native:containerregistry:Registry": "registry",
    "gcp:storage/bucket:Bucket": "bucket",
    "aws:s3/bucket:Bucket": "bucket",
    "azure-native:storage:StorageAccount": "bucket",
    "gcp:filestore/instance:Instance": "volume",
    "aws:efs/fileSystem:FileSystem": "volume",
    "aws:kms/key:Key": "key",
    "kubernetes:core/v1:PersistentVolumeClaim": "volume claim",
    "kubernetes:apps/v1:StatefulSet": "pods",
    "kubernetes:apps/v1:Deployment": "pods",
}
"""What else holds jobs or data: type → its word on the page."""
WAITING: Final = {
    "kubernetes:karpenter.sh/v1:NodePool": ("spec.template.",),
    "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass": ("spec.",),
    # Its tags are those of running machines as well: facts/catalog/aks/data/changes.csv.
    "kubernetes:karpenter.azure.com/v1beta1:AKSNodeClass": ("spec.imageFamily", "spec.osDiskSizeGB", "spec.gpu"),
    "aws:eks/nodeGroup:NodeGroup": ("launchTemplate.", "version"),
    "azure-native:containerservice:AgentPool": ("orchestratorVersion", "osSKU"),
}
"""What Karpenter applies to new nodes only (https://karpenter.sh/docs/concepts/disruption/#drift), and what the program
leaves as it is while a GPU pool has nodes: here it has none."""
CLUSTERS: Final = (
    "gcp:container/cluster:Cluster",
    "aws:eks/cluster:Cluster",
    "azure-native:containerservice:ManagedCluster",
)
CLOUD_POOLS: Final = (
    "gcp:container/nodePool:NodePool",
    "aws:eks/nodeGroup:NodeGroup",
    "azure-native:containerservice:AgentPool",
)
POOLS: Final = (*CLOUD_POOLS, "kubernetes:karpenter.sh/v1:NodePool")
ENDING: Final = frozenset((*CLUSTERS, *POOLS, *HOLDERS))


class Running:
    """A small stack that runs, with what it names of others, and the stack file with another value of ``key``.

    Raises ``SettingsError``: today's settings refuse it before the edit.
    """

    def __init__(self, key: str, column: str, folder: Path) -> None:
        self._folder = folder
        self._before, self._after = map(stack_file, before_and_after(key, COLUMNS[column]))
        files = [folder / "every-key.yaml", folder / "edited.yaml"]
        for file, config in zip(files, (self._before, self._after), strict=True):
            file.write_text(yaml.safe_dump({"config": config}))
        self.deployment = Deployment(files[0], folder, {})
        for file in files:
            with contextlib.suppress(SettingsError, ProviderError):  # the program refuses it; they are there already
                create_fixtures(file, self.deployment.cloud)
        self.created = self.deployment.update(program(ROOT))

    def starts(self) -> bool:
        """Whether a new stack with the other value is accepted; its provider is in its own region."""
        file = self._folder / "edited.yaml"
        if "aws:region" in self._after:
            own = {**self._after, "aws:region": self._after[f"{NAMESPACE}:region"]}
            file.write_text(yaml.safe_dump({"config": own}))
        try:
            deployment = Deployment(file, self._folder, {})
        except SettingsError:
            return False
        with contextlib.suppress(ProviderError):  # they are there already
            create_fixtures(file, deployment.cloud)
        return refusals(deployment.update(program(ROOT))) == []

    def edit(self) -> list[Change]:
        """What the update with the other value does."""
        removed = {key: None for key in self._before if key not in self._after}
        return self.deployment.update(program(ROOT), **self._after, **removed)


def stack_file(config: Config) -> dict[str, Any]:
    """The keys with their namespace, and the account's."""
    account = WORDS[config["cloud"]]["account"].split(": ")
    return {account[0]: account[1], **{f"{NAMESPACE}:{key}": value for key, value in config.items()}}


def effect(running: Running) -> tuple[str, str] | None:
    """What the edit does, as ``preview`` and ``job`` of ``facts/catalog/<cloud>/data/changes.csv`` say it; ``None`` if
    a new stack is refused as well, so that none runs with the one value or the other."""
    if refusals(running.created):
        return None
    recreated = len(running.deployment.fleet.recreated)
    changes = running.edit()
    refused = [each for each in changes if each.op == "refuse"]
    assert [each for each in refused if each.type] == [], "it fails half way"
    if refused:
        return ("refused", "runs") if running.starts() else None
    assert running.deployment.missing() == []
    assert running.deployment.drifted(CLOUD_POOLS) == []
    ended = {each.name: each.type for each in changes if each.op in ("replace", "delete") and each.type in ENDING}
    if ended:
        named = _named(ended)
        moved = named == "the admin pool" and ended.keys() <= running.deployment.first
        return f"replace of {named}", "moves" if moved else "ends"
    pools = {*running.deployment.fleet.recreated[recreated:]}
    waiting = [
        each.name
        for each in changes
        if each.op == "update" and any(path.startswith(WAITING.get(each.type, ())) for path in each.paths)
    ]
    # A device plugin of new nodes, which are the only ones here.
    shared = any("device-plugin-shared-" in each.name for each in changes)
    if shared or any("gpu" in name.split("-") for name in waiting):
        return "update", "waits"
    if any(name.startswith("gpu") for name in pools) or disturbs(changes, running.deployment):
        return "update", "ends"
    return "update", "moves" if pools or waiting else "runs"


def disturbs(changes: list[Change], deployment: Deployment) -> bool:
    """Whether pods on nodes that stay are evicted."""
    states = {one.registration.name: str(one.inputs) for one in deployment.resources.values()}
    tainted = (
        states[each.name].upper().replace("_", "")
        for each in changes
        if each.type in CLOUD_POOLS and each.op == "update" and any("aint" in path for path in each.paths)
    )
    return any("NOEXECUTE" in state for state in tainted)


def _named(ended: dict[str, str]) -> str:
    """What ends, in the words of the page."""
    if any(type in CLUSTERS for type in ended.values()):
        return "the cluster"
    pools = {name for name, type in ended.items() if type in POOLS}
    if pools:
        admin = any(name.startswith("admin") for name in pools)
        return "all pools" if admin and len(pools) > 1 else "the admin pool" if admin else "the pool"
    return "the " + " and the ".join(sorted({HOLDERS[type] for type in ended.values()}))


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


def test_a_replaced_admin_group_is_made_before_the_former_one_goes_and_keeps_its_name(tmp_path: Path) -> None:
    running = Running("adminPool.machineType", "eks-karpenter", tmp_path)
    changes = running.edit()
    assert refusals(changes) == []
    groups = [each for each in changes if each.type == CLOUD_POOLS[1]]
    assert [(each.op, "nodeGroupName" in each.paths) for each in groups] == [("replace", True), ("delete", False)]
    assert running.deployment.missing() == []
    assert running.edit() == [], "a second update changes nothing"


def test_nodes_of_karpenter_keep_a_role_where_another_path_replaces_it(tmp_path: Path) -> None:
    """The provider takes a role that it deletes out of its instance profiles."""
    running = Running("security.rolePath", "eks-karpenter", tmp_path)
    name = "gpu-every-key-karpenter-nodes"
    for security, path in (({"rolePath": "/platform/"}, "/platform/"), ({}, "/"), ({"rolePath": "/a/"}, "/a/")):
        edit = {f"{NAMESPACE}:security": security}
        assert refusals(running.deployment.update(program(ROOT), **edit)) == []
        answer = running.deployment.cloud.account.call("iam", "GetInstanceProfile", InstanceProfileName=name)
        assert [role["Path"] for role in answer["InstanceProfile"]["Roles"]] == [path]
        assert running.deployment.update(program(ROOT), **edit) == []


@pytest.mark.parametrize(
    ("column", "key", "section", "ends"),
    [
        ("aks-managed", "kubernetes.channel", {"kubernetes": {"channel": "regular", "version": "1.36"}}, "supportPlan"),
        ("aks-node-auto-provisioning", "labels", {"autoscaling": {"autoscaler": "managed"}}, "nodeProvisioningProfile"),
    ],
)
def test_what_aks_is_told_has_ended_is_no_change_of_the_next_update(
    column: str, key: str, section: dict[str, Any], ends: str, tmp_path: Path
) -> None:
    running = Running(key, column, tmp_path)
    assert refusals(running.edit()) == []
    # Another autoscaler is refused, unless an update ended before it made pools.
    for urn in [urn for urn, each in running.deployment.resources.items() if each.registration.type == POOLS[-1]]:
        del running.deployment.resources[urn]
    config = {f"{NAMESPACE}:{name}": value for name, value in section.items()}
    ending = running.deployment.update(program(ROOT), **config)
    assert refusals(ending) == []
    assert [each.op for each in ending if any(path.startswith(ends) for path in each.paths)] == ["update"]
    assert running.deployment.update(program(ROOT), **config) == []


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


def test_a_shared_volume_stays_in_its_zone_and_keeps_its_data(tmp_path: Path) -> None:
    """The first zone of a regional cluster is only where a new volume is made."""
    config, _ = before_and_after("workloads.sharedVolume.onDestroy", COLUMNS["gke-managed"])
    zones = ["us-central1-a", "us-central1-b", "us-central1-c"]
    file = tmp_path / "regional.yaml"
    regional = {**config, "availability": "regional", "zones": zones}
    file.write_text(yaml.safe_dump({"config": stack_file(regional)}))
    deployment = Deployment(file, tmp_path, {})
    assert refusals(deployment.update(program(ROOT))) == []
    for others in (zones[1:], zones[::-1]):
        changes = deployment.update(program(ROOT), **{f"{NAMESPACE}:zones": others})
        assert refusals(changes) == []
        assert [each for each in changes if each.op in ("replace", "delete") and each.type in ENDING] == []
        assert deployment.missing() == []


@pytest.mark.parametrize("refresh", [False, True])
@pytest.mark.parametrize(("recorded", "now"), [(0, 1), (0, 2), (2, 1), (2, 0), (1, 1)])
def test_an_update_of_something_else_sets_no_size(refresh: bool, recorded: int, now: int, tmp_path: Path) -> None:
    """``recorded``: the size at an update of the maximum, which the state has; an autoscaler changed it to ``now``."""
    running = Running("gpuPools[].maxNodes", "eks-cluster-autoscaler", tmp_path)
    account = running.deployment.cloud.account
    (group,) = (
        scaling_group.name_of(account, each.inputs["clusterName"], each.inputs["nodeGroupName"])
        for each in running.deployment.resources.values()
        if each.registration.type == "aws:eks/nodeGroup:NodeGroup" and each.registration.name.startswith("gpu")
    )
    scaling_group.set_size(account, group, recorded)
    assert refusals(running.edit()) == []
    scaling_group.set_size(account, group, now)
    update = running.deployment.refresh_and_update if refresh else running.deployment.update
    assert refusals(update(program(ROOT))) == []
    assert scaling_group.describe(account, group)["DesiredCapacity"] == now


@pytest.mark.parametrize("refresh", [False, True])
@pytest.mark.parametrize("now", [0, 1, 2])
def test_azure_is_sent_the_size_that_a_pool_has(refresh: bool, now: int, tmp_path: Path) -> None:
    """It refuses another one."""
    running = Running("gpuPools[].maxNodes", "aks-managed", tmp_path)
    nodes = [{"metadata": {"labels": {"agentpool": "gpu"}}}] * now
    running.deployment.fleet.objects["/api/v1/nodes"] = nodes
    update = running.deployment.refresh_and_update if refresh else running.deployment.update
    assert refusals(update(program(ROOT))) == []
    assert refusals(running.edit()) == []


def test_a_replacement_has_the_inputs_of_the_program_and_not_the_ignored_ones_of_before(tmp_path: Path) -> None:
    """A zonal cluster with the zones of the regional one is refused."""
    config, _ = before_and_after("workloads.notebook.image", COLUMNS["gke-managed"])
    zones = ["us-central1-a", "us-central1-b", "us-central1-c"]
    file = tmp_path / "regional.yaml"
    file.write_text(yaml.safe_dump({"config": stack_file({**config, "availability": "regional", "zones": zones})}))
    deployment = Deployment(file, tmp_path, {})
    assert refusals(deployment.update(program(ROOT))) == []
    changes = deployment.update(
        program(ROOT), **{f"{NAMESPACE}:availability": "zonal", f"{NAMESPACE}:zones": zones[1:2]}
    )
    assert refusals(changes) == []
    assert CLUSTERS[0] in {each.type for each in changes if each.op == "replace"}
    (cluster,) = (each for each in deployment.resources.values() if each.registration.type == CLUSTERS[0])
    assert cluster.registration.ignore_changes
    assert not cluster.inputs.get("nodeLocations")


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


IN_THE_TABLES: Final = {
    "gpuPools": "pool-renamed",
    "gpuPools[].name": "pool-renamed",
    "gpuPools[].diskGb": "disk",
    "gpuPools[].labels": "label",
    "gpuPools[].maxNodes": "maximum-raised",
    "labels": "tag",
}
"""Key → the change of the page's first tables that its edit is."""
INSTEAD: Final = {f"{name} network.existing": "network.existing.network" for name in COLUMNS if name.startswith("aks")}
"""On Azure no stack without an existing network could name one later: its control plane would become private."""
ELSEWHERE: Final = frozenset(
    {
        "kubernetes.version",  # what becomes of nodes depends on them: day two plays it
        *(f"network.existing.{each}" for each in ("network", "subnets", "podRange", "serviceRange")),  # as `existing`
    }
)


def rows(column: str) -> Effects:
    """What the page says of this cloud and autoscaler."""
    return catalog.of(COLUMNS[column].cloud).changes[COLUMNS[column].autoscaler]


def edits() -> Iterator[Any]:
    """Each key in each column."""
    for name, column in COLUMNS.items():
        for key in sorted({*asked(column), *(rows(name).keys() & CHANGES)} - ELSEWHERE):
            before = before_and_after(key, column)[0].get("autoscaling", {}).get("autoscaler")
            if (before or catalog.of(column.cloud).choices.autoscalers[0]) != column.autoscaler:
                continue  # an edit of another column
            yield pytest.param(name, key, id=f"{name}-{key}")


@pytest.mark.parametrize(("column", "key"), [*edits()])
def test_an_edit_does_what_the_page_says(column: str, key: str, tmp_path: Path) -> None:
    try:
        edited = effect(Running(INSTEAD.get(f"{column} {key}", key), column, tmp_path))
    except SettingsError:
        edited = None
    row = rows(column).get(IN_THE_TABLES.get(key, key))
    if key in IN_THE_TABLES:
        assert edited is not None
        assert row is not None
        assert row.preview.startswith(edited[0].split()[0])
        assert edited[1] == row.job.replace("others", "ends")
    else:
        assert (edited or ("update", "runs")) == ((row.preview, row.job) if row else ("update", "runs"))
