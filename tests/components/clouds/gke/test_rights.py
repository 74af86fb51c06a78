"""What ``make quota`` names is enough for all that a stack declares, as the simulated Google asks for it."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import NamedTuple

import pytest

from components.settings.quotas import UNLIMITED, listed, used
from facts.catalog.gke.rights import OF_SETTINGS, needed
from rehearsal.providers.gke import GcpProvider
from tests.components.settings.test_clouds import load_stack
from tests.stacks import ROOT, STACK_FILES, cloud_of, run_program, settings_of


class Role(NamedTuple):
    """An API, and prefixes of what the role permits of it: https://cloud.google.com/iam/docs/roles-permissions."""

    api: str
    permissions: tuple[str, ...]


ROLES = {
    "roles/artifactregistry.admin": Role("artifactregistry", ("artifactregistry.repositories.",)),
    "roles/cloudkms.admin": Role("cloudkms", ("cloudkms.cryptoKeys.",)),
    "roles/compute.instanceAdmin.v1": Role("compute", ("compute.resourcePolicies.",)),
    "roles/compute.networkAdmin": Role(
        "compute", ("compute.addresses.", "compute.networks.", "compute.routers.", "compute.subnetworks.")
    ),
    "roles/compute.networkViewer": Role("compute", ("compute.subnetworks.get",)),
    "roles/compute.viewer": Role("compute", ("compute.instanceGroupManagers.list",)),
    "roles/container.admin": Role("container", ("container.",)),
    "roles/file.editor": Role("file", ("file.instances.",)),
    "roles/iam.serviceAccountAdmin": Role("iam", ("iam.serviceAccounts.",)),
    "roles/iam.serviceAccountUser": Role("iam", ("iam.serviceAccounts.actAs",)),
    "roles/resourcemanager.projectIamAdmin": Role("cloudresourcemanager", ("resourcemanager.projects.setIamPolicy",)),
    "roles/secretmanager.admin": Role("secretmanager", ("secretmanager.secrets.",)),
    "roles/storage.admin": Role("storage", ("storage.buckets.",)),
}
GKE = [file for file in STACK_FILES if cloud_of(file) == "gke"]
TPU7X = {"name": "tpu7x", "gpu": "google-tpu7x", "gpusPerNode": 4, "maxNodes": 2, "hourlyUsd": 1}


@pytest.mark.parametrize("file", GKE, ids=lambda file: file.stem)
def test_the_roles_and_apis_cover_what_the_stack_declares(file: Path) -> None:
    settings = settings_of(file)
    text = listed(settings, UNLIMITED)
    roles = {line.partition(" on ")[0] for line in text.splitlines() if line.startswith("roles/")}
    enable = " ".join(line for line in text.splitlines() if line.startswith("gcloud services enable"))
    assert f"--project {settings.project} " in enable
    for token in {each.type for each in run_program(file).resources if each.type in GcpProvider.rows}:
        permission = GcpProvider.rows[token].permission.format(action="create")
        granting = {role for role in roles if permission.startswith(ROLES[role].permissions)}
        assert granting, f"no role grants {permission}, for {token}: add one to facts/catalog/gke/data/rights.csv"
        assert all(f" {ROLES[role].api}.googleapis.com" in enable for role in granting)


def test_a_small_stack_is_asked_for_no_more_than_it_needs() -> None:
    lines = listed(settings_of(ROOT / "Pulumi.dev.yaml"), UNLIMITED).splitlines()
    assert [line for line in lines if line.startswith("roles/")] == [
        "roles/container.admin on the project",
        "roles/iam.serviceAccountUser on the project",
        "roles/resourcemanager.projectIamAdmin on the project",
        "roles/iam.serviceAccountAdmin on the project",
        "roles/compute.networkAdmin on the project",
    ]
    assert not any("storage" in line or "secretmanager" in line for line in lines)


def test_in_an_existing_network_nothing_is_created_and_other_projects_are_named() -> None:
    text = listed(settings_of(ROOT / "examples" / "gke-company.yaml"), UNLIMITED)
    enable = {one.split()[4]: one.split()[5:] for one in text.splitlines() if one.startswith("gcloud services enable")}
    assert "STATIC_ADDRESSES" not in text, "its addresses are not this project's"
    assert "roles/compute.networkAdmin" not in text
    assert "roles/compute.networkViewer on the network's project" in text
    assert "roles/compute.viewer on the project" in text, "the provider lists the pools' instance groups"
    assert enable["my-host-project"] == ["container.googleapis.com"]
    assert enable["my-keys-project"] == ["cloudkms.googleapis.com"]
    assert enable["my-images-project"] == ["artifactregistry.googleapis.com"]
    assert "compute.googleapis.com" in enable["my-gcp-project"]
    assert "cloudkms.googleapis.com" not in enable["my-gcp-project"]


def test_a_command_to_copy_runs_nothing_that_a_name_holds() -> None:
    lines = needed("my-project", {"security.kmsKey": ("projects/p;$(id) `id`/locations/l",)})
    projects = [shlex.split(line)[4] for line in lines if line.startswith("gcloud ")]
    assert projects == ["my-project", "p;$(id) `id`"]


def test_research_needs_the_roles_of_its_buckets_and_secrets() -> None:
    text = listed(settings_of(ROOT / "examples" / "gke-research.yaml"), UNLIMITED)
    assert "roles/secretmanager.admin on each secret" in text
    assert "roles/storage.admin on each bucket" in text
    assert " secretmanager.googleapis.com" in text


def test_every_setting_with_a_right_of_its_own_is_looked_at() -> None:
    key = "projects/p/locations/us-central1/keyRings/r/cryptoKeys/k"
    settings = load_stack(
        "gke",
        security={"kmsKey": key, "diskKey": key, "dataKey": key},
        gpuPools=[{"name": "t4", "gpu": "nvidia-t4", "maxNodes": 1, "imageStreaming": True}],
        workloads={"registry": {}, "pullFrom": ["projects/p/locations/us/repositories/r"], "checkpoints": {}},
        identities=[{"serviceAccount": "default/reader", "read": ["my-data"], "write": ["mine"], "secrets": ["token"]}],
    )
    shared = load_stack("gke", workloads={"sharedVolume": {}})
    existing = {"network": "n", "subnets": ["s"], "podRange": "p", "serviceRange": "q"}
    allowed = [{"name": "office", "cidr": "203.0.113.0/24"}]
    slices = load_stack("gke", zones=["us-central1-c"], gpuPools=[{**TPU7X, "topology": "2x2x2"}])
    nodes = {"nodeIdentity": "gpu-nodes@p.iam.gserviceaccount.com"}
    company = load_stack("gke", security=nodes, network={"existing": existing, "authorizedNetworks": allowed})
    assert {*used(settings), *used(shared), *used(company), *used(slices)} == set(OF_SETTINGS)
    assert len(OF_SETTINGS) == 16
    assert set(used(load_stack("gke"))) == {"network", "nodes"}
    assert set(used(company)) == {"network.existing", "security.nodeIdentity"}
    alone = load_stack("gke", zones=["us-central1-c"], gpuPools=[TPU7X])
    assert not OF_SETTINGS.keys() & used(alone).keys() - {"network", "nodes"}
