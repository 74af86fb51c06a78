"""An input that a later program leaves out stays on the cloud as it was, until one says that it has ended."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from packages.rehearsal.tests.providers.aks import account as aks
from packages.rehearsal.tests.providers.driver import Account, changed
from packages.rehearsal.tests.providers.gke import account as gke
from rehearsal.providers.base import at

GROUPS = "gke-security-groups@example.com"
POOLS = {gke.POOL: gke.gpu_pool, aks.POOL: aks.gpu_pool}


@pytest.fixture
def account(cloud: type[Account], tmp_path: Path) -> Iterator[Account]:
    made = cloud(tmp_path)
    yield made
    made.stop()


# The cloud, a type, the inputs that stay, what they were, and what ends each. Of AWS: eks/diffs.yaml.
@pytest.mark.parametrize(
    ("cloud", "type", "path", "was", "ended"),
    [
        (gke.Google, gke.CLUSTER, "authenticatorGroupsConfig", {"securityGroup": GROUPS}, {"securityGroup": ""}),
        (
            gke.Google,
            gke.CLUSTER,
            "addonsConfig.gcpFilestoreCsiDriverConfig",
            {"enabled": True},
            {"enabled": False},
        ),
        (
            gke.Google,
            gke.POOL,
            "nodeDrainConfigs",
            [{"graceTerminationDuration": "600s"}],
            [{"graceTerminationDuration": "3600s"}],
        ),
        (aks.Microsoft, aks.CLUSTER, "nodeProvisioningProfile", {"mode": "Auto"}, {"mode": "Manual"}),
        (aks.Microsoft, aks.POOL, "upgradeSettings.drainTimeoutInMinutes", 60, 30),
        (aks.Microsoft, aks.POOL, "upgradeSettings.undrainableNodeBehavior", "Cordon", "Schedule"),
    ],
)
def test_what_is_left_out_stays_and_what_is_named_as_ended_ends(
    account: Any, type: str, path: str, was: Any, ended: Any
) -> None:
    part = changed({}, {path: was})
    account.cluster(**({} if type in POOLS else part))
    if type in POOLS:
        account.create(type, POOLS[type](**part))
    made = account.made[-1][1]
    assert at(made.state, path) == was
    left_out = changed(made.inputs or {}, {path: None})
    assert at(account.update(type, made, left_out), path) == was
    assert at(account.update(type, made, changed(left_out, {path: ended})), path) == ended


def test_long_term_support_ends_with_its_plan_and_not_with_its_tier(azure: aks.Microsoft) -> None:
    standard = {"sku": {"name": "Base", "tier": "Standard"}}
    azure.cluster(supportPlan="AKSLongTermSupport", sku={"name": "Base", "tier": "Premium"})
    made = azure.made[-1][1]
    assert azure.update(aks.CLUSTER, made, aks.cluster(**standard))["supportPlan"] == "AKSLongTermSupport"
    ended = aks.cluster(**standard, supportPlan="KubernetesOfficial")
    assert azure.update(aks.CLUSTER, made, ended)["supportPlan"] == "KubernetesOfficial"
