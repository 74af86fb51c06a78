"""What is left in a project of Google Cloud, against Google's discovery documents: each kind is found, by reading."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from account.asking import AccountError
from account.clouds.gke.leftovers import GoogleLeftovers
from account.left import leftovers_of, rows_left
from account.rows import ShownRow
from packages.account.tests.clouds.gke.google import DENIED, Answer, FakeGoogle, Sent
from tests.stacks import POOLS_ALONE, ROOT, run_program, settings_of

DEV = ROOT / "Pulumi.dev.yaml"
RESEARCH = ROOT / "examples" / "gke-research.yaml"
TPU = ROOT / "examples" / "gke-tpu.yaml"
NETWORK = "https://www.googleapis.com/compute/v1/projects/my-gcp-project/global/networks"

PARTS: Mapping[str, str] = {
    "gcp:compute/routerNat:RouterNat": "routers",
    "gcp:container/cluster:Cluster": "the cluster",
    "gcp:container/nodePool:NodePool": "the cluster",
    "gcp:projects/iAMMember:IAMMember": "service accounts",
    "gcp:secretmanager/secretIamMember:SecretIamMember": "the identity of pods in the cluster",
    "gcp:storage/bucketIAMMember:BucketIAMMember": "the identity of pods in the cluster",
}
"""Type → what is gone, or found, with it."""


def everywhere(kind: str, *items: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"items": {"regions/us-central1": {kind: [*items]}, "regions/europe-west4": {"warning": {}}}}


def project(
    *,
    compute: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
    networks: Sequence[str] = (),
    firewalls: Sequence[Mapping[str, Any]] = (),
    accounts: Sequence[Mapping[str, Any]] = (),
    repositories: Sequence[str] = (),
    buckets: Sequence[str] = (),
    shares: Sequence[str] = (),
    **answers: Answer,
) -> dict[str, Answer]:
    kinds = (
        "disks", "forwardingRules", "instanceGroupManagers", "instances", "networkEndpointGroups", "resourcePolicies",
        "routers", "subnetworks",
    )  # fmt: skip

    def named(sent: Sent) -> Mapping[str, Any]:
        ((_, filter),) = sent.query
        return {"items": [{"name": name} for name in networks if filter == f'name = "{name}"']}

    return {
        "container.projects.locations.clusters.list": {},
        **{f"compute.{kind}.aggregatedList": everywhere(kind, *(compute or {}).get(kind, ())) for kind in kinds},
        "compute.networks.list": named,
        "compute.firewalls.list": {"items": [*firewalls]},
        "iam.projects.serviceAccounts.list": {"accounts": [*accounts]},
        "artifactregistry.projects.locations.repositories.list": {
            "repositories": [{"name": each} for each in repositories]
        },
        "storage.buckets.list": {"items": [{"name": each} for each in buckets]},
        "file.projects.locations.instances.list": {"instances": [{"name": each} for each in shares]},
        **answers,
    }  # fmt: skip


def rows_of(file: Path, answers: Mapping[str, Answer]) -> tuple[dict[str, ShownRow], FakeGoogle]:
    google: Any = FakeGoogle(answers)
    rows = rows_left(GoogleLeftovers(settings_of(file), google))
    return {row.id.removeprefix("left:"): row for row in rows}, google


def deployed(file: Path) -> tuple[dict[str, Answer], list[tuple[str, str]]]:
    """A project with all that a program declares, and (type, name) of it."""
    inputs: dict[str, list[Mapping[str, Any]]] = {}
    for each in run_program(file).resources:
        if each.type.startswith("gcp:"):
            inputs.setdefault(each.type, []).append(each.inputs)
    name = settings_of(file).cluster_name
    own = {"network": f"{NETWORK}/{name}"}

    def names(type: str, key: str = "name") -> list[str]:
        return [str(each[key]) for each in inputs.get(type, ())]

    account = "gcp:serviceaccount/account:Account"
    answers = project(
        compute={
            "subnetworks": [{"name": each, **own} for each in names("gcp:compute/subnetwork:Subnetwork")],
            "routers": [{"name": each, **own} for each in names("gcp:compute/router:Router")],
            "resourcePolicies": [{"name": each} for each in names("gcp:compute/resourcePolicy:ResourcePolicy")],
        },
        networks=names("gcp:compute/network:Network"),
        accounts=[
            {"email": f"{each['accountId']}@p.iam", "displayName": each["displayName"]} for each in inputs[account]
        ],
        repositories=[f"projects/p/locations/us-central1/repositories/{each}" for each in names(
            "gcp:artifactregistry/repository:Repository", "repositoryId")],
        buckets=names("gcp:storage/bucket:Bucket"),
        shares=[f"projects/p/locations/us-central1-a/instances/{each}" for each in names(
            "gcp:filestore/instance:Instance")],
    )  # fmt: skip
    keys = {account: "accountId", "gcp:artifactregistry/repository:Repository": "repositoryId"}
    return answers, [
        (type, str(each[keys.get(type, "name")])) for type, some in inputs.items() if type not in PARTS for each in some
    ]


@pytest.mark.parametrize("file", [DEV, RESEARCH, TPU], ids=lambda file: file.stem)
def test_every_resource_of_a_stack_is_found(file: Path) -> None:
    answers, declared = deployed(file)
    rows, _ = rows_of(file, answers)
    found = {word for row in rows.values() if row.result != "shown" for word in re.split("[ ,():/@]+", row.detail)}
    assert [(type, name) for type, name in declared if name not in found] == []
    kept = {"repositories", "buckets", "file shares"} if file is RESEARCH else set()
    assert {kind for kind, row in rows.items() if row.result == "warning"} == kept
    assert all("gcloud " in row.remedy for row in rows.values() if row.result != "shown")


def test_what_gke_and_load_balancers_have_made_is_found_and_that_of_others_is_not() -> None:
    def labelled(kind: str, **fields: Any) -> Answer:
        def answer(sent: Sent) -> Mapping[str, Any]:
            own = ("filter", 'labels.goog-k8s-cluster-name = "gpu-dev"') in sent.query
            zone = {"zone": "https://x/zones/us-central1-a", "labels": {"goog-k8s-cluster-name": "gpu-dev"}}
            return everywhere(kind, {"name": f"own-{kind}", **fields, **zone}) if own else everywhere(kind)

        return answer

    own, other = {"network": f"{NETWORK}/gpu-dev"}, {"network": f"{NETWORK}/gpu-dev-eu"}
    rows, google = rows_of(
        DEV,
        {
            **project(
                compute={
                    "forwardingRules": [
                        {"name": "a1b2", "IPAddress": "203.0.113.7"}, {"name": "internal", **own},
                        {"name": "c3d4"}, {"name": "theirs", **other},
                    ],
                    "networkEndpointGroups": [{"name": "k8s1-own", **own}, {"name": "k8s1-theirs", **other}],
                    "instanceGroupManagers": [{"name": "gke-gpu-dev-t4-1-grp"}, {"name": "gke-gpu-development-grp"}],
                },
                firewalls=[{"name": "k8s-fw-a1b2", **own}, {"name": "k8s-fw-c3d4", **other}],
                accounts=[{"email": "x@y", "displayName": "Nodes of cluster gpu-dev-eu"}],
                buckets=["gpu-dev-eu-01234567-checkpoints", "gpu-dev-logs"],
            ),
            "compute.instances.aggregatedList": labelled("instances", machineType="https://x/n1-standard-4"),
            "compute.disks.aggregatedList": labelled("disks", sizeGb="20"),
        },
    )  # fmt: skip
    failed = {kind: row.detail for kind, row in rows.items() if row.result == "failed"}
    assert failed == {
        "instances": "own-instances (n1-standard-4, us-central1-a)",
        "disks": "own-disks (20 GiB, us-central1-a)",
        "forwarding rules": "a1b2 (203.0.113.7), internal",
        "network endpoint groups": "k8s1-own",
        "instance groups": "gke-gpu-dev-t4-1-grp",
        "firewall rules": "k8s-fw-a1b2",
    }
    methods = {sent.method.rpartition(".")[2] for sent in google.sent}
    assert methods == {"aggregatedList", "list"}


def test_a_refusal_ends_no_other_question() -> None:
    rows, _ = rows_of(DEV, {**project(), "compute.disks.aggregatedList": DENIED})
    assert {kind for kind, row in rows.items() if row.result == "not shown"} == {"disks"}
    assert "compute.disks.list" in rows["disks"].remedy
    assert len(rows) == 15


@pytest.mark.parametrize(
    ("answer", "results"),
    [
        ({"clusters": [{"name": "gpu-dev", "location": "us-central1-a"}]}, ["failed"]),
        ({"clusters": [{"name": "gpu-dev", "location": "europe-west4-a"}]}, ["shown"] * 15),
        ({"missingZones": ["us-central1-a"]}, ["not shown", *["shown"] * 14]),
    ],
)
def test_a_cluster_that_is_there_is_the_only_row(answer: Mapping[str, Any], results: list[str]) -> None:
    rows, _ = rows_of(DEV, {**project(), "container.projects.locations.clusters.list": answer})
    assert [row.result for row in rows.values()] == results


def test_on_somebody_elses_cluster_nothing_is_asked() -> None:
    with pytest.raises(AccountError, match="somebody else's"):
        leftovers_of(settings_of(POOLS_ALONE))
