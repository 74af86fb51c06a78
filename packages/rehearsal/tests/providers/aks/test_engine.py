"""The engine drives the simulated Azure provider: create, no change, requested replacement, refusal, destroy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from packages.rehearsal.tests.engine_project import REAL_ENGINE, Project
from packages.rehearsal.tests.noting_fleet import NotingFleet
from packages.rehearsal.tests.providers.aks import account as aks
from rehearsal.providers.aks import AzureNativeProvider
from rehearsal.providers.server import serve

pytestmark = REAL_ENGINE

PRINCIPAL = "8111abe6-0ac2-523a-8b87-2d784f1901ec"
"""The one of the identity ``control-plane``."""

PROGRAM = """
import json, pulumi
from importlib.metadata import version

values = json.load(open("values.json"))
made = []
for name, (token, inputs, options) in values.items():
    options = pulumi.ResourceOptions(depends_on=made[-1:], version=version("pulumi-azure-native"), **options)
    made.append(pulumi.CustomResource(token, name, {**inputs, "provisioningState": None, "name": None}, options))
    pulumi.export(name, made[-1].id)
"""


@dataclass(frozen=True)
class Azure:
    """A project and the machines behind it."""

    project: Project
    fleet: NotingFleet

    def write(self, pool: dict[str, Any] | None = None, **options: Any) -> None:
        """The whole chain from the group to a GPU pool, in which ``pool`` changes."""
        place = {"resourceGroupName": "gpu-dev"}
        self.project.write(
            group=[aks.GROUP, place, {}],
            network=[aks.NETWORK, aks.network(), {}],
            subnet=[aks.SUBNET, aks.subnet(), {}],
            identity=[aks.IDENTITY, {**place, "resourceName": "control-plane"}, {}],
            role=[aks.ROLE_ASSIGNMENT, aks.role(principalId=PRINCIPAL), {}],
            cluster=[aks.CLUSTER, aks.cluster(), {}],
            pool=[aks.POOL, aks.gpu_pool(**(pool or {})), {"ignore_changes": ["count"], **options}],
        )


@pytest.fixture
def azure(tmp_path: Path) -> Iterator[Azure]:
    fleet = NotingFleet()
    provider = AzureNativeProvider(tmp_path / "cloud", fleet)
    server = serve(provider, log_file=tmp_path / "provider.log")
    made = Azure(Project.create(tmp_path, PROGRAM, {provider: server.port}), fleet)
    for key, value in {"subscriptionId": aks.SUBSCRIPTION, "location": "eastus"}.items():
        made.project.run("config", "set", "--stack=test", f"azure-native:{key}", value)
    yield made
    server.stop()
    provider.close()


def test_a_pool_through_the_engine(azure: Azure) -> None:
    azure.write()
    azure.project.preview()
    assert azure.fleet.groups == {}
    azure.project.up()
    assert set(azure.fleet.groups) == {"system", "t4spot"}

    azure.write({"count": 3})
    again = azure.project.up()
    assert "8 unchanged" in again

    # The provider sends an update, which Azure refuses …
    azure.write({"availabilityZones": ["3"]})
    refused = azure.project.up(refused=True)
    assert "PropertyChangeNotAllowed" in refused
    # … unless the program asks for a replacement.
    azure.write({"availabilityZones": ["3"]}, replace_on_changes=["availabilityZones"], delete_before_replace=True)
    replaced = azure.project.up()
    assert "1 replaced" in replaced
    assert azure.fleet.groups["t4spot"].nodes.zones == ("eastus-3",)

    azure.write({"availabilityZones": ["3"], "vmSize": "Standard_NC8as_T4_v3"})
    resized = azure.project.up()
    assert "1 replaced" in resized
    assert azure.fleet.groups["t4spot"].nodes.machine_type == "Standard_NC8as_T4_v3"

    azure.project.destroy()
    assert azure.fleet.groups == {}
    assert azure.fleet.clusters == {}


def test_a_size_that_is_ignored_is_sent_as_it_was_recorded_and_refused(azure: Azure) -> None:
    azure.write()
    azure.project.up()
    azure.fleet.objects["/api/v1/nodes"] = [{"metadata": {"labels": {"agentpool": "t4spot"}}}]

    azure.write({"maxCount": 5})
    refused = azure.project.up(refused=True)
    assert "Cannot manually scale AgentPool 't4spot'" in refused

    azure.write({"maxCount": 5, "count": 1}, ignore_changes=[])
    azure.project.up()
    assert azure.fleet.groups["t4spot"].scaling.max_nodes == 5


def test_a_pool_that_the_state_has_not_is_imported_by_command_and_stays_as_it_is(azure: Azure) -> None:
    azure.write()
    azure.project.up()
    (pool,) = azure.project.resources(aks.POOL)
    azure.project.run("state", "delete", "--stack=test", "--yes", pool["urn"])
    options = ("--stack=test", "--yes", "--skip-preview", "--generate-code=false", "--protect=false")
    azure.project.run("import", *options, aks.POOL, "pool", pool["id"])

    # As the program declares it: an update without Azure's own label would take that away.
    azure.write({"nodeLabels": {"team": "vision", "kubernetes.azure.com/scalesetpriority": "spot"}})
    before = azure.fleet.groups["t4spot"]
    settled = azure.project.up()
    assert "replaced" not in settled
    assert azure.fleet.groups["t4spot"] == before
    assert azure.fleet.recreated == []
    again = azure.project.up()
    assert "8 unchanged" in again, again
