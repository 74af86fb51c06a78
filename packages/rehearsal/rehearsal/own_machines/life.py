"""What a cluster of own machines goes through in its life: certificates that end, a restored snapshot, an upgrade."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final

from rehearsal.engine.engine import Engine
from rehearsal.lab.lab import Lab
from rehearsal.lab.software import LATER
from rehearsal.own_machines import look
from rehearsal.own_machines.lab_rehearsal import LabRehearsal
from rehearsal.own_machines.look import ClusterView, NotSeen
from rehearsal.own_machines.stack_file import LabStackFile

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
END_JOB: Final = 'for each in $(pgrep -f "[-]e /lab-go"); do touch "/proc/$each/root/lab-go"; done'
"""Users' pods mount nothing of their machine, so the file is made in the container, from outside."""
_MAPS: Final = "/api/v1/namespaces/default/configmaps"


class LifeRehearsal(LabRehearsal):
    """Stages for a cluster whose control plane is the first of the machines."""

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
        """A GPU job on ``worker``, which runs until it is told to end (``END_JOB``)."""
        cluster.api.create("/apis/batch/v1/namespaces/default/jobs", _job_until_told(worker))
        self._observe(id, f"A GPU job runs on {worker}", partial(_job_state, cluster, "Running"))

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
        self._check(
            "upgrade-snapshot", "etcd was saved before, for root alone", modes == ["600"], ", ".join(new) or "none"
        )
        again = engine.up(self._options.gate, name="up-after-upgrade", expect_no_changes=True)
        self._engine_check("upgrade-once", "Another update changes nothing", again)
        cluster.api.delete("/apis/batch/v1/namespaces/default/jobs/train")


def _map(cluster: ClusterView) -> str:
    names = [each["metadata"]["name"] for each in cluster.api.list(_MAPS)]
    return "" if "kept" in names else f"there are {', '.join(names)}"


def _job_until_told(node: str) -> dict[str, Any]:
    """A Job of one GPU pod on ``node``, which ends when its container has a file ``/lab-go``."""
    manifest = look.job_manifest("train", 1)
    spec = manifest["spec"]["template"]["spec"]
    spec["nodeSelector"] = {"kubernetes.io/hostname": node}
    spec["containers"][0]["command"] = ["sh", "-c", "until [ -e /lab-go ]; do sleep 1; done"]
    return manifest


def _job_state(cluster: ClusterView, phase: str = "") -> str:
    """The phases of the job's pods; empty if that is ``phase``."""
    phases = " ".join(pod["status"]["phase"] for pod in cluster.pods("job-name=train")) or "none"
    return "" if phases == phase else phases


def _end_job_of_drained_node(lab: Lab, cluster: ClusterView, name: str) -> str:
    """What the job is some seconds after the node takes no more pods; then it is told to end."""
    try:
        look.wait(lambda: "" if name in cluster.cordoned() else "it takes pods", _UPGRADE_SECONDS)
        time.sleep(_JOB_GOES_ON_SECONDS)
        return _job_state(cluster)
    except NotSeen as missing:
        return f"never drained: {missing}"
    finally:
        lab.machine(name).run(["sh", "-c", END_JOB])
