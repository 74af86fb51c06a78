"""The local control plane behaves as a cloud's: admission, credentials, kubelets that answer at once."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from facts.jobs.runner import until_idle, with_files, with_saved_log
from packages.rehearsal.tests.kubernetes_cluster import Resource
from packages.rehearsal.tests.simulated_cluster import (
    JOBS,
    PATIENCE,
    PODS,
    alive,
    daemon_set,
    eventually,
    job,
    pod,
    tools,
)
from rehearsal.cluster import control_plane as module
from rehearsal.cluster.api import Api, ApiError, Object, UnreachableError
from rehearsal.cluster.control_plane import ControlPlane
from rehearsal.cluster.cron_jobs import run_all
from rehearsal.cluster.kubeconfig import Kubeconfig, write_credential_plugins
from rehearsal.cluster.pki import PUBLIC_AUTHORITY
from rehearsal.cluster.processes import ProcessError, free_ports
from rehearsal.providers.kubernetes import SimulatedKubernetes

pytestmark = pytest.mark.rehearsal

CAPACITY = {"cpu": "4", "memory": "16Gi", "pods": "110", "nvidia.com/gpu": "0"}
ALLOCATABLE = {"cpu": "3", "memory": "9Gi", "pods": "110", "nvidia.com/gpu": "0"}
NODE: Object = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {
        "name": "n",
        "annotations": {
            "rehearsal.gpucluster.dev/capacity": json.dumps(CAPACITY),
            "rehearsal.gpucluster.dev/allocatable": json.dumps(ALLOCATABLE),
            "rehearsal.gpucluster.dev/gpus": "2",
        },
    },
}


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with ControlPlane(tmp_path_factory.mktemp("control-plane"), tools=tools()) as started:
        started.api.create("/api/v1/nodes", NODE)
        yield started


@pytest.fixture
def api(plane: ControlPlane) -> Api:
    return plane.api


def phase(api: Api, name: str) -> str:
    result: str = api.get(f"{PODS}/{name}")["status"]["phase"]
    return result


def test_a_pod_that_asks_for_gpus_gets_the_toleration(api: Api) -> None:
    created = api.create(PODS, pod("gpu-pod", gpus=1))
    keys = {(each["key"], each["operator"]) for each in created["spec"]["tolerations"]}
    assert ("nvidia.com/gpu", "Exists") in keys
    api.delete(f"{PODS}/gpu-pod", gracePeriodSeconds=0)


def test_a_node_has_its_declared_size_and_no_gpu_before_the_driver(api: Api) -> None:
    eventually("the node is Ready", lambda: api.get("/api/v1/nodes/n")["status"].get("phase") == "Running")
    status = api.get("/api/v1/nodes/n")["status"]
    assert status["capacity"] == CAPACITY
    assert status["allocatable"] == ALLOCATABLE
    api.merge("/api/v1/nodes/n", {"metadata": {"annotations": {"rehearsal.gpucluster.dev/driver": "ready"}}})
    eventually("GPUs", lambda: api.get("/api/v1/nodes/n")["status"]["allocatable"]["nvidia.com/gpu"] == "2")
    assert api.get("/api/v1/nodes/n")["status"]["capacity"]["nvidia.com/gpu"] == "2"


def test_a_bare_pod_that_never_restarts_succeeds_after_its_seconds(api: Api) -> None:
    api.create(PODS, pod("long", seconds=3600))
    eventually("long runs", lambda: phase(api, "long") == "Running")
    api.create(PODS, pod("short", seconds=0.5))
    eventually("short succeeds", lambda: phase(api, "short") == "Succeeded")
    assert phase(api, "long") == "Running"
    state = api.get(f"{PODS}/short")["status"]["containerStatuses"][0]["state"]
    assert state["terminated"]["reason"] == "Completed"


def test_a_job_completes_and_a_server_keeps_running(api: Api) -> None:
    api.create(PODS, pod("server", seconds=0, restartPolicy="Always"))
    eventually("the server runs", lambda: phase(api, "server") == "Running")
    api.create(JOBS, job("sum", pods=2, gpus=0))
    eventually("the job is complete", lambda: api.get(f"{JOBS}/sum")["status"].get("succeeded") == 2)
    assert phase(api, "server") == "Running"


def test_a_privileged_daemon_set_is_ready_and_a_pod_is_deleted_at_once(api: Api) -> None:
    container = {"name": "main", "image": "example.com/image", "securityContext": {"privileged": True}}
    api.apply_manifest(daemon_set("agent", containers=[container]))
    path = "/apis/apps/v1/namespaces/kube-system/daemonsets/agent"
    eventually("ready", lambda: api.get(path)["status"].get("numberReady") == 1)
    api.create(PODS, pod("doomed", seconds=100, terminationGracePeriodSeconds=300))
    eventually("it runs", lambda: phase(api, "doomed") == "Running")
    api.delete(f"{PODS}/doomed")
    eventually("it is gone", lambda: api.find(f"{PODS}/doomed") is None)


def test_clients_need_a_token_and_roles_limit_it(plane: ControlPlane) -> None:
    right = Kubeconfig.parse(plane.kubeconfig.read_text())
    with pytest.raises(ApiError) as caught:
        Api(replace(right, user={"token": "wrong"})).list("/api/v1/nodes")
    assert caught.value.status == 401
    review = Api(replace(right, user=plane.client)).create(
        "/apis/authentication.k8s.io/v1/selfsubjectreviews",
        {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"},
    )
    assert review["status"]["userInfo"]["username"] == "masterclient"
    assert "system:masters" in review["status"]["userInfo"]["groups"]
    secret_files = [plane.kubeconfig, *(plane.kubeconfig.parent / "pki").glob("*.key")]
    assert len(secret_files) == 5
    for file in secret_files:
        assert file.stat().st_mode & 0o077 == 0, file


def test_a_kubeconfig_with_the_credential_plugin_works(plane: ControlPlane, tmp_path: Path) -> None:
    plugins = tmp_path / "the user's plugins"
    write_credential_plugins(plugins, plane.user_token)
    config = json.loads(plane.kubeconfig.read_text())
    plugin = {"command": "gke-gcloud-auth-plugin", "args": ["--use_application_default_credentials"]}
    plugin |= {"apiVersion": "client.authentication.k8s.io/v1beta1", "interactiveMode": "Never"}
    config["users"][0]["user"] = {"exec": plugin}
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(json.dumps(config))
    whoami = ["auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"]
    command = [tools() / "kubectl", "--kubeconfig", kubeconfig, *whoami]
    environment = {"PATH": f"{plugins}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    result = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert result.stdout == "cluster-user", result.stderr


def test_a_log_says_what_is_simulated_and_a_command_is_refused(plane: ControlPlane, api: Api) -> None:
    api.create(PODS, pod("talker", seconds=100))
    eventually("it runs", lambda: phase(api, "talker") == "Running")

    def kubectl(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [tools() / "kubectl", "--kubeconfig", plane.kubeconfig, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)

    shown = kubectl("logs", "talker")
    assert "did not run" in shown.stdout, shown.stderr
    refused = kubectl("exec", "talker", "--", "id")
    assert refused.returncode != 0
    assert "simulates its machines" in refused.stderr


def test_a_container_of_gpu_dev_and_one_that_sleeps_run_for_as_long_as_they_say(api: Api) -> None:
    sleep, logs = ("sleep", "1000"), "/shared/.logs/dev"
    commands = {
        "dev": until_idle(1000),
        "saves": with_saved_log(until_idle(1000), logs),
        "sleeps": sleep,
        "unpacks": with_files(sleep),
        "saves-and-sleeps": with_saved_log(sleep, logs),
        "saves-and-unpacks": with_saved_log(with_files(sleep), logs),
    }
    for name, command in commands.items():
        container = {"name": "main", "image": "example.com/image", "command": list(command)}
        api.create(PODS, {"metadata": {"name": name}, "spec": {"restartPolicy": "Never", "containers": [container]}})
    eventually("all run", lambda: {phase(api, name) for name in commands} == {"Running"})
    api.create(PODS, pod("other", seconds=5))
    eventually("another program has ended", lambda: phase(api, "other") == "Succeeded")
    assert {name: phase(api, name) for name in commands} == dict.fromkeys(commands, "Running")


def test_who_made_the_cluster_has_all_rights_by_a_role_that_can_be_asked_for(plane: ControlPlane) -> None:
    cluster = json.loads(plane.kubeconfig.read_text())
    cluster["users"][0]["user"] = {"token": plane.user_token}
    deployer = Api(Kubeconfig.parse(json.dumps(cluster)))
    deployer.create("/api/v1/namespaces", {"metadata": {"name": "deployed"}})
    role = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/cluster-user"
    binding = plane.api.get(role)
    plane.api.delete(role)
    refused = lambda: _status(deployer, "/api/v1/namespaces") == 403  # noqa: E731
    eventually("without the role nothing is allowed", refused)
    plane.api.apply_manifest(
        {key: binding[key] for key in ("apiVersion", "kind", "roleRef", "subjects")}
        | {"metadata": {"name": "cluster-user"}}
    )


def test_a_developer_has_no_right_before_somebody_gives_one(plane: ControlPlane) -> None:
    developer = Api(Kubeconfig.parse(plane.kubeconfig_for("developer").read_text()))
    assert _status(developer, PODS) == 403


def test_no_route_to_anywhere_is_needed(tmp_path: Path) -> None:
    program = f"""
from pathlib import Path
from rehearsal.cluster.control_plane import ControlPlane
with ControlPlane(Path({str(tmp_path)!r}), tools=Path({str(tools())!r})) as plane:
    print("ready:", plane.api.ready())
"""
    unshared = ["unshare", "--net", "--map-root-user", "--", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
    if subprocess.run([*unshared, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this machine allows no network namespace of one's own")
    command = [*unshared, sys.executable, "-c", program]
    shown = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert "ready: True" in shown.stdout, shown.stderr


def _status(api: Api, path: str) -> int:
    try:
        api.list(path)
    except ApiError as error:
        return error.status
    return 200


CRON_JOBS = "/apis/batch/v1/namespaces/kube-system/cronjobs"


def cron_job(name: str, *env: dict[str, str]) -> Object:
    """One whose program writes its variables."""
    program = "import os; print(sorted(set(os.environ) & {'KARPENTER', 'LD_LIBRARY_PATH', 'PYTHONPATH'}))"
    container = {"name": "c", "image": "python", "command": ["python", "-c", program], "env": [*env]}
    pod = {"serviceAccountName": "default", "restartPolicy": "Never", "containers": [container]}
    spec = {"schedule": "* * * * *", "suspend": True, "jobTemplate": {"spec": {"template": {"spec": pod}}}}
    return {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": name}, "spec": spec}


def test_only_cron_jobs_of_the_rehearsed_program_run_and_with_listed_variables(
    plane: ControlPlane, api: Api, tmp_path: Path
) -> None:
    env = [{"name": name, "value": "/tmp/evil"} for name in ("KARPENTER", "LD_LIBRARY_PATH", "PYTHONPATH")]
    provider = SimulatedKubernetes()
    provider.configure({"kubeconfig": plane.kubeconfig.read_text(), "namespace": "kube-system"})
    api.create(CRON_JOBS, cron_job("bystander"))
    declared = Resource(provider.instance(), "kubernetes:batch/v1:CronJob")
    declared.provider.configure({"kubeconfig": plane.kubeconfig.read_text(), "namespace": "kube-system"})
    declared.preview(cron_job("declared", *env))
    assert provider.created == set(), "a preview creates nothing"
    declared.create(cron_job("declared", *env))
    folder = tmp_path / "cron-jobs"
    output = run_all(api, plane.endpoint, plane.ca_pem_base64, folder, provider.created)
    assert [*output] == ["['KARPENTER']\n"]
    assert [path.stat().st_mode & 0o077 for path in (folder, folder / "token")] == [0, 0]
    for name in ("bystander", "declared"):
        api.delete(f"{CRON_JOBS}/{name}")


def test_two_run_side_by_side_and_stop_completely(plane: ControlPlane, tmp_path: Path) -> None:
    with ControlPlane(tmp_path, tools=tools()) as other:
        pids = [*other.processes.pids.values(), other.processes.watchdog_pid]
        assert other.endpoint != plane.endpoint
        other.api.create("/api/v1/namespaces", {"metadata": {"name": "only-here"}})
        assert plane.api.find("/api/v1/namespaces/only-here") is None
        kept = other.api
        assert other.api is kept, "each client would prove itself anew"
        other.stop()
        other.start()
        assert other.api is not kept, "what kinds there were is no longer so"
        assert other.api.find("/api/v1/namespaces/only-here") is None, "a restarted control plane is empty"
    assert not any(map(alive, pids))


def test_a_port_that_is_taken_meanwhile_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        answers = iter([[port], free_ports(1)])
        monkeypatch.setattr(module, "free_ports", lambda count: next(answers))
        with ControlPlane(tmp_path, tools=tools()) as plane:
            assert plane.api.ready()
    assert "address already in use" in (tmp_path / "logs" / "kube-apiserver.log").read_text()


def test_a_program_that_dies_is_an_error_with_its_log(tmp_path: Path) -> None:
    folder = tmp_path / "tools"
    folder.mkdir()
    for program in ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok"):
        (folder / program).symlink_to(tools() / program)
    (folder / "kube-apiserver").unlink()
    (folder / "kube-apiserver").write_text("#!/bin/sh\necho out of memory; exit 137\n")
    (folder / "kube-apiserver").chmod(0o755)
    plane = ControlPlane(tmp_path / "run", tools=folder)
    with pytest.raises(ProcessError, match=r"kube-apiserver ended with exit code 137(?s:.*)out of memory"):
        plane.start()
    assert plane.processes.pids == {}, "nothing is left half-started"
    plane.close()


def test_missing_programs_are_named(tmp_path: Path) -> None:
    with pytest.raises(ProcessError, match=r"lacks etcd, kube-apiserver.*make tools"):
        ControlPlane(tmp_path, tools=tmp_path)


def test_by_name_the_server_proves_itself_to_everybody_not_by_its_own_authority(plane: ControlPlane) -> None:
    server = {"server": f"https://{plane.named_endpoint}"}
    user = {"token": plane.token}
    public = plane.kubeconfig.parent / "pki" / PUBLIC_AUTHORITY.name
    assert Api(Kubeconfig(server, user), trusted=public).version() == plane.api.version()
    for untrusting in (
        Api(Kubeconfig({**server, "certificate-authority-data": plane.ca_pem_base64}, user), trusted=public),
        Api(Kubeconfig(server, user)),
    ):
        with pytest.raises(UnreachableError, match=r"(?i)certificate"):
            untrusting.version()


def test_nobody_answers_nowhere(plane: ControlPlane) -> None:
    cluster = {"server": f"https://{plane.nowhere}", "certificate-authority-data": plane.ca_pem_base64}
    with pytest.raises(UnreachableError):
        Api(Kubeconfig(cluster, {"token": plane.token})).version()
