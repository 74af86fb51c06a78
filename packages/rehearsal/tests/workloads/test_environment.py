"""A container's environment is its pod's specification, its status as on a real node; a claim holds what jobs save."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any, cast

import pytest

from facts.jobs.job import TrainingJobSpec, manifests
from gpu.commands.saved_logs import reader_of
from packages.rehearsal.tests.tables import cases
from rehearsal.cluster.api import Api, Object
from rehearsal.cluster.images import KARPENTER, ImageBinary
from rehearsal.simulation import Injection
from rehearsal.workloads.container import ContainerState, Ended, pod_status
from rehearsal.workloads.environment import (
    EnvironmentProblem,
    ProcessFiles,
    arguments,
    environment,
    expand,
    probe_url,
    substitute,
)
from rehearsal.workloads.kubelet import SavedOutput, programs

NODE: dict[str, Any] = {"status": {"allocatable": {"cpu": "1930m", "memory": "3Gi"}}}
OBJECTS = {
    ("configmaps", "settings"): {"data": {"LEVEL": "debug", "COLOR": "red"}},
    ("secrets", "keys"): {"data": {"KEY": base64.b64encode(b"s3cret").decode()}},
}


def pod(*env: dict[str, Any], **container: Any) -> dict[str, Any]:
    resources = {"requests": {"cpu": "200m"}, "limits": {"memory": "1Gi"}}
    made = {"name": "main", "image": "x", "env": list(env), "resources": resources, **container}
    metadata = {"name": "it", "namespace": "kube-system", "uid": "u1", "labels": {"app.kubernetes.io/name": "it"}}
    spec = {"containers": [made], "nodeName": "n1", "serviceAccountName": "robot"}
    return {"metadata": metadata, "spec": spec, "status": {"hostIP": "127.0.0.1"}}


def resolved(*env: dict[str, Any], **container: Any) -> dict[str, str]:
    made = pod(*env, **container)
    return environment(made, made["spec"]["containers"][0], lambda plural, name: OBJECTS.get((plural, name)), NODE)


def from_(kind: str, **reference: Any) -> dict[str, Any]:
    return {"name": "IT", "valueFrom": {kind: reference}}


@cases
def test_every_source_of_a_value(variable: dict[str, Any], value: str) -> None:
    assert resolved(variable) == {"IT": value}


@pytest.mark.parametrize("reference", [{"name": "settings", "key": "ABSENT"}, {"name": "absent", "key": "LEVEL"}])
def test_what_is_referred_to_must_exist_unless_it_is_optional(reference: dict[str, str]) -> None:
    with pytest.raises(EnvironmentProblem, match=reference["name"]):
        resolved(from_("configMapKeyRef", **reference))
    assert resolved(from_("configMapKeyRef", **reference, optional=True)) == {}


def test_a_source_that_nobody_knows_is_a_problem_and_not_an_empty_value() -> None:
    with pytest.raises(EnvironmentProblem, match="fileKeyRef"):
        resolved(from_("fileKeyRef", path="x"))


def test_whole_objects_come_first_and_variables_win() -> None:
    sources = [
        {"prefix": "P_", "configMapRef": {"name": "settings"}},
        {"configMapRef": {"name": "none", "optional": True}},
    ]
    variables = resolved({"name": "P_LEVEL", "value": "info"}, envFrom=sources)
    assert variables == {"P_LEVEL": "info", "P_COLOR": "red"}
    with pytest.raises(EnvironmentProblem, match="none"):
        resolved(envFrom=[{"secretRef": {"name": "none"}}])


@cases
def test_references_between_variables(text: str, value: str) -> None:
    assert expand(text, {"A": "1"}) == value


def test_a_variable_sees_those_before_it() -> None:
    later = {"name": "B", "value": "$(A)/$(C)"}
    assert resolved({"name": "A", "value": "1"}, later, {"name": "C", "value": "2"})["B"] == "1/$(C)"


def test_arguments_follow_the_programs_name() -> None:
    container = {"command": ["/bin/it", "serve"], "args": ["--level=$(LEVEL)"]}
    assert arguments(container, {"LEVEL": "debug"}, PROGRAM) == ["serve", "--level=debug"]
    assert arguments({}, {}, PROGRAM) == []


@pytest.mark.parametrize("flag", ["--kubeconfig=/tmp/evil", "-kubeconfig", "--log-output-paths=/root/.profile", "--"])
def test_a_flag_that_is_no_setting_of_the_program_is_refused(flag: str) -> None:
    with pytest.raises(EnvironmentProblem, match="the rehearsal does not run karpenter/controller with -"):
        arguments({"args": ["serve", flag]}, {}, PROGRAM)


OTHER = {"type": "PodScheduled", "status": "True"}
POD: dict[str, Any] = {
    "spec": {"containers": [{"name": "main", "image": "x"}, {"name": "side", "image": "y"}]},
    "status": {"startTime": "2026-11-01T00:00:00Z", "conditions": [OTHER, {"type": "Ready", "status": "True"}]},
}


def status_of(state: ContainerState) -> tuple[str, dict[str, str], dict[str, Any]]:
    status = pod_status(POD, "main", state)
    conditions = {each["type"]: each["status"] for each in status["conditions"]}
    return status["phase"], conditions, {each["name"]: each for each in status["containerStatuses"]}


@pytest.mark.parametrize(
    ("state", "phase", "ready"),
    [
        (ContainerState(waiting="ErrImagePull", message="no such version"), "Pending", "False"),
        (ContainerState(running=True), "Running", "False"),
        (ContainerState(running=True, ready=True), "Running", "True"),
        (ContainerState(waiting="CrashLoopBackOff", restarts=1, last=Ended(1, "boom")), "Running", "False"),
    ],
)
def test_phase_and_readiness(state: ContainerState, phase: str, ready: str) -> None:
    actual_phase, conditions, containers = status_of(state)
    assert (actual_phase, conditions["Ready"], conditions["ContainersReady"]) == (phase, ready, ready)
    assert containers["main"]["ready"] is (ready == "True")


def test_a_crash_shows_its_last_words_and_is_counted() -> None:
    _, _, containers = status_of(ContainerState(waiting="CrashLoopBackOff", restarts=2, last=Ended(139, "boom")))
    main = containers["main"]
    assert (main["restartCount"], main["state"]["waiting"]["reason"]) == (2, "CrashLoopBackOff")
    assert (main["lastState"]["terminated"]["exitCode"], main["lastState"]["terminated"]["message"]) == (139, "boom")


def test_what_others_wrote_stays() -> None:
    status = pod_status(POD, "main", ContainerState(running=True, ready=True))
    assert OTHER in status["conditions"]
    assert status["startTime"] == POD["status"]["startTime"]
    assert [each["type"] for each in status["conditions"]].count("Ready") == 1


PORTS = ("METRICS_PORT", "HEALTH_PROBE_PORT")
SETTINGS = frozenset((*PORTS, "CLUSTER_NAME", "LEVEL"))
PROGRAM = ImageBinary(KARPENTER, "1.14.1", Path("/tools/karpenter"), PORTS, SETTINGS)
DECLARED = {"METRICS_PORT": "8080", "HEALTH_PROBE_PORT": "8081", "CLUSTER_NAME": "demo"}
CONTAINER: dict[str, Any] = {"ports": [{"name": "http", "containerPort": 8081}]}


def made(declared: dict[str, str] | None = None, **changes: Any) -> tuple[dict[str, str], dict[int, int]]:
    usual: dict[str, Any] = {
        "api_server": "127.0.0.1:6443",
        "namespace": "kube-system",
        "injected": Injection({}),
        "free_ports": lambda count: list(range(40001, 40001 + count)),
    }
    folder = Path("/run/pod")
    files = ProcessFiles(folder=folder, kubeconfig=folder / "kubeconfig", tokens=changes.pop("tokens", None))
    return substitute({**DECLARED, **(declared or {})}, PROGRAM, files, **{**usual, **changes})


def test_settings_pass_unchanged_and_ports_are_free_ones() -> None:
    variables, ports = made()
    assert variables["CLUSTER_NAME"] == "demo"
    assert (variables["METRICS_PORT"], variables["HEALTH_PROBE_PORT"]) == ("40001", "40002")
    assert ports == {8080: 40001, 8081: 40002}
    assert (variables["KUBERNETES_SERVICE_HOST"], variables["KUBERNETES_SERVICE_PORT"]) == ("127.0.0.1", "6443")


@pytest.mark.parametrize(
    "name",
    [
        "LD_PRELOAD",
        "LD_AUDIT",
        "PATH",
        "BASH_ENV",
        "BASH_FUNC_echo%%",
        "ENV",
        "PYTHONPATH",
        "AWS_CONFIG_FILE",
        "GODEBUG",
    ],
)
def test_a_variable_that_is_no_setting_of_the_program_has_no_effect(name: str, tmp_path: Path) -> None:
    assert name not in made({name: "/tmp/evil"})[0]
    (tmp_path / "karpenter-aws").touch()
    (karpenter,) = programs(tmp_path).values()
    assert "CLUSTER_NAME" in karpenter.settings
    assert name not in karpenter.settings


def test_nothing_of_the_person_who_rehearses_is_read() -> None:
    variables, _ = made()
    assert variables["HOME"] == variables["TMPDIR"] == "/run/pod"


def test_a_port_that_is_not_declared_is_assigned_too() -> None:
    variables, ports = made({"METRICS_PORT": ""})
    assert variables["METRICS_PORT"] == "40001"
    assert ports == {8081: 40002}


def test_the_cloud_adds_and_never_overwrites() -> None:
    injected = Injection({"AWS_REGION": "us-west-2", "CLUSTER_NAME": "other"}, "audience", "TOKEN_FILE")
    variables, _ = made(injected=injected, tokens=Path("/run/pod/cloud-token"))
    assert (variables["AWS_REGION"], variables["CLUSTER_NAME"]) == ("us-west-2", "demo")
    assert variables["TOKEN_FILE"] == "/run/pod/cloud-token"
    assert "TOKEN_FILE" not in made(injected=Injection({"AWS_REGION": "us-west-2"}))[0]


@cases
def test_probes_go_where_the_program_listens(probe: dict[str, Any], url: str | None) -> None:
    assert probe_url(probe, CONTAINER, {8081: 40002}) == url


class Statuses:
    """An API that takes the pods' statuses alone."""

    def __init__(self) -> None:
        self.failed: list[str] = []

    def merge(self, path: str, change: Object) -> None:
        assert change == {"status": {"phase": "Failed"}}
        self.failed.append(path.split("/")[-2])


def bound(job: Object, uid: str, phase: str = "Running", namespace: str = "default") -> Object:
    """A pod of a Job, as the Job controller makes it."""
    name = job["metadata"]["name"]
    about = {"name": uid, "uid": uid, "namespace": namespace, "labels": {"batch.kubernetes.io/job-name": name}}
    return {"metadata": about, "spec": job["spec"]["template"]["spec"], "status": {"phase": phase}}


@pytest.fixture
def api() -> Statuses:
    return Statuses()


@pytest.fixture
def saved(api: Statuses, tmp_path: Path) -> SavedOutput:
    (tmp_path / "logs").mkdir()
    return SavedOutput(cast(Api, api), tmp_path / "claims", tmp_path / "logs")


def training(**changes: Any) -> Object:
    usual: dict[str, Any] = {"name": "train", "namespace": "default", "image": "x", "pools": ("t4-1",), "taints": ()}
    return manifests(TrainingJobSpec(**{**usual, "command": ("python", "train.py"), "volume": "shared", **changes}))[0]


def printed(tmp_path: Path) -> list[str]:
    return (tmp_path / "logs" / "reader.log").read_text().splitlines()


def test_a_job_s_line_is_printed_by_the_pod_that_reads_its_file(saved: SavedOutput, tmp_path: Path) -> None:
    job = training()
    for phase in ("Pending", "Running", "Succeeded"):
        saved.note(bound(job, "pod", phase))
    saved.note(bound(job, "second attempt", "Succeeded"))
    saved.note(bound(reader_of(job, "/shared/.logs/train/0.log"), "reader"))
    first, second = printed(tmp_path)
    assert first == second
    assert first.startswith("train: a rehearsal simulates its machines, so this program did not run.")


@pytest.mark.parametrize(
    ("job", "file", "namespace"),
    [
        (training(), "/shared/.logs/train/1.log", "default"),  # another run's
        (training(volume=None), "/shared/.logs/train/0.log", "default"),  # saves nothing
        (training(), "/shared/.logs/train/0.log", "ml"),  # another namespace's claim
        (training(), "/shared/../default/shared/.logs/train/0.log", "default"),
        (training(), "/etc/hostname", "default"),
    ],
)
def test_a_pod_that_reads_another_file_fails(
    saved: SavedOutput, api: Statuses, tmp_path: Path, job: Object, file: str, namespace: str
) -> None:
    saved.note(bound(job, "pod"))
    saved.note(bound(reader_of(job, file), "reader", namespace=namespace))
    assert api.failed == ["reader"]
    assert list((tmp_path / "logs").iterdir()) == []
