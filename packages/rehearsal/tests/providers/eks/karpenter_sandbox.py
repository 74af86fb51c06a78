"""A cluster with the real Karpenter, and what tests change in it and its account and put back afterwards."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

import yaml

from components.clouds.base import load_cloud
from components.driver_daemon_set import config_map, daemon_set
from packages.rehearsal.tests.providers.eks.account import Amazon
from packages.rehearsal.tests.providers.eks.answers import answers
from packages.rehearsal.tests.simulated_cluster import PODS, eventually, tools
from rehearsal.cluster.api import Api, Object, condition
from rehearsal.cluster.control_plane import ControlPlane
from rehearsal.fleet import KarpenterFleet
from rehearsal.providers.base import merged
from rehearsal.providers.eks.cloud import Account
from tests import recorder
from tests.components import eks_specs

RELEASE: Final = "kubernetes:helm.sh/v3:Release"
CLUSTER: Final = "judged"
SECONDS: Final = 600
"""Long enough for a machine that does other things too; nothing waits in vain."""
_PODS: Final = "/api/v1/namespaces/kube-system/pods"
_CLAIMS: Final = "/apis/karpenter.sh/v1/nodeclaims"
_CONTROLLER: Final = "app.kubernetes.io/name=karpenter"
CLASSES: Final = "/apis/karpenter.k8s.aws/v1/ec2nodeclasses"
POOLS: Final = "/apis/karpenter.sh/v1/nodepools"


@dataclass
class KarpenterSandbox:
    """What a test may look at and change. ``releases`` are the program's, by name, with their values."""

    api: Api
    amazon: Amazon
    run_dir: Path
    kubeconfig: Path
    releases: dict[str, Mapping[str, Any]]
    _read: dict[Path, int] = field(default_factory=dict)
    _reported: dict[str, Any] = field(default_factory=dict)

    @property
    def account(self) -> Account:
        return self.amazon.account

    def aws(self, service: str, operation: str, **params: Any) -> dict[str, Any]:
        """A request of an administrator."""
        return self.account.call(service, operation, **params)

    def instances(self, *states: str) -> list[dict[str, Any]]:
        """EC2's instances that are in no Auto Scaling group, in these states (default: running)."""
        answer = self.aws("ec2", "DescribeInstances")
        answered = [each for reservation in answer["Reservations"] for each in reservation["Instances"]]
        accepted = states or ("running",)
        mine = [
            each
            for each in answered
            if not any(tag["Key"].startswith("aws:autoscaling") for tag in each.get("Tags", []))
        ]
        return [each for each in mine if each["State"]["Name"] in accepted]

    def release(self, name: str, values: Mapping[str, Any] | None = None, *, wait: bool = True) -> None:
        """Install or upgrade one of the program's releases, with ``values`` over the program's."""
        chart_values = merged(self.releases[name], values or {})
        version = "1.14.1"
        command = [tools() / "helm", "upgrade", "--install", name, tools() / f"{name}-{version}.tgz"]
        command += ["--namespace", "kube-system", "--values", "-", "--kubeconfig", self.kubeconfig, "--skip-crds"]
        command += ["--wait", "--timeout", "600s"] if wait else []
        done = subprocess.run([*map(str, command)], input=yaml.safe_dump(chart_values), text=True, capture_output=True)
        assert done.returncode == 0, f"{done.stderr}\n{self.words()}"

    def controllers(self) -> list[Object]:
        """Karpenter's pods."""
        return self.api.list(_PODS, labelSelector=_CONTROLLER)

    def restart(self) -> None:
        """Start Karpenter anew, so that it remembers nothing, and return when it is ready."""
        before = {each["metadata"]["uid"] for each in self.controllers()}
        self.api.delete(f"{_PODS}?{urlencode({'labelSelector': _CONTROLLER})}")

        def ready() -> bool:
            pods = self.controllers()
            return any(each["metadata"]["uid"] not in before and condition(each, "Ready") for each in pods)

        eventually("Karpenter is ready", ready, 600)

    def logs(self) -> dict[Path, str]:
        """What every Karpenter of this sandbox has written, by its file."""
        return {path: path.read_text() for path in sorted((self.run_dir / "logs" / "pods").glob("karpenter*.log"))}

    def mark(self) -> None:
        """From here on, ``words`` are new ones."""
        self._read = {path: len(text) for path, text in self.logs().items()}
        self._reported = {event["metadata"]["uid"]: event.get("count") for event in self.api.list("/api/v1/events")}

    def words(self) -> str:
        """Everything that Karpenter and the machines have said since ``mark``: logs, events, and how classes are."""
        logs = [text[self._read.get(path, 0) :] for path, text in self.logs().items()]
        events = self.api.list("/api/v1/events")
        messages = [
            each["message"] for each in events if self._reported.get(each["metadata"]["uid"], 0) != each.get("count")
        ]
        classes = [json.dumps(each.get("status", {})) for each in self.api.list(CLASSES)]
        return "\n".join([*logs, *messages, *classes])

    def events(self, kind: str, name: str = "") -> list[str]:
        """The messages of events about objects of a kind."""
        matching = [each for each in self.api.list("/api/v1/events") if each["involvedObject"].get("kind") == kind]
        return [each["message"] for each in matching if not name or each["involvedObject"].get("name") == name]

    def claims(self) -> list[Object]:
        """The NodeClaims."""
        return self.api.list(_CLAIMS)

    def submit(self, pod: Object) -> str:
        """A pod in the default namespace; its name."""
        self.api.create(PODS, pod)
        name: str = pod["metadata"]["name"]
        return name

    def phase(self, pod: str) -> str:
        """The pod's phase, ``""`` once it is gone."""
        live = self.api.find(f"{PODS}/{pod}")
        return "" if live is None else str(live["status"].get("phase"))

    def run(self, *pods: str) -> list[Object]:
        """The nodes on which the pods run."""
        for name in pods:
            eventually(f"{name} runs", lambda name=name: self.phase(name) == "Running", SECONDS)
        placed = [self.api.get(f"{PODS}/{name}")["spec"]["nodeName"] for name in pods]
        return [self.api.get(f"/api/v1/nodes/{name}") for name in placed]

    def waits(self, pod: str, message: str) -> None:
        """The pod waits, and Karpenter says why."""
        eventually(f"Karpenter says: {message}", lambda: message in self.words(), SECONDS)
        assert self.phase(pod) == "Pending"

    def settle(self) -> None:
        """Remove what tests left, and return when no instance is left of it.

        Karpenter would take half a minute to find a node idle and to make sure of it.
        """
        self.api.delete(PODS, gracePeriodSeconds=0)
        eventually("no claim is left", self._no_claim)
        eventually("no instance is left", lambda: not self.instances("pending", "running"))

    def _no_claim(self) -> bool:
        claims = self.claims()
        # Again and again: Karpenter may have planned one for a pod that was still there.
        if any("deletionTimestamp" not in each["metadata"] for each in claims):
            self.api.delete(_CLAIMS)
        return not claims


@contextmanager
def karpenter_sandbox(folder: Path, *pools: Any, **cluster: Any) -> Iterator[KarpenterSandbox]:
    """The program's cluster with Karpenter and these pools."""
    with ExitStack() as started:
        control_plane = started.enter_context(ControlPlane(folder, tools=tools()))
        fleet = KarpenterFleet(control_plane, folder, tools())
        started.callback(fleet.close)
        amazon = Amazon(folder / "logs", patience=60, machines=fleet)
        started.callback(amazon.stop)
        sandbox = KarpenterSandbox(control_plane.api, amazon, folder, control_plane.kubeconfig, {})
        recording = _run_program(amazon, pools, cluster)
        objects = []
        for each in recording.resources:
            if each.type == RELEASE:
                sandbox.releases[each.inputs["name"]] = each.inputs.get("values", {})
            elif each.type.startswith("kubernetes:"):
                objects.append({key: value for key, value in each.inputs.items() if not key.startswith("__")})
        plugins = load_cloud("eks").gpu_daemons([each for each in pools if each.role == "gpu"])
        objects += [made(each) for each in plugins for made in (config_map, daemon_set)]
        ours = [each for each in objects if "karpenter" in each["apiVersion"]]
        fleet.apply_objects([each for each in objects if each not in ours])
        sandbox.release("karpenter-crd", wait=False)
        sandbox.release("karpenter")
        fleet.apply_objects(ours)
        eventually("its pools are ready", lambda: all(condition(one, "Ready") for one in sandbox.api.list(POOLS)), 600)
        yield sandbox


def _run_program(amazon: Amazon, pools: tuple[Any, ...], cluster: Mapping[str, Any]) -> recorder.Recording:
    with answers(amazon):
        usual = {"cluster_name": CLUSTER, "autoscaler": "karpenter", "zones": eks_specs.THREE_ZONES}
        return eks_specs.run(*pools, cluster={**usual, **cluster})


ROLE: Final = f"{CLUSTER}-karpenter"


def conditions_of(claim: Object) -> dict[str, str]:
    """A NodeClaim's conditions: type → status."""
    return {each["type"]: each["status"] for each in claim.get("status", {}).get("conditions", [])}


def pool_path(pool: str) -> str:
    return f"{POOLS}/{pool}"


def class_path(sandbox: KarpenterSandbox, pool: str) -> str:
    """Of what the pool's machines are made from."""
    name: str = sandbox.api.get(pool_path(pool))["spec"]["template"]["spec"]["nodeClassRef"]["name"]
    return f"{CLASSES}/{name}"


@contextmanager
def changed(sandbox: KarpenterSandbox, path: str, change: Callable[[Any], None]) -> Iterator[None]:
    """An object's spec with a change, and as it was again."""
    original = sandbox.api.get(path)["spec"]
    spec = json.loads(json.dumps(original))
    change(spec)
    sandbox.api.merge(path, {"spec": spec})
    try:
        yield
    finally:
        sandbox.api.merge(path, {"spec": {**dict.fromkeys(spec, None), **original}})


@contextmanager
def without(sandbox: KarpenterSandbox, action: str) -> Iterator[None]:
    """Karpenter's role with one action less."""
    names = sandbox.aws("iam", "ListRolePolicies", RoleName=ROLE)["PolicyNames"]
    policies = {
        name: sandbox.aws("iam", "GetRolePolicy", RoleName=ROLE, PolicyName=name)["PolicyDocument"] for name in names
    }
    for name, document in policies.items():
        less = json.loads(json.dumps(document))
        for statement in less["Statement"]:
            actions = statement["Action"] if isinstance(statement["Action"], list) else [statement["Action"]]
            statement["Action"] = [each for each in actions if each != action] or ["sts:GetCallerIdentity"]
        sandbox.aws("iam", "PutRolePolicy", RoleName=ROLE, PolicyName=name, PolicyDocument=json.dumps(less))
    try:
        yield
    finally:
        for name, document in policies.items():
            sandbox.aws("iam", "PutRolePolicy", RoleName=ROLE, PolicyName=name, PolicyDocument=json.dumps(document))
