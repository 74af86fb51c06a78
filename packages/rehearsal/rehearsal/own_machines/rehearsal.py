"""One rehearsal of own machines: update, a GPU job, drift, power cut, upgrade, a machine fewer and more, destroy.

In its life the cluster goes through certificates that end, a restored snapshot and an upgrade.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from threading import Thread
from typing import Any, Final

from components.settings import Settings
from facts.concepts.counts import counted
from facts.concepts.pool import POOL_LABEL
from rehearsal.cluster.api import Api, ApiError, condition
from rehearsal.cluster.kubeconfig import Kubeconfig
from rehearsal.cluster.processes import kill_children
from rehearsal.engine import recovery
from rehearsal.engine.engine import Engine
from rehearsal.lab.lab import USER, Lab
from rehearsal.lab.software import LATER, WORKLOAD_IMAGE
from rehearsal.own_machines import look
from rehearsal.own_machines.lab_rehearsal import LabRehearsal, LabStackFile, client_key, machines
from rehearsal.own_machines.look import ClusterView, NotSeen

_PKI: Final = "/etc/kubernetes/pki"
_CERTIFICATE: Final = f"{_PKI}/apiserver-kubelet-client.crt"
_ENDING: Final = f"""
printf 'extendedKeyUsage=clientAuth' > /run/lab-extensions
openssl req -new -key {_CERTIFICATE[:-4]}.key -subj /O=kubeadm:cluster-admins/CN=kube-apiserver-kubelet-client |
  openssl x509 -req -CA {_PKI}/ca.crt -CAkey {_PKI}/ca.key -days 5 -extfile /run/lab-extensions -out {_CERTIFICATE}
"""
"""A certificate of 5 more days in place of the year's."""
_JOB_GOES_ON_SECONDS: Final = 15
_UPGRADE_SECONDS: Final = 1500.0
_OTHER_NAME: Final = "-renamed"
_MAPS: Final = "/api/v1/namespaces/default/configmaps"


def _map(cluster: ClusterView) -> str:
    names = [each["metadata"]["name"] for each in cluster.api.list(_MAPS)]
    return "" if "kept" in names else f"there are {', '.join(names)}"


def _end_job_of_drained_node(lab: Lab, cluster: ClusterView, name: str) -> str:
    """What the job is some seconds after the node takes no more pods; then it is told to end."""
    try:
        look.wait(lambda: "" if name in cluster.cordoned() else "it takes pods", _UPGRADE_SECONDS)
        time.sleep(_JOB_GOES_ON_SECONDS)
        return look.job_state(cluster)
    except NotSeen as missing:
        return f"never drained: {missing}"
    finally:
        lab.machine(name).run(["sh", "-c", look.END_JOB])


_ADMINISTRATORS: Final[Sequence[Mapping[str, str]]] = (
    {"verb": "delete", "resource": "nodes"},
    {"verb": "create", "resource": "pods", "namespace": "kube-system"},
    {"verb": "get", "resource": "secrets", "namespace": "kube-system"},
)
"""Requests that the API server permits to administrators only."""

_KEYS: Final = "/etc/kubernetes/gpucluster/encryption.yaml"
_ENCRYPTING: Final = r's/.*secret: "\(.*\)".*/\1/p'


class OwnRehearsal(LabRehearsal):
    """Machines become a cluster and are given back."""

    specs_of = staticmethod(machines)

    @staticmethod
    def plane_count(settings: Settings) -> int:
        """As many as the stack file has."""
        own: Any = settings.own
        return len(own.control_planes)

    def _play(self, held: ExitStack) -> None:
        with self._stage("start the machines"):
            lab = held.enter_context(Lab(self.run_dir / "lab", self._root, self._specs, self._software, self._say))
            before = {name: look.traces(lab.machine(name)) for name in self._gpus}
            file = self._stack_file(lab)
            engine = self._engine(held, file.write, ("gpucluster:sshPrivateKey", lab.private_key.read_text()))
        held.callback(self._logs, lab)
        with self._upgrading(lab, engine, lambda: self._clients(engine)[0]), self._stage("pulumi up"):
            self._engine_check("up", "`pulumi up` makes a cluster of the machines", engine.up(self._options.gate))
        cluster, user = self._clients(engine)
        with self._stage("cluster"):
            self._network(lab, cluster)
            self._no_tokens("no-tokens", cluster)
        with self._stage("GPU job"):
            self._gpu_job(user, cluster)
            self._no_gpu(cluster.api)
            self._user_rights(user, cluster)
        with self._stage("second update"):
            self._nothing_to_do(lab, engine)
        if self._options.keep:
            with self._stage("shell"):
                self._shell(engine, engine.outputs()["kubeconfig"])
        else:
            self._life(lab, engine, file, before)
        with self._stage("secrets"):
            self._secrets(_secret_words(lab, engine, self._planes[0]))
        with self._stage("pulumi destroy"):
            self._engine_check("destroy", "`pulumi destroy` succeeds", engine.destroy())
            for name in self._gpus:
                self._given_back(lab, name, before)

    def _life(self, lab: Lab, engine: Engine, file: LabStackFile, before: dict[str, dict[str, str]]) -> None:
        """What happens to the cluster between its first updates and its end."""
        cluster, _ = self._clients(engine)
        with self._stage("drift"):
            self._drift(lab, engine, cluster)
        with self._stage("certificates"):
            self._certificates(lab, engine)
        with self._stage("etcd"):
            self._snapshot(lab, cluster)
        with self._stage("power cut"):
            self._power_cut(lab, cluster)
        with self._stage("upgrade"):
            self._upgrade(lab, engine, file, cluster)
            # With the control plane's new certificates came another key of the administrator.
            cluster, _ = self._clients(engine)
        with self._stage("a machine fewer"):
            self._fewer(lab, engine, file, cluster, before)
        with self._stage("a machine more"):
            lab.restock(self._workers[-1])
            file.write(engine.stack_file, ending=_OTHER_NAME)
            self._killed(engine, cluster)
            self._engine_check("worker-added", "A machine that is written again joins", engine.up(self._options.gate))
            self._ready("worker-added-ready", "All nodes are ready, GPUs included", cluster, list(self._gpus))
            pools = {name: cluster.nodes()[name]["metadata"]["labels"][POOL_LABEL] for name in self._workers}
            renamed = all(_OTHER_NAME in pool for pool in pools.values())
            self._check(
                "pool-renamed",
                "With another name of their pool they stay nodes",
                renamed,
                ", ".join(sorted({*pools.values()})),
            )
            self._no_tokens("no-tokens-after-kill", cluster)

    def _killed(self, engine: Engine, cluster: ClusterView) -> None:
        """The engine and its plugins are killed while a machine joins; the user does what docs/operations.md says."""

        def kill() -> None:
            look.wait(lambda: "" if cluster.join_tokens() else "no machine joins")
            kill_children(os.getpid(), "pulumi")

        Thread(target=kill, daemon=True).start()
        result = engine.up(self._options.gate, name="killed")
        title = "The engine is killed while a machine joins"
        self._check("killed", title, result.exit_code < 0, f"exit code {result.exit_code} after {result.seconds:.0f} s")
        title = "The stack is unlocked, and what was being created is cleared"
        self._engine_check("killed-recovered", title, recovery.after_kill(engine, {}, {}))

    def _no_tokens(self, id: str, cluster: ClusterView) -> None:
        left = cluster.join_tokens()
        self._check(id, "No token or certificate by which machines join is left", not left, ", ".join(left) or "none")

    def _stack_file(self, lab: Lab) -> LabStackFile:
        keys = {name: lab.machine(name).host_key for name in self._gpus}
        return LabStackFile(self._stack.file, keys, USER, lab.repository_url, self._software.repository / "key.asc")

    def _clients(self, engine: Engine) -> tuple[ClusterView, Api]:
        """The administrator, with the file on the control plane's own disk, and the user of the output."""
        outputs = engine.outputs()
        admin = engine.output_of("gpucluster-machines:index:ControlPlane", "adminKubeconfig")
        return ClusterView(Api(Kubeconfig.parse(admin))), Api(Kubeconfig.parse(outputs["kubeconfig"]))

    def _no_gpu(self, admin: Api) -> None:
        namespace, name = "kube-system", "no-gpu"
        pods = f"/api/v1/namespaces/{namespace}/pods"
        admin.create(pods, look.without_gpu(name, self._workers[0]))

        def running() -> str:
            phase = str(admin.get(f"{pods}/{name}")["status"]["phase"])
            return "" if phase in ("Failed", "Succeeded") else f"the pod is {phase}"

        look.wait(running)
        opened = look.opened(admin, name, namespace)
        title = "A pod without a GPU limit opens none, whatever its image asks for"
        self._check("gpu-none", title, not opened, ", ".join(opened) or "none")
        admin.delete(f"{pods}/{name}")

    def _user_rights(self, user: Api, cluster: ClusterView) -> None:
        allowed = [
            " ".join(review.values())
            for review in _ADMINISTRATORS
            if cluster.api.permits("gpucluster:users", ["gpucluster:users"], review)
        ]
        title = "The output kubeconfig cannot delete nodes, nor create pods or read Secrets of the system"
        self._check("user-rights", title, not allowed, ", ".join(allowed) or "refused")
        container = {"name": "root", "image": WORKLOAD_IMAGE, "securityContext": {"privileged": True}}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "root"}, "spec": {"containers": [container]}}
        answer = "admitted"
        try:
            user.create("/api/v1/namespaces/default/pods", pod)
        except ApiError as error:
            answer = str(error)
        self._check("no-privileged-pod", "A user's privileged pod is refused", "PodSecurity" in answer, answer)

    def _nothing_to_do(self, lab: Lab, engine: Engine) -> None:
        before = {name: look.logins(lab.machine(name)) for name in self._gpus}
        again = engine.up(self._options.gate, name="up-again", expect_no_changes=True)
        self._engine_check("second-up", "A second update changes nothing", again)
        logins = {name: look.logins(lab.machine(name)) - before[name] for name in self._gpus}
        self._check("second-up-silent", "It logs in to no machine", not any(logins.values()), _counts(logins))
        self._engine_check("no-drift", "`pulumi refresh` finds no drift on the machines", engine.drift())

    def _drift(self, lab: Lab, engine: Engine, cluster: ClusterView) -> None:
        machine, name = lab.machine(self._workers[0]), self._workers[0]
        machine.run(["systemctl", "stop", "kubelet"])
        machine.run(["sh", "-c", "echo '# edited' >> /etc/containerd/config.toml"])
        drift = engine.drift()
        changed = [step.name for step in drift.outcome.done if step.alters]
        only = bool(changed) and all(name in each for each in changed)
        title = "A stopped kubelet and an edited file are drift of that machine alone"
        self._check("drift", title, only, ", ".join(changed))
        engine.refresh()
        self._engine_check("drift-mended", "The next update mends it", engine.up(self._options.gate, name="mend"))
        active = machine.run(["systemctl", "is-active", "kubelet"], check=False).strip()
        edited = "# edited" in machine.run(["cat", "/etc/containerd/config.toml"])
        detail = f"kubelet is {active}, the file is {'still edited' if edited else 'as declared'}"
        self._check("drift-gone", "kubelet runs and the file is as declared", active == "active" and not edited, detail)
        self._ready("drift-ready", "All nodes are ready again", cluster, list(self._gpus))

    def _power_cut(self, lab: Lab, cluster: ClusterView) -> None:
        name = self._workers[0]
        machine = lab.machine(name)
        machine.power_cut()
        self._observe(
            "power-cut",
            "A machine without power is seen",
            lambda: f"{name} still counts as ready" if condition(cluster.nodes()[name], "Ready") else "",
        )
        machine.power_on()
        machine.wait_for_ssh()
        self._ready("power-on", "With power it comes back by itself, GPUs included", cluster, list(self._gpus))

    def _fewer(
        self, lab: Lab, engine: Engine, file: LabStackFile, cluster: ClusterView, before: dict[str, dict[str, str]]
    ) -> None:
        last = self._workers[-1]
        others = [name for name in self._workers if name != last]
        logins = {name: look.logins(lab.machine(name)) for name in others}
        file.write(engine.stack_file, without=last)
        self._engine_check(
            "worker-removed", "A machine that is no longer written leaves", engine.up(self._options.gate)
        )
        touched = {name: look.logins(lab.machine(name)) - logins[name] for name in others}
        self._check(
            "worker-removed-alone", "No other worker is logged in to", not any(touched.values()), _counts(touched)
        )
        names = [name for name in self._gpus if name != last]
        self._ready("worker-removed-node", "Its node is gone, the others are ready", cluster, names)
        self._given_back(lab, last, before)

    def _given_back(self, lab: Lab, name: str, before: dict[str, dict[str, str]]) -> None:
        left = look.left_behind(before[name], look.traces(lab.machine(name)))
        id, title = f"given-back-{len(self._record.checks)}", f"{name} is as it was before"
        self._check(id, title, not left, "; ".join(left) or "equal")

    def _certificates(self, lab: Lab, engine: Engine) -> None:
        plane = next(iter(self._gpus))
        machine = lab.machine(plane)
        machine.run(["sh", "-ec", _ENDING])
        server = machine.run(["pidof", "kube-apiserver"]).strip()
        changed = [step.name for step in engine.drift().outcome.done if step.alters]
        title = "A certificate that ends soon is drift of the control plane"
        self._check("certificate-drift", title, bool(changed), ", ".join(changed))
        engine.refresh()
        self._engine_check("certificates", "The next update renews it", engine.up(self._options.gate, name="renew"))
        days = machine.run(["openssl", "x509", "-noout", "-enddate", "-in", _CERTIFICATE]).strip()
        year = machine.run(["sh", "-c", f"openssl x509 -noout -checkend 30000000 -in {_CERTIFICATE}; true"])
        self._check("certificate-year", "It lives for a year again", "will not expire" in year, days)
        restarted = machine.run(["pidof", "kube-apiserver"]).strip() != server
        self._check("certificate-used", "The API server was started anew for it", restarted, f"pid before: {server}")

    def _snapshot(self, lab: Lab, cluster: ClusterView) -> None:
        machine = lab.machine(next(iter(self._gpus)))
        cluster.api.create(_MAPS, {"metadata": {"name": "kept"}, "data": {"what": "before the snapshot"}})
        file = machine.run(["gpucluster-etcd", "save"]).split()[-1]
        cluster.api.delete(f"{_MAPS}/kept")
        machine.run(["gpucluster-etcd", "restore", file], seconds=600)
        self._observe(
            "restored", "An object deleted after a snapshot is back after its restore", partial(_map, cluster)
        )
        self._ready("restored-ready", "All nodes are ready on the restored data", cluster, list(self._gpus))

    def _start_job(self, id: str, cluster: ClusterView, worker: str) -> None:
        """A GPU job on ``worker``, which runs until it is told to end (``look.END_JOB``)."""
        cluster.api.create("/apis/batch/v1/namespaces/default/jobs", look.job_until_told(worker))
        self._observe(id, f"A GPU job runs on {worker}", partial(look.job_state, cluster, "Running"))

    def _upgrade(self, lab: Lab, engine: Engine, file: LabStackFile, cluster: ClusterView) -> None:
        """To the later version, while a job holds a GPU of the first worker."""
        worker = self._workers[0]
        self._start_job("upgrade-job", cluster, worker)
        before = lab.machine(next(iter(self._gpus))).run(["gpucluster-etcd", "list"]).split()
        file.write(engine.stack_file, version=LATER.removeprefix("v"))
        with ThreadPoolExecutor(1) as aside:
            observed = aside.submit(_end_job_of_drained_node, lab, cluster, worker)
            result = engine.up(self._options.gate, name="upgrade")
            state = observed.result()
        self._engine_check("upgrade", f"`pulumi up` upgrades all machines to {LATER}", result)
        # The ended pod went with the drain: its job tells how it ended.
        ended = cluster.api.get("/apis/batch/v1/namespaces/default/jobs/train")["status"]
        counts = {key: ended.get(key, 0) for key in ("succeeded", "failed")}
        detail = f"{_JOB_GOES_ON_SECONDS} s after {worker} took no more pods: {state}; at the end: {counts}"
        waited = state == "Running" and counts == {"succeeded": 1, "failed": 0}
        self._check("upgrade-waits", "A running GPU job is waited for, not evicted", waited, detail)
        self._ready("upgrade-ready", "All nodes are ready again, GPUs included", cluster, list(self._gpus))
        versions = {name: node["status"]["nodeInfo"]["kubeletVersion"] for name, node in cluster.nodes().items()}
        server = cluster.api.get("/version")["gitVersion"]
        cordoned = cluster.cordoned()
        held = all("kubelet" in lab.machine(name).run(["apt-mark", "showhold"]) for name in self._gpus)
        everywhere = {server, *versions.values()} == {LATER} and not cordoned and held
        detail = f"API server {server}, {versions}; cordoned: {cordoned or 'none'}; packages held: {held}"
        self._check(
            "upgrade-everywhere", "Every machine runs it, takes pods, and holds its packages", everywhere, detail
        )
        plane = lab.machine(next(iter(self._gpus)))
        new = [path for path in plane.run(["gpucluster-etcd", "list"]).split() if path not in before]
        modes = [plane.run(["stat", "-c", "%a", path]).strip() for path in new]
        # At midnight the machine's own timer saves another.
        safe = {*modes} == {"600"}
        self._check("upgrade-snapshot", "etcd was saved before, for root alone", safe, ", ".join(new) or "none")
        again = engine.up(self._options.gate, name="up-after-upgrade", expect_no_changes=True)
        self._engine_check("upgrade-once", "Another update changes nothing", again)
        cluster.api.delete("/apis/batch/v1/namespaces/default/jobs/train")


def _secret_words(lab: Lab, engine: Engine, plane: str) -> dict[str, str]:
    admin = engine.output_of("gpucluster-machines:index:ControlPlane", "adminKubeconfig")
    key = next(line for line in lab.private_key.read_text().splitlines()[1:] if len(line) > 40)
    words = {"the private key": key, "the administrator's key": client_key(admin)}
    return words | {"the key that encrypts Secrets": lab.machine(plane).run(["sed", "-n", _ENCRYPTING, _KEYS]).strip()}


def _counts(logins: dict[str, int]) -> str:
    return ", ".join(f"{name}: {counted(count, 'login')}" for name, count in logins.items())
