"""What Azure answered to requests for clusters and pools, against what the simulated AKS answers to the same.

``recorded/answers.json``: requests of Azure's own command and operator with their answers (MIT), both cut to what
concerns cluster and pools. A machine of today stands for one that Azure chose or no longer has.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from packages.rehearsal.tests.providers.aks import account as aks
from rehearsal.providers.base import Properties

RECORDED: Final[list[dict[str, Any]]] = json.loads(
    (Path(__file__).parent / "recorded" / "answers.json").read_text("utf-8")
)
GROUP: Final = "azure-native:resources:ResourceGroup"
_PLACE: Final = {"resourceGroupName": "gpu-dev", "resourceName": "gpu-dev"}
_MACHINES: Final = {"standard_nc6s_v3": "Standard_NC4as_T4_v3"}
_EMPTY: Final = (None, "", [], {}, False, 0)

_POOL: Final = ("", "agentPoolProfiles.")
_OF_A_POOL: Final = ("currentOrchestratorVersion", "nodeImageVersion", "orchestratorVersion")
_OWN: Final = (
    "currentKubernetesVersion",
    "kubernetesVersion",
    "nodeResourceGroup",
    "oidcIssuerProfile.issuerURL",
    *(f"{place}{key}" for place in _POOL for key in _OF_A_POOL),
)
"""Of the day or each cluster's own: that they are answered is compared."""
DIFFERENCES: Final = {
    **{
        f"{place}{key}": reason
        for place in _POOL
        for key, reason in {
            "osDiskSizeGB": "of the machine",
            "osDiskType": "of the machine: Azure takes its own disk where that is large enough",
            "provisioningState": "of the moment",
            "vmSize": "another machine stands for it",
        }.items()
    },
    "agentPoolProfiles.securityProfile": "on by default from API 2026-05-01 on, newer than the provider's",
    "nodeProvisioningProfile": "named in the answer from API 2026-05-01 on",
    "windowsProfile": "no request: an administrator for Windows nodes, which the program refuses",
}
"""Fields by path that are not compared, and why."""


@pytest.mark.parametrize("recorded", RECORDED, ids=lambda each: each["name"])
def test_the_answers_are_those_of_azure(recorded: dict[str, Any], azure: aks.Microsoft) -> None:
    assert recorded["licence"] == "MIT"
    different = dict(differences(recorded["answer"], answer(recorded, azure), ""))
    assert {path: how for path, how in different.items() if path not in DIFFERENCES} == {}


def test_no_exception_is_superfluous(tmp_path: Path) -> None:
    accounts = ((each, aks.Microsoft(tmp_path / each["name"])) for each in RECORDED)
    different = {path for each, azure in accounts for path, _ in differences(each["answer"], answer(each, azure), "")}
    assert different == {*DIFFERENCES}


def answer(recorded: dict[str, Any], azure: aks.Microsoft) -> Properties:
    """The simulated answer to the recorded request."""
    inputs = {key: value for key, value in recorded["inputs"].items() if value not in (None, "", {}, [])}
    if recorded["type"] == aks.POOL:
        azure.create(GROUP, {"resourceGroupName": "gpu-dev", "location": "westus2"})
        azure.create(aks.CLUSTER, {**_PLACE, **_cluster({"location": "westus2"})})
        return azure.create(aks.POOL, {**_PLACE, "agentPoolName": "p1", **_with_machine(inputs)}).state
    azure.create(GROUP, {"resourceGroupName": "gpu-dev", "location": inputs["location"]})
    return azure.create(aks.CLUSTER, {**_PLACE, **_cluster(inputs)}).state


def _cluster(inputs: Properties) -> Properties:
    pools = inputs.get("agentPoolProfiles") or [{"name": "nodepool1", "mode": "System", "count": 1}]
    usual = {"dnsPrefix": "recorded", "identity": {"type": "SystemAssigned"}}
    return {**usual, **inputs, "agentPoolProfiles": [_with_machine(pool) for pool in pools]}


def _with_machine(pool: Properties) -> Properties:
    size = pool.get("vmSize")
    return {**pool, "vmSize": _MACHINES.get(size, "Standard_D4ds_v5") if size else None}


def differences(real: Any, simulated: Any, path: str) -> Iterator[tuple[str, str]]:
    """Each field of a recorded answer that is another in the simulated one."""
    if path in _OWN and real and simulated:
        return
    if isinstance(real, dict) and isinstance(simulated, dict):
        for key, value in real.items():
            yield from differences(value, simulated.get(key), f"{path}.{key}".lstrip("."))
    elif isinstance(real, list) and isinstance(simulated, list) and len(real) == len(simulated):
        for one, other in zip(real, simulated, strict=True):
            yield from differences(one, other, path)
    elif real != simulated and not (_is_empty(real) and _is_empty(simulated)):
        yield path, f"real {real}, simulated {simulated}"


def _is_empty(value: Any) -> bool:
    return all(map(_is_empty, value.values())) if isinstance(value, dict) else value in _EMPTY
