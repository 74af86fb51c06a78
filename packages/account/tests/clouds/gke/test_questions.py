"""What a project of Google Cloud is asked, against Google's discovery documents: all problems at once, by reading."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import requests
import typer
import yaml

from account.asking import AccountError, answers
from account.clouds.gke import rest, rights
from account.clouds.gke.questions import GoogleProject
from account.command import ask
from account.rows import ShownRow
from components.settings import Settings, from_stack_file
from components.settings.quotas import quotas
from gpucluster.commands.account import account
from packages.account.tests.clouds.gke.google import DENIED, MISSING, Answer, FakeGoogle, Refusal, Sent, disabled
from rehearsal.providers import account_limits
from tests.stacks import POOLS_ALONE, ROOT, settings_of, stack_file

PAGE = (ROOT / "docs" / "proving.md").read_text()
DEV = ROOT / "Pulumi.dev.yaml"
COMPANY = ROOT / "examples" / "gke-company.yaml"
RESEARCH = ROOT / "examples" / "gke-research.yaml"
ZONES = ("us-central1-a", "us-central1-b", "us-central1-c", "us-central1-f")
PROJECT = "https://www.googleapis.com/compute/v1/projects/my-gcp-project"


def asked_for(sent: Sent) -> list[str]:
    (filter,) = (value for key, value in sent.query if key == "filter")
    return re.findall(r'name = "([^"]+)"', filter)


def everywhere(kind: str, *zones: str) -> Answer:
    """All that is asked for, in these zones and one of another region."""

    def answer(sent: Sent) -> Mapping[str, Any]:
        listed = [{"name": name} for name in asked_for(sent)]
        return {"items": {f"zones/{zone}": {kind: listed} for zone in (*zones, "europe-west4-a")}}

    return answer


def roomy_quotas(limit: float, used: float = 0) -> Mapping[str, Any]:
    names = {quota.name for file in (DEV, COMPANY, RESEARCH) for quota in quotas(settings_of(file))}
    plain = {name for name in names if "(" not in name}
    return {"quotas": [{"metric": name, "limit": limit, "usage": used} for name in sorted(plain)]}


def held(*missing: str) -> Answer:
    """All permissions that are tested but these."""

    def answer(sent: Sent) -> Mapping[str, Any]:
        tested = sent.body["permissions"] if sent.body else [value for key, value in sent.query if key == "permissions"]
        return {"permissions": [each for each in tested if each not in missing]}

    return answer


def enabled(*off: str) -> Answer:
    def answer(sent: Sent) -> Mapping[str, Any]:
        names = [value for key, value in sent.query if key == "names"]
        return {
            "services": [{"name": name, "state": "DISABLED" if name.endswith(off) else "ENABLED"} for name in names]
        }

    return answer if off else enabled("no such API")


SUBNET = {
    "name": "gpu-nodes",
    "network": "https://www.googleapis.com/compute/v1/projects/my-host-project/global/networks/company",
    "ipCidrRange": "10.9.0.0/20",
    "secondaryIpRanges": [{"rangeName": "gpu-pods"}, {"rangeName": "gpu-services"}],
}
TESTS = (
    "cloudresourcemanager.projects.testIamPermissions",
    "compute.subnetworks.testIamPermissions",
    "cloudkms.projects.locations.keyRings.cryptoKeys.testIamPermissions",
    "artifactregistry.projects.locations.repositories.testIamPermissions",
    "storage.buckets.testIamPermissions",
    "secretmanager.projects.secrets.testIamPermissions",
)
TEST_OF_ACCOUNT = "iam.projects.serviceAccounts.testIamPermissions"
ROOMY: Mapping[str, Answer] = {
    "cloudbilling.projects.getBillingInfo": {"billingEnabled": True, "billingAccountName": "billingAccounts/0"},
    "serviceusage.services.batchGet": enabled(),
    "compute.zones.list": {
        "items": [{"name": zone, "region": f"{PROJECT}/regions/us-central1", "status": "UP"} for zone in ZONES]
    },
    "compute.machineTypes.aggregatedList": everywhere("machineTypes", *ZONES),
    "compute.acceleratorTypes.aggregatedList": everywhere("acceleratorTypes", *ZONES),
    "compute.regions.get": roomy_quotas(1_000_000),
    "compute.projects.get": roomy_quotas(1_000_000),
    "serviceusage.services.consumerQuotaMetrics.get": {
        "consumerQuotaLimits": [{"quotaBuckets": [{"effectiveLimit": "1000000"}]}]
    },
    "container.projects.locations.clusters.list": {},
    "iam.projects.serviceAccounts.list": {},
    "compute.networks.list": {},
    "compute.subnetworks.aggregatedList": {},
    "compute.subnetworks.get": SUBNET,
    "cloudkms.projects.locations.keyRings.cryptoKeys.get": {"primary": {"state": "ENABLED"}},
    **dict.fromkeys((*TESTS, TEST_OF_ACCOUNT), held()),
}


OF_DEV = {*ROOMY} - {
    *TESTS[1:],
    TEST_OF_ACCOUNT,
    "compute.subnetworks.get",
    "cloudkms.projects.locations.keyRings.cryptoKeys.get",
    "serviceusage.services.consumerQuotaMetrics.get",
}


def rows_with(settings: Settings, changes: Mapping[str, Answer] | None = None) -> dict[str, ShownRow]:
    project = GoogleProject(settings, FakeGoogle({**ROOMY, **(changes or {})}))
    return {row.id: row for row in answers(project.questions(), project.unanswered)}


def settings_with(**changes: Any) -> Settings:
    config = yaml.safe_load(DEV.read_text())["config"]
    return from_stack_file(
        stack_file("asked", {**config, **{f"gpucluster:{key}": each for key, each in changes.items()}})
    )


@pytest.mark.parametrize("file", [DEV, COMPANY, RESEARCH], ids=lambda file: file.stem)
def test_a_roomy_project_has_no_problem_and_is_only_read(file: Path) -> None:
    fake = FakeGoogle(ROOMY)
    project = GoogleProject(settings_of(file), fake)
    rows = [*answers(project.questions(), project.unanswered)]
    assert {row.result for row in rows} == {"shown"}, [row for row in rows if row.result != "shown"]
    reading = r".*\.(get\w*|list|aggregatedList|batchGet|testIamPermissions)"
    assert [sent.method for sent in fake.sent if not re.fullmatch(reading, sent.method)] == []
    tested = [each for sent in fake.sent if sent.method == TESTS[0] for each in sent.body["permissions"]]
    assert tested == [*rights.TABLE.needed(settings_of(file))]


def cluster(name: str, location: str) -> Mapping[str, Any]:
    return {"clusters": [{"name": name, "location": location}]}


@pytest.mark.parametrize(
    ("changes", "row", "result", "words", "remedy"),
    [
        (
            {"cloudbilling.projects.getBillingInfo": {"billingEnabled": False}},
            "billing", "failed", "none is enabled", "gcloud billing projects link my-gcp-project",
        ),
        (
            {"serviceusage.services.batchGet": enabled("container.googleapis.com", "iam.googleapis.com")},
            "apis:my-gcp-project", "failed", "not enabled: container.googleapis.com, iam.googleapis.com",
            "gcloud services enable --project my-gcp-project container.googleapis.com iam.googleapis.com",
        ),
        (
            {"compute.zones.list": {"items": [
                {"name": "us-central1-b", "region": "regions/us-central1", "status": "UP"},
            ]}},
            "zone:us-central1-a", "failed", "your project has no such zone", "write any of us-central1-b in `zones`",
        ),
        (
            {"compute.zones.list": {"items": [
                {"name": "us-central1-a", "region": "regions/us-central1", "status": "DOWN"},
            ]}},
            "zone:us-central1-a", "failed", "its status is DOWN", "",
        ),
        (
            {"compute.machineTypes.aggregatedList": everywhere("machineTypes", "us-central1-f")},
            "machine:t4-4", "failed", "n1-standard-16 is not offered in us-central1-a, but in us-central1-f",
            "write other zones in `gpuPools[0].zones`",
        ),
        (
            {"compute.acceleratorTypes.aggregatedList": everywhere("acceleratorTypes", "us-central1-f")},
            "gpu:t4-1", "failed", "nvidia-tesla-t4 is not offered in us-central1-a, but in us-central1-f",
            "write other zones in `gpuPools[0].zones`",
        ),
        (
            {"compute.regions.get": roomy_quotas(4)},
            "quota:PREEMPTIBLE_NVIDIA_T4_GPUS", "failed", "limit 4 GPUs, needed 20 for t4-1, t4-4; 0 in use now",
            "Request 20 of PREEMPTIBLE_NVIDIA_T4_GPUS in us-central1: https://",
        ),
        (
            {"compute.regions.get": roomy_quotas(10_000, 9_990)},
            "quota:PREEMPTIBLE_NVIDIA_T4_GPUS", "warning", "9990 in use now", "unless this stack is what uses it",
        ),
        (
            {"compute.regions.get": {"quotas": []}},
            "quota:INSTANCES", "not shown", "Google lists no quota INSTANCES in us-central1", "",
        ),
        (
            {"container.projects.locations.clusters.list": cluster("gpu-dev", "us-central1-a")},
            "names", "warning", "one exists in us-central1-a", "write another `clusterName`",
        ),
        (
            {"container.projects.locations.clusters.list": cluster("gpu-dev", "europe-west4-a")},
            "names", "shown", "none in us-central1", "",
        ),
        (
            {"container.projects.locations.clusters.list": {"missingZones": ["us-central1-a"]}},
            "names", "not shown", "Google did not ask us-central1-a", "",
        ),
        (
            {"iam.projects.serviceAccounts.list": {"accounts": [
                {"email": "gpu-dev-nodes@my-gcp-project.iam.gserviceaccount.com"}, {"email": "gpu-developer@x"},
            ]}},
            "accounts", "warning", "exist: gpu-dev-nodes@my-gcp-project.iam.gserviceaccount.com.",
            "gcloud iam service-accounts delete",
        ),
        (
            {"compute.networks.list": {"items": [{"name": "gpu-dev"}]}},
            "networks", "warning", "exist: gpu-dev.", "gcloud compute networks delete --project my-gcp-project gpu-dev",
        ),
        (
            {TESTS[0]: held("container.clusters.create", "compute.networks.create")},
            "rights", "failed", "2 are missing: compute.networks.create (Network); container.clusters.create (Cluster)",
            "run the commands below",
        ),
    ],
)  # fmt: skip
def test_what_the_project_lacks_is_said_with_the_command_that_mends_it(
    changes: dict[str, Answer], row: str, result: str, words: str, remedy: str
) -> None:
    answered = rows_with(settings_of(DEV), changes)[row]
    assert (answered.result, words in answered.detail, remedy in answered.remedy) == (result, True, True), answered


@pytest.mark.parametrize("method", sorted(OF_DEV))
@pytest.mark.parametrize(
    ("refusal", "words"),
    [
        (DENIED, "you may not ask"),
        (
            disabled("x.googleapis.com"),
            "x.googleapis.com is not enabled: `gcloud services enable x.googleapis.com --project my-gcp-project`",
        ),
    ],
    ids=["denied", "off"],
)
def test_no_answer_is_said_in_its_row_and_the_rest_goes_on(method: str, refusal: Refusal, words: str) -> None:
    rows = rows_with(settings_of(DEV), {method: refusal})
    unanswered = [row for row in rows.values() if row.result == "not shown"]
    assert unanswered
    assert {row.detail for row in unanswered} == {words}
    assert all(bool(row.remedy) == (refusal is DENIED) for row in unanswered)
    assert {row.result for row in rows.values()} == {"shown", "not shown"}


@pytest.mark.parametrize("file", [DEV, COMPANY, RESEARCH], ids=lambda file: file.stem)
def test_who_may_ask_nothing_gets_all_rows(file: Path) -> None:
    rows = rows_with(settings_of(file), dict.fromkeys(ROOMY, DENIED))
    assert {(row.result, row.detail) for row in rows.values()} == {("not shown", "you may not ask")}


def test_a_service_that_does_not_answer_is_a_row_and_a_defect_is_raised() -> None:
    rows = rows_with(settings_of(DEV), {"compute.zones.list": requests.ConnectionError("no route")})
    assert (rows["zones"].result, rows["zones"].detail) == ("not shown", "no route")
    rows = rows_with(settings_of(DEV), {"compute.zones.list": Refusal(500, None)})
    assert rows["zones"].detail == "Google answers 500: no message"
    with pytest.raises(ZeroDivisionError):
        rows_with(settings_of(DEV), {"compute.zones.list": ZeroDivisionError()})


def test_nobody_logged_in_is_said_before_anything_else(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("HOME", "CLOUDSDK_CONFIG", "APPDATA"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)
    with pytest.raises(AccountError, match="gcloud auth application-default login"):
        rest.session("my-gcp-project")


def test_a_project_without_a_preemptible_quota_counts_spot_machines_as_others() -> None:
    plain = [each for each in roomy_quotas(1_000_000)["quotas"] if not each["metric"].startswith("PREEMPTIBLE")]
    standard = [{"metric": name, "limit": limit} for name, limit in (("NVIDIA_T4_GPUS", 3), ("CPUS", 1_000_000))]
    rows = rows_with(settings_of(DEV), {"compute.regions.get": {"quotas": [*plain, *standard]}})
    gpus = rows["quota:PREEMPTIBLE_NVIDIA_T4_GPUS"]
    assert (gpus.result, gpus.detail.partition(",")[0]) == ("failed", "limit 3 GPUs")
    assert "NVIDIA_T4_GPUS counts, as the project has no PREEMPTIBLE_NVIDIA_T4_GPUS" in gpus.remedy


def bucket(limit: str, **dimensions: str) -> Mapping[str, Any]:
    return {"effectiveLimit": limit, "dimensions": dimensions}


@pytest.mark.parametrize(
    ("buckets", "detail"),
    [
        (
            [bucket("7"), bucket("9", region="us-central1", vm_family="G2"), bucket("8", region="us-central1")],
            "limit 9 ",
        ),
        ([bucket("7"), bucket("9", region="europe-west4", vm_family="G2")], "limit 7 "),
        (
            [bucket("9", region="us-central1", vm_family="C4")],
            "Google lists no quota CPUS_PER_VM_FAMILY (G2) in us-central1",
        ),
        ([bucket("-1", region="us-central1")], "limit inf "),
    ],
)  # fmt: skip
def test_the_quota_of_a_family_is_the_most_specific_that_holds_here(buckets: list[Any], detail: str) -> None:
    pools = [{"name": "l4", "gpu": "nvidia-l4", "capacity": "on-demand", "maxNodes": 1}]
    settings, method = settings_with(gpuPools=pools), "serviceusage.services.consumerQuotaMetrics.get"
    plain = [{"metric": each.name, "limit": 1_000_000} for each in quotas(settings) if "(" not in each.name]
    fake = FakeGoogle(
        {
            **ROOMY,
            method: {"consumerQuotaLimits": [{"quotaBuckets": buckets}]},
            "compute.regions.get": {"quotas": plain},
        }
    )
    project = GoogleProject(settings, fake)
    rows = {row.id: row for row in answers(project.questions(), project.unanswered)}
    assert rows["quota:CPUS_PER_VM_FAMILY (G2)"].detail.startswith(detail)
    (sent,) = (each for each in fake.sent if each.method == method)
    assert sent.path["consumerQuotaMetricsId"] == "compute.googleapis.com%2Fcpus_per_vm_family"
    assert all(isinstance(each, int) for each in project.facts.quotas.values())


def test_an_own_network_is_compared_with_the_others() -> None:
    own = {"name": "gpu-dev-nodes", "network": f"{PROJECT}/global/networks/gpu-dev", "ipCidrRange": "10.0.0.0/8"}
    other = {**own, "name": "theirs", "network": f"{PROJECT}/global/networks/default"}
    for subnets, result in (([own], "shown"), ([own, other], "warning")):
        listed = {"items": {"regions/us-central1": {"subnetworks": subnets}}}
        row = rows_with(settings_of(DEV), {"compute.subnetworks.aggregatedList": listed})["network"]
        assert (row.result, "theirs (10.0.0.0/8)" in row.detail) == (result, result == "warning")


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (MISSING, "it is not there"),
        ({**SUBNET, "secondaryIpRanges": [{"rangeName": "gpu-pods"}]}, "it has no range gpu-services, but gpu-pods"),
        ({**SUBNET, "network": "projects/my-host-project/global/networks/default"}, "it is in network default"),
    ],
)
def test_an_existing_subnet_has_to_be_there_with_its_ranges(answer: Answer, words: str) -> None:
    row = rows_with(settings_of(COMPANY), {"compute.subnetworks.get": answer})["network"]
    assert (row.result, row.detail) == ("failed", words)


@pytest.mark.parametrize("method", TESTS[1:])
def test_rights_on_what_others_own_are_tested_there(method: str) -> None:
    settings = settings_of(COMPANY if method in TESTS[1:4] else RESEARCH)
    permission = {each for target in rights.targets(settings) for each in target.permissions}
    rows = rows_with(settings, {method: held(*permission)})
    refused = [row for id, row in rows.items() if id.startswith("rights:") and row.result == "failed"]
    assert refused
    assert rows["rights"].result == "shown"
    assert all(row.remedy.startswith("gcloud ") and "--role roles/" in row.remedy for row in refused)


@pytest.mark.parametrize("method", TESTS[1:])
def test_what_the_stack_file_names_and_nobody_has_is_a_problem(method: str) -> None:
    settings = settings_of(COMPANY if method in TESTS[1:4] else RESEARCH)
    rows = rows_with(settings, {method: MISSING})
    missing = [row for row in rows.values() if row.id.startswith("rights:") and row.result == "failed"]
    assert missing
    assert {(row.detail, row.remedy) for row in missing} == {
        ("it is not there", "correct its name in the stack file, or create it")
    }


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (held(), ""),
        (held("iam.serviceAccounts.actAs"), "1 are missing: iam.serviceAccounts.actAs (NodePool)"),
        (MISSING, "it is not there"),
    ],
)
def test_the_service_account_that_the_stack_file_names_for_nodes_is_asked_for_where_it_is(
    answer: Answer, words: str
) -> None:
    """Without the right Google refuses the cluster, when its network exists already."""
    address = "gpu-nodes@identities.iam.gserviceaccount.com"
    settings = settings_with(security={"nodeIdentity": address})
    fake = FakeGoogle({**ROOMY, TESTS[0]: held("iam.serviceAccounts.actAs"), TEST_OF_ACCOUNT: answer})
    project = GoogleProject(settings, fake)
    rows = {row.id: row for row in answers(project.questions(), project.unanswered)}
    row = rows[f"rights:{address}"]
    assert rows["rights"].result == "shown", "it need not be of the project"
    assert (row.result, words in row.detail) == ("failed" if words else "shown", True)
    (sent,) = (each for each in fake.sent if each.method == TEST_OF_ACCOUNT)
    assert dict(sent.path) == {"projectsId": "identities", "serviceAccountsId": address}


@pytest.mark.parametrize(("state", "result"), [("ENABLED", "shown"), ("DISABLED", "failed"), (None, "failed")])
def test_a_key_has_to_be_enabled(state: str | None, result: str) -> None:
    answer = {"primary": {"state": state}} if state else {}
    rows = rows_with(settings_of(COMPANY), {"cloudkms.projects.locations.keyRings.cryptoKeys.get": answer})
    assert {row.result for id, row in rows.items() if id.startswith("key:")} == {result}


def of(machine: str, count: str) -> Mapping[str, Any]:
    return {"specificReservation": {"count": count, "instanceProperties": {"machineType": machine}}}


RESERVATION = {"status": "READY", "specificReservationRequired": True, **of("n1-standard-4", "2")}


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (RESERVATION, ""),
        (MISSING, "it is not in us-central1-a"),
        ({**RESERVATION, "status": "CREATING"}, "its status is CREATING"),
        ({**RESERVATION, "specificReservationRequired": False}, "`specificReservationRequired` is off"),
        ({**RESERVATION, **of("g2-standard-4", "2")}, "it has g2-standard-4, pool t4-1 asks for n1-standard-4"),
        ({**RESERVATION, **of("n1-standard-4", "1")}, "it has 1 machines, the stack says 2"),
    ],
)
@pytest.mark.parametrize("name", ["mine", "projects/shared/reservations/mine"])
def test_a_reservation_has_to_be_the_pools(answer: Answer, words: str, name: str) -> None:
    pools = [
        {
            "name": "t4", "gpu": "nvidia-t4", "maxNodes": 2, "zones": ["us-central1-a"], "capacity": "reserved",
            "reservation": {"name": name, "nodes": 2},
        }
    ]  # fmt: skip
    plain = {"quotas": [{"metric": "NVIDIA_T4_GPUS", "limit": 99}]}
    fake = FakeGoogle({**ROOMY, "compute.reservations.get": answer, "compute.regions.get": plain})
    project = GoogleProject(settings_with(gpuPools=pools), fake)
    row = {row.id: row for row in answers(project.questions(), project.unanswered)}[f"reservation:{name}"]
    assert (row.result, words in row.detail) == ("failed" if words else "shown", True), row
    (sent,) = (each for each in fake.sent if each.method == "compute.reservations.get")
    assert sent.path["project"] == ("shared" if "/" in name else "my-gcp-project")


@pytest.mark.parametrize(
    ("type", "listed"), [("e2-custom-2-10240", "e2-standard-2"), ("custom-2-10240", "n1-standard-2")]
)
def test_a_custom_machine_type_is_asked_for_as_one_of_its_series(type: str, listed: str) -> None:
    row = rows_with(settings_with(adminPool={"machineType": type}))["machine:admin"]
    assert (row.result, row.detail) == ("shown", f"{type} (asked for as {listed}) in us-central1-a")


def test_pools_on_a_cluster_of_others_need_that_cluster_and_no_other_names() -> None:
    rows = rows_with(
        settings_of(POOLS_ALONE), {"container.projects.locations.clusters.list": cluster("research", "us-central1")}
    )
    assert {row.result for row in rows.values()} == {"shown"}
    assert not {"accounts", "networks", "network"} & {*rows}
    assert rows_with(settings_of(POOLS_ALONE))["names"].result == "failed"


def test_the_command_writes_a_file_that_rehearsals_read_and_the_custom_role(tmp_path: Path) -> None:
    settings, lines = settings_of(COMPANY), list[str]()
    small = {**ROOMY, "compute.projects.get": roomy_quotas(1), TESTS[0]: held("container.clusters.create")}
    code = ask(settings, tmp_path, lines.append, GoogleProject(settings, FakeGoogle(small)))
    assert code == 1
    limits = account_limits.read(tmp_path / "account.yaml", [each.name for each in quotas(settings)])
    assert limits.quotas["GPUS_ALL_REGIONS"] == 1
    assert not limits.may("container.clusters.create")
    role = yaml.safe_load((tmp_path / "deployer-1.json").read_text())
    assert role == rights.custom_role(settings)
    commands = [line.strip() for line in lines if line.startswith("    gcloud ")]
    assert any(
        line.startswith("gcloud iam roles create gpucluster_gke_company --project my-gcp-project") for line in commands
    )
    assert any("gcloud kms keys add-iam-policy-binding projects/my-keys-project/" in line for line in commands)
    # Without a terminal gcloud refuses a binding that says nothing of conditions where another one has one.
    knows = ("projects", "storage", "secrets")
    asks = [line for line in commands if "add-iam-policy-binding" in line and line.split()[1] in knows]
    assert len(asks) > 2
    assert [line for line in asks if "--condition None" not in line] == []


def test_the_page_shows_what_the_command_prints(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a terminal of 80 columns: a new project without quotas of GPUs, and a deployer without a right."""
    command, _, shown = PAGE.partition("\n$ ")[2].partition("\n```\n")[0].partition("\n")
    none = {"PREEMPTIBLE_NVIDIA_T4_GPUS": 0, "NVIDIA_T4_GPUS": 1, "GPUS_ALL_REGIONS": 0}
    limits = {**{each["metric"]: each["limit"] for each in roomy_quotas(500)["quotas"]}, **none}
    new = {"quotas": [{"metric": name, "limit": limit} for name, limit in limits.items()]}
    changes: dict[str, Answer] = {
        **dict.fromkeys(("compute.regions.get", "compute.projects.get"), new),
        "serviceusage.services.batchGet": enabled("container.googleapis.com"),
        "iam.projects.serviceAccounts.list": DENIED,
        TESTS[0]: held("container.clusters.create"),
    }
    project = GoogleProject(settings_of(DEV), FakeGoogle({**ROOMY, **changes}))
    monkeypatch.setattr("account.command.account_of", lambda settings: project)
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(typer.Exit) as ended:
        account("dev")
    assert (command, ended.value.exit_code) == ("gpucluster account dev", 1)
    assert capsys.readouterr().out.splitlines() == shown.splitlines()
