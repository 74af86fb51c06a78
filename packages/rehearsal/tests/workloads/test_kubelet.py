"""Pods whose program really runs, on a real API server: ready by its word, restarted, and ended with their pod."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from packages.rehearsal.tests.simulated_cluster import PODS, alive, events, eventually, tools
from rehearsal.cluster.api import Api, Object
from rehearsal.cluster.control_plane import ControlPlane
from rehearsal.cluster.images import KARPENTER, ImageBinary
from rehearsal.simulation import PROGRAM_FAILED, Injection
from rehearsal.workloads.container import Host
from rehearsal.workloads.kubelet import Kubelet

pytestmark = pytest.mark.rehearsal

PROGRAM = """\
#!{python}
import http.server, json, os, pathlib, sys, threading, time
home = pathlib.Path(os.environ["HOME"])
(home / "draft.json").write_text(json.dumps(dict(os.environ)))
(home / "draft.json").rename(home / "seen.json")
if os.environ.get("MODE") == "crash":
    sys.exit("no such queue")
class Health(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if (home / "ready").exists() else 503)
        self.end_headers()
    def log_message(self, *_): pass
http.server.HTTPServer(("127.0.0.1", int(os.environ["HEALTH_PROBE_PORT"])), Health).serve_forever()
"""
IMAGE = "public.ecr.aws/karpenter/controller:9.9.9@sha256:00"


class Stage:
    """A control plane with one simulated node, and a kubelet that has a program for one image."""

    def __init__(self, folder: Path, control_plane: ControlPlane) -> None:
        self.folder = folder / "pods"
        binary = folder / "program"
        binary.write_text(PROGRAM.format(python=sys.executable))
        binary.chmod(0o755)
        self.api: Api = control_plane.api
        host = Host(
            api=self.api,
            api_server=control_plane.endpoint,
            ca_pem_base64=control_plane.ca_pem_base64,
            processes=control_plane.processes,
            folder=self.folder,
            logs=control_plane.logs,
            injector=lambda namespace, account: Injection({"REGION": f"{namespace}/{account}"}, "cloud", "CLOUD_TOKEN"),
        )
        self.processes = control_plane.processes
        settings = frozenset(("HEALTH_PROBE_PORT", "MODE", "GREETING"))
        program = ImageBinary(KARPENTER, "9.9.9", binary, ("METRICS_PORT", "HEALTH_PROBE_PORT"), settings)
        self.kubelet = Kubelet(host, {KARPENTER: program})
        self.kubelet.start()
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}
        self.api.create("/api/v1/nodes", node)

    def submit(self, name: str, image: str = IMAGE, **env: str) -> None:
        probe = {"httpGet": {"path": "/readyz", "port": "http"}}
        container = {
            "name": "controller",
            "image": image,
            "env": [{"name": "HEALTH_PROBE_PORT", "value": "8081"}, *({"name": k, "value": v} for k, v in env.items())],
            "ports": [{"name": "http", "containerPort": 8081}],
            "readinessProbe": probe,
        }
        spec = {"nodeName": "n1", "containers": [container], "terminationGracePeriodSeconds": 5}
        self.api.create(PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec})

    def pod(self, name: str) -> Object | None:
        return self.api.find(f"{PODS}/{name}")

    def status(self, name: str) -> dict[str, Any]:
        current = self.pod(name)
        assert current is not None
        return next(iter(current["status"].get("containerStatuses") or [{}]))

    def ready(self, name: str) -> bool:
        return bool(self.status(name).get("ready"))

    def home(self, name: str) -> Path:
        current = self.pod(name)
        assert current is not None
        return self.folder / current["metadata"]["uid"]

    def pid(self, name: str) -> int | None:
        return self.processes.pids.get(f"pods/{name}")


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("kubelet")
    with ControlPlane(folder, tools=tools()) as control_plane:
        made = Stage(folder, control_plane)
        yield made
        made.kubelet.close()


def test_a_pod_is_ready_when_its_program_says_so_and_ends_with_it(stage: Stage) -> None:
    stage.submit("fine")
    pid = eventually("its program runs", lambda: stage.pid("fine"))
    eventually("the pod runs", lambda: stage.status("fine").get("state", {}).get("running"))
    assert not stage.ready("fine"), "kwok, or anybody, said that it is ready"
    (stage.home("fine") / "ready").touch()
    eventually("it is ready", lambda: stage.ready("fine"))
    (stage.home("fine") / "ready").unlink()
    eventually("it is not ready any more", lambda: not stage.ready("fine"))
    stage.api.delete(f"{PODS}/fine")
    eventually("the pod is gone", lambda: stage.pod("fine") is None)
    assert not alive(pid)


def test_the_program_talks_to_the_api_server_as_its_own_service_account(stage: Stage) -> None:
    stage.submit("robot", GREETING="$(HEALTH_PROBE_PORT)", LD_PRELOAD="/tmp/evil.so", BASH_ENV="/tmp/evil.sh")
    environment_file = eventually("its environment", lambda: (stage.home("robot") / "seen.json").exists())
    assert environment_file

    environment = json.loads((stage.home("robot") / "seen.json").read_text())
    assert environment["GREETING"] == "8081", "settings are what the pod says, whatever port is substituted"
    assert environment["REGION"] == "default/default"
    assert not {"AWS_PROFILE", "LD_PRELOAD", "BASH_ENV"} & {*environment}
    kubeconfig = json.loads(Path(environment["KUBECONFIG"]).read_text())
    token = Path(kubeconfig["users"][0]["user"]["tokenFile"]).read_text()
    for file, audiences in ((token, []), (Path(environment["CLOUD_TOKEN"]).read_text(), ["cloud"])):
        group = "authentication.k8s.io/v1"
        review = {"apiVersion": group, "kind": "TokenReview", "spec": {"token": file, "audiences": audiences}}
        status = stage.api.create(f"/apis/{group}/tokenreviews", review)["status"]
        assert status["user"]["username"] == "system:serviceaccount:default:default"
        assert status["user"]["extra"]["authentication.kubernetes.io/pod-name"] == ["robot"]
    stage.api.delete(f"{PODS}/robot", gracePeriodSeconds=0)


def test_a_crash_is_restarted_counted_and_reported_in_the_programs_words(stage: Stage) -> None:
    stage.submit("broken", MODE="crash")
    eventually("a restart", lambda: stage.status("broken").get("restartCount", 0) >= 2)
    status = stage.status("broken")
    assert "no such queue" in status["lastState"]["terminated"]["message"]
    failed = [event for event in events(stage.api, PROGRAM_FAILED) if event["involvedObject"]["name"] == "broken"]
    messages = [event["message"] for event in failed]
    assert any("exit code 1" in message and "no such queue" in message for message in messages)
    stage.processes.check()
    stage.api.delete(f"{PODS}/broken")
    eventually("the pod is gone", lambda: stage.pod("broken") is None)


@pytest.mark.parametrize("tag", [":9.9.8", "", ":latest"])
def test_another_version_than_the_one_built_does_not_run(stage: Stage, tag: str) -> None:
    name = f"other{tag.replace(':', '-').replace('.', '')}"
    stage.submit(name, f"example.com/mirror/karpenter/controller{tag}")
    waiting = eventually("it waits", lambda: stage.status(name).get("state", {}).get("waiting"))
    assert waiting["reason"] == "ErrImagePull"
    assert "has version 9.9.9" in waiting["message"]
    assert stage.pid(name) is None
    stage.api.delete(f"{PODS}/{name}")
    eventually("the pod is gone", lambda: stage.pod(name) is None)


def test_what_a_variable_refers_to_must_be_there_before_the_program_starts(stage: Stage) -> None:
    stage.submit("waits")
    stage.api.delete(f"{PODS}/waits", gracePeriodSeconds=0)
    source = {"name": "LEVEL", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "LEVEL"}}}
    container = {"name": "controller", "image": IMAGE, "env": [source]}
    spec = {"nodeName": "n1", "containers": [container]}
    stage.api.create(PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "config"}, "spec": spec})
    waiting = eventually("it waits", lambda: stage.status("config").get("state", {}).get("waiting"))
    assert (waiting["reason"], "settings" in waiting["message"]) == ("CreateContainerConfigError", True)
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"LEVEL": "debug"}}
    stage.api.create("/api/v1/namespaces/default/configmaps", config_map)
    eventually("its program runs", lambda: stage.pid("config"))
    stage.api.delete(f"{PODS}/config", gracePeriodSeconds=0)
