"""Everything that the project declares on AKS, sent to the simulated provider as the engine would send it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pulumi
import pytest
import yaml
from pulumi.runtime import mocks

from packages.rehearsal.tests.providers.aks import account as aks
from rehearsal.providers.aks import AzureNativeProvider
from rehearsal.providers.base import ProviderError
from rehearsal.providers.fixtures import create_fixtures
from tests import one_stack, recorder
from tests.stacks import ROOT, run_with

KEY = (
    f"/subscriptions/{aks.SUBSCRIPTION}/resourceGroups/keys/providers/Microsoft.KeyVault/vaults/vault"
    f"/keys/cluster/versions/{'0123456789abcdef' * 2}"
)
STACKS: dict[str, dict[str, Any]] = {
    "default": {},
    "regional": {"availability": "regional"},
    "a-size-without-trusted-launch": {
        "gpuPools": [{"name": "a100", "gpu": "nvidia-a100-40gb", "gpusPerNode": 8, "maxNodes": 1}]
    },
    "encrypted": {"security": {"kmsKey": KEY}},
    "growing-admin-pool": {"adminPool": {"nodes": 1, "maxNodes": 3}},
    "workloads": {"workloads": {"registry": {}, "checkpoints": {}, "sharedVolume": {}}},
}
Run = Callable[[str], tuple[recorder.Recording, aks.Microsoft]]


class Sent(recorder.Cloud):
    """Lets the simulated provider answer for Azure."""

    azure: aks.Microsoft

    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str, dict[str, Any]]:
        if not args.typ.startswith("azure-native:"):
            return super().new_resource(args)
        if args.resource_id:
            existing = self.azure.read(args.typ, args.resource_id)
            assert existing.id, f"{args.name} is not there"
            return existing.id, existing.state
        made = self.azure.create(args.typ, dict(args.inputs), args.name)
        return made.id, made.state

    def call(self, args: mocks.MockCallArgs) -> tuple[dict[str, Any], list[tuple[str, str]]]:
        if args.token.startswith("pulumi:"):
            return recorder.state_answer(args.token, {}), []
        try:
            return self.azure.provider.invoke(args.token, dict(args.args)), []
        except ProviderError as error:
            return {}, [("", str(error))]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    azure = aks.Microsoft(tmp_path)
    monkeypatch.setattr(Sent, "azure", azure, raising=False)
    monkeypatch.setattr(recorder, "Cloud", Sent)

    def once(stack: str) -> tuple[recorder.Recording, aks.Microsoft]:
        config = one_stack.config("aks", **STACKS[stack])
        config["azure-native:subscriptionId"] = aks.SUBSCRIPTION
        azure.create(aks.GROUP, {"resourceGroupName": "keys"})
        return run_with(config, stack), azure

    yield once
    azure.provider.close()


def test_a_new_private_cluster_is_refused_before_anything_is_made(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(STACKS, "private", {"network": {"privateEndpoint": True}})
    with pytest.raises(pulumi.RunError, match=r"network\.privateEndpoint: "):
        run("private")
    assert len(Sent.azure.provider.inventory()) == 1, "there is the group of the vault, as before"


def test_a_vault_of_another_region_is_refused_before_all_else(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(STACKS, "elsewhere", {"security": {"kmsKey": KEY.replace("/keys/providers", "/far/providers")}})
    Sent.azure.create(aks.GROUP, {"resourceGroupName": "far", "location": "westus2"})
    with pytest.raises(pulumi.RunError, match=r"security\.kmsKey: the vault is in westus2"):
        run("elsewhere")
    assert len(Sent.azure.provider.inventory()) == 2, "there are the groups of the vaults, as before"


@pytest.mark.parametrize("stack", STACKS)
def test_the_simulated_provider_accepts_the_whole_program(run: Run, stack: str) -> None:
    recording, azure = run(stack)
    sent = {each.type for each in recording.resources if each.type.startswith("azure-native:")}
    assert {aks.CLUSTER, aks.POOL} <= sent <= set(AzureNativeProvider.rows)
    assert (aks.ENCRYPTION_SET in sent) == (stack == "encrypted")
    pools = {each.inputs["agentPoolName"] for each in recording.of_type(aks.POOL) if each.inputs}
    assert pools < set(azure.fleet.groups)
    empty = [group for group in azure.fleet.groups.values() if group.machine.gpus]
    assert empty
    assert all(group.scaling.min_nodes == group.initial_nodes == 0 and group.scaling.autoscaled for group in empty)


@pytest.mark.parametrize("brought", [False, True])
def test_the_provider_accepts_a_cluster_in_a_companys_network(
    brought: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whose DNS servers are its own, whose disks have its own key, and which may bring the identities."""
    content = yaml.safe_load((ROOT / "examples" / "aks-company.yaml").read_text())
    config = content["config"]
    if brought:
        folder = f"/subscriptions/{config['azure-native:subscriptionId']}/resourceGroups/identities/providers"
        folder += "/Microsoft.ManagedIdentity/userAssignedIdentities"
        ids = {"nodeIdentity": f"{folder}/nodes", "controlPlaneIdentity": f"{folder}/cluster"}
        config["gpucluster:security"] |= ids
    company = tmp_path / "Pulumi.company.yaml"
    company.write_text(yaml.safe_dump(content))
    azure = aks.Microsoft(tmp_path)
    create_fixtures(company, azure.provider)
    azure.provider.configure({"subscriptionId": config["azure-native:subscriptionId"], "location": "eastus"})
    monkeypatch.setattr(Sent, "azure", azure, raising=False)
    monkeypatch.setattr(recorder, "Cloud", Sent)
    cluster = run_with(config, "company").only(aks.CLUSTER)
    azure.provider.close()
    assert cluster.inputs["apiServerAccessProfile"]["enablePrivateCluster"]
    assert cluster.inputs["networkProfile"]["outboundType"] == "userDefinedRouting"
    (identity,) = cluster.inputs["identity"]["userAssignedIdentities"]
    assert identity.endswith("/cluster") is brought
