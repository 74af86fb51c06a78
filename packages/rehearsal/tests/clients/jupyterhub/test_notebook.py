"""The real JupyterHub, with what the program declares for its chart, on a rehearsed cluster.

Real: hub, KubeSpawner with the rights of the hub's account, idle culler, the notebook's server and kernel, and what
they answer to a browser. In the chart's place: `chart.py` and `hub_config.py`. In the kubelet's: `machine.py`. The
proxy is the one in Python. Idle time passes faster.
"""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import psutil
import pytest
import requests

from facts.concepts.kubeconfig import kubeconfig
from facts.concepts.pool import POOL_LABEL
from packages.rehearsal.tests.clients.environment import programs
from packages.rehearsal.tests.clients.jupyterhub.chart import DEFAULTS, HUB, NAMESPACE, objects
from packages.rehearsal.tests.clients.jupyterhub.machine import PODS, Machine
from packages.rehearsal.tests.clients.jupyterhub.person import OpenTab, Person
from packages.rehearsal.tests.retained_cluster import RetainedCluster
from packages.rehearsal.tests.simulated_cluster import eventually
from rehearsal.cluster.api import Api
from rehearsal.cluster.kubeconfig import Kubeconfig
from rehearsal.cluster.processes import Processes, free_ports
from rehearsal.providers.base import merged

pytestmark = [pytest.mark.rehearsal]

IDLE_SECONDS: Final = 15
"""So long a notebook stays idle here; what the settings call an hour."""
PEOPLE: Final = {"alice": "t4-1", "bob": "t4-2"}
"""Who chooses which size. The server of bob's image does not look where the files are."""


@dataclass(frozen=True)
class Hub:
    """``page`` is its address for browsers; ``log`` what the hub says."""

    page: str
    password: str
    machine: Machine
    log: Path


@pytest.fixture(scope="module")
def bin_folder() -> Path:
    return programs("jupyterhub")


@pytest.fixture(scope="module")
def hub(
    bin_folder: Path, retained: RetainedCluster, api: Api, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Hub]:
    folder = tmp_path_factory.mktemp("jupyterhub")
    user_values = json.loads(retained.output(f"helm get values --namespace {NAMESPACE} jupyterhub --output json"))
    values = merged(DEFAULTS, user_values)
    for manifest in objects(values):
        api.apply_manifest(manifest)
    proxy, proxy_api, own, *ports = free_ports(3 + len(PEOPLE))
    page = f"http://127.0.0.1:{proxy}"
    values_file = folder / "given.json"
    values_file.write_text(
        json.dumps(
            {
                "values": values,
                "proxy": page,
                "proxyApi": f"http://127.0.0.1:{proxy_api}",
                "hub": f"http://127.0.0.1:{own}",
                "seconds": "86400",
                "ports": dict(zip(PEOPLE, ports, strict=True)),
                "database": f"sqlite:///{folder}/hub.sqlite",
            }
        )
    )
    environment = {
        "HOME": str(folder),
        "HUB_GIVEN": str(values_file),
        "KUBECONFIG": str(_account(retained, folder)),
        "POD_NAMESPACE": NAMESPACE,
        "CONFIGPROXY_AUTH_TOKEN": secrets.token_hex(32),
        "JPY_COOKIE_SECRET": secrets.token_hex(32),
        **_environment(api, values["hub"]["extraEnv"]),
    }
    texts = [file["stringData"] for file in values["singleuser"]["extraFiles"].values()]
    lines = [line for text in texts for line in text.splitlines() if "shutdown_no_activity_timeout" in line]
    (seconds,) = {int(line.rpartition("=")[2]) for line in lines}
    with Processes(folder / "logs") as processes:
        addresses = ["--ip=127.0.0.1", f"--port={proxy}", "--api-ip=127.0.0.1", f"--api-port={proxy_api}"]
        targets = [f"--default-target=http://127.0.0.1:{own}", f"--error-target=http://127.0.0.1:{own}/hub/error"]
        processes.start("proxy", [bin_folder / "configurable-http-proxy", *addresses, *targets], environment)
        config = Path(__file__).with_name("hub_config.py")
        started = processes.start("hub", [bin_folder / "jupyterhub", "-f", config], environment)

        def up() -> bool:
            processes.check()
            try:
                return requests.get(f"{page}/hub/health", timeout=5).ok
            except requests.ConnectionError:
                return False

        eventually("the hub answers", up)
        machine = Machine(api, bin_folder, folder, processes, seconds // IDLE_SECONDS, frozenset({"jupyter-bob"}))
        with machine.working():
            yield Hub(page, environment["NOTEBOOK_PASSWORD"], machine, started.log)
        # The hub's services have sessions of their own.
        for service in psutil.Process(started.pid).children(recursive=True):
            service.kill()


def _account(retained: RetainedCluster, folder: Path) -> Path:
    """A kubeconfig of the hub's service account, as it has no pod that gives it one."""
    token = retained.output(f"kubectl create token {HUB} --namespace {NAMESPACE} --duration 3h").strip()
    path = folder / "kubeconfig"
    path.touch(mode=0o600)
    path.write_text(kubeconfig("hub", Kubeconfig.parse(retained.kubeconfig.read_text()).cluster, {"token": token}))
    return path


def _environment(api: Api, variables: dict[str, Any]) -> dict[str, str]:
    """What a kubelet makes of a container's variables."""
    result: dict[str, str] = {}
    for name, source in variables.items():
        key = source["valueFrom"]["secretKeyRef"]
        secret = api.get(f"/api/v1/namespaces/{NAMESPACE}/secrets/{key['name']}")
        result[name] = base64.b64decode(secret["data"][key["key"]]).decode()
    return result


def nodes(api: Api, pool: str) -> list[str]:
    return [node["metadata"]["name"] for node in api.list("/api/v1/nodes", labelSelector=f"{POOL_LABEL}={pool}")]


def test_an_idle_notebook_ends_and_its_node_goes(hub: Hub, api: Api) -> None:
    """While a cell computes it stays, however silent; then it ends, although its page stays open.

    The negative is at the same time: the notebook without the program's settings, idle from the start, stays, and holds
    its node until its person stops it.
    """
    eventually("no node is up", lambda: not any(nodes(api, pool) for pool in PEOPLE.values()))
    assert not Person(hub.page, "mallory").log_in("a guess")
    people = {name: Person(hub.page, name) for name in PEOPLE}
    for name, person in people.items():
        assert person.log_in(hub.password)
        assert all(pool in person.sizes() for pool in PEOPLE.values())
        person.choose(PEOPLE[name])
    tabs: list[OpenTab] = []
    tokens: list[str] = []
    for name, person in people.items():
        eventually(f"the notebook of {name} answers", person.is_in)
        pod = api.get(f"{PODS}/jupyter-{name}")
        assert pod["spec"]["nodeName"] in nodes(api, PEOPLE[name])
        variables = {each["name"]: each for each in pod["spec"]["containers"][0]["env"]}
        assert "value" not in variables["JUPYTERHUB_API_TOKEN"], "who reads pods could act as its person"
        tokens.append(variables["JUPYTERHUB_API_TOKEN"]["valueFrom"]["secretKeyRef"]["name"])
        reasons = [each["reason"] for each in api.list(f"/api/v1/namespaces/{NAMESPACE}/events", **_of(pod))]
        assert "FailedScheduling" in reasons, "it has not waited for a node"
        tabs.append(OpenTab(person))
        tabs[-1].start()
    cell = people["alice"].cell(f"import time; time.sleep({3 * IDLE_SECONDS})")
    assert cell.status() == "ok", "it was ended while it computed"
    assert [each["id"] for each in people["alice"].ask("kernels")] == [cell.kernel]
    eventually("the notebook of alice ends", lambda: hub.machine.exit_code("jupyter-alice") is not None)
    assert hub.machine.exit_code("jupyter-alice") == 0, "with another code its pod would start it again"
    eventually("her pod goes", lambda: api.find(f"{PODS}/jupyter-alice") is None)
    eventually("her node goes", lambda: not nodes(api, PEOPLE["alice"]))
    assert hub.machine.exit_code("jupyter-bob") is None
    assert api.get(f"{PODS}/jupyter-bob")["spec"]["nodeName"] in nodes(api, PEOPLE["bob"])
    for tab in tabs:
        tab.close()
    people["bob"].stop()
    eventually("bob's pod goes", lambda: api.find(f"{PODS}/jupyter-bob") is None)
    of_tokens = [f"/api/v1/namespaces/{NAMESPACE}/secrets/{name}" for name in tokens]
    eventually("the tokens go with the pods", lambda: not any(api.find(path) for path in of_tokens))
    eventually("his node goes", lambda: not nodes(api, PEOPLE["bob"]))
    claims = api.list(f"/api/v1/namespaces/{NAMESPACE}/persistentvolumeclaims")
    assert sorted(each["metadata"]["name"] for each in claims) == [f"claim-{name}" for name in sorted(PEOPLE)]
    assert "Forbidden" not in hub.log.read_text()


def _of(pod: dict[str, Any]) -> dict[str, str]:
    return {"fieldSelector": f"involvedObject.uid={pod['metadata']['uid']}"}
