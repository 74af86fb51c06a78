"""A real Kubernetes control plane on 127.0.0.1: etcd, API server, controller manager, scheduler; kwok as the kubelets.

Admission: the plugins that Kubernetes enables by default
(https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#which-plugins-are-enabled-by-default;
among them Priority, DefaultTolerationSeconds, PodSecurity, ResourceQuota, ValidatingAdmissionPolicy) and
ExtendedResourceToleration, which GKE runs so that pods that request GPUs tolerate the GPU taint
(https://cloud.google.com/kubernetes-engine/docs/how-to/gpus).
"""

from __future__ import annotations

import base64
import json
import os
import secrets
import shutil
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from facts.concepts.kubeconfig import kubeconfig
from rehearsal.cluster import images
from rehearsal.cluster.api import Api
from rehearsal.cluster.kubeconfig import Kubeconfig
from rehearsal.cluster.pki import NAME, Certificates, make_certificates, write_private
from rehearsal.cluster.processes import Child, PortTaken, ProcessError, Processes, free_ports, listens
from rehearsal.simulation import makers_rights

STAGES: Final = Path(__file__).parent / "stages"
SERVICE_CIDR: Final = "10.96.0.0/16"
SERVICE_IP: Final = "10.96.0.1"

_DEFAULT_SERVICE_ACCOUNT: Final = "/api/v1/namespaces/default/serviceaccounts/default"
_ADMISSION: Final = "ExtendedResourceToleration"
_PROGRAMS: Final = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok")
_CARRIED: Final = "CARRIED_IMAGES"
"""Stands in the stages for the images that kwok leaves to ``rehearsal/workloads``."""

# One line in the format of container runtimes:
# https://github.com/kubernetes/design-proposals-archive/blob/main/node/kubelet-cri-logging.md
_CONTAINER_LOG: Final = (
    "2026-01-01T00:00:00.000000000Z stdout F A rehearsal simulates its machines: this container's program did not run."
    " `sleep 60` ends after 60 seconds, others after 3, or those of the annotation rehearsal.gpucluster.dev/seconds.\n"
)

_ATTEMPTS: Final = 5
_READY_SECONDS: Final = 240.0

# user → groups; every component authenticates as the RBAC user that Kubernetes' bootstrap roles expect. Who is in
# system:masters is asked for no right, so only the rehearsal's own are: its observer, its kubelets, its autoscaler.
_USERS: Final = {
    "admin": "system:masters",
    "cluster-user": "",
    "developer": "",
    "kwok": "system:masters",
    "autoscaler": "system:masters",
    "system:kube-controller-manager": "",
    "system:kube-scheduler": "",
}


class ControlPlane:
    """One control plane in one folder. A context manager: ready inside the block, gone after it.

    ``tools`` is the folder with the programs. ``processes`` starts the children; without one the control plane makes
    (and closes) its own.

    Raises:
        ProcessError: a program is missing, dies, or is not ready in time; the message ends with its log.
    """

    def __init__(self, run_dir: Path, *, tools: Path, processes: Processes | None = None) -> None:
        missing = [name for name in _PROGRAMS if not os.access(tools / name, os.X_OK)]
        if missing:
            raise ProcessError(f"{tools} lacks {', '.join(missing)}. Run `make tools` to build the control plane.")
        self._tools = tools
        self._folder = (run_dir / "control-plane").absolute()
        self._folder.mkdir(parents=True, exist_ok=True)
        self._owns_processes = processes is None
        self.processes = processes or Processes(run_dir / "logs")
        self._children: list[Child] = []
        self._lock = threading.RLock()
        self._tokens = {user: secrets.token_urlsafe(24) for user in _USERS}
        self._certificates: Certificates = make_certificates(self._folder / "pki", SERVICE_IP)
        self.ca_pem_base64 = base64.b64encode(self._certificates.ca.read_bytes()).decode()
        self.kubeconfig = self._folder / "kubeconfig"
        self.port = 0
        self._was_ready = False
        # Bound and not listening: no other process gets the port, and connections are refused.
        self._closed = socket.socket()
        self._closed.bind(("127.0.0.1", 0))

    def __enter__(self) -> ControlPlane:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def endpoint(self) -> str:
        """``127.0.0.1:PORT`` of the API server."""
        return f"127.0.0.1:{self.port}"

    @property
    def named_endpoint(self) -> str:
        """The API server by name, where its certificate is the public authority's."""
        return f"{NAME}:{self.port}"

    @property
    def nowhere(self) -> str:
        """``127.0.0.1:PORT`` where nobody answers, ever."""
        return f"127.0.0.1:{self._closed.getsockname()[1]}"

    @property
    def token(self) -> str:
        """The bearer token of the cluster's administrator."""
        return self._tokens["admin"]

    @property
    def user_token(self) -> str:
        """The token that the exec credential plugin of a user's kubeconfig hands out."""
        return self._tokens["cluster-user"]

    @property
    def api(self) -> Api:
        """A client with the administrator's rights."""
        return Api(Kubeconfig(self._cluster, {"token": self.token}))

    def start(self) -> None:
        """Start an empty cluster; returns when pods can be created. Other ports are tried if one is taken.

        After ``stop`` the new cluster is empty again, at the same endpoint and with the same credentials.
        """
        with self._lock:
            for attempt in range(1, _ATTEMPTS + 1):
                try:
                    self._start_once()
                    self._was_ready = True
                    return
                except BaseException as error:
                    self.stop()
                    if not isinstance(error, PortTaken) or attempt == _ATTEMPTS:
                        raise
                    if not self._was_ready:
                        self.port = 0

    def stop(self) -> None:
        """Stop the control plane's processes; the API no longer answers."""
        with self._lock:
            self.processes.stop(*self._children, grace=1.0)
            self._children.clear()

    def close(self) -> None:
        """Stop, and end the process table if it is the control plane's own."""
        self.stop()
        self._closed.close()
        if self._owns_processes:
            self.processes.close()

    def kubeconfig_for(self, user: str) -> Path:
        """A kubeconfig with a token of ``user`` (``admin``, ``developer``, ``kwok`` … or a component's RBAC name)."""
        path = self.kubeconfig if user == "admin" else self._folder / f"{user.removeprefix('system:')}.kubeconfig"
        write_private(path, kubeconfig("rehearsal", self._cluster, {"token": self._tokens[user]}))
        return path

    @property
    def _cluster(self) -> dict[str, str]:
        return {"server": f"https://{self.endpoint}", "certificate-authority-data": self.ca_pem_base64}

    def _start_once(self) -> None:
        shutil.rmtree(self._folder / "etcd", ignore_errors=True)
        etcd_port, peer_port, api_port, kubelet_port = free_ports(4)
        self.port = self.port or api_port
        self.kubeconfig_for("admin")
        self._start_etcd(etcd_port, peer_port)
        self._start_api_server(etcd_port)
        api = self.api
        self._wait("the API server", api.ready)
        api.apply_manifest(makers_rights(everything=True))
        self.kubeconfig_for("developer")
        self._start_controller_manager()
        self._start_scheduler()
        self._start_kwok(kubelet_port)
        self._wait("kwok", lambda: listens(kubelet_port))
        # The controller manager makes it; without it the API server refuses every pod.
        self._wait("the default service account", lambda: api.find(_DEFAULT_SERVICE_ACCOUNT) is not None)

    def _run(self, name: str, *flags: str) -> None:
        self._children.append(self.processes.start(name, [self._tools / name, *flags]))

    def _wait(self, what: str, ready: Callable[[], bool]) -> None:
        deadline = time.monotonic() + _READY_SECONDS
        while not ready():
            for child in self._children:
                child.check()
            if time.monotonic() > deadline:
                last = self._children[-1]
                raise ProcessError(f"{what} is not ready after {_READY_SECONDS:.0f} s. {last.name}:\n{last.tail()}")
            time.sleep(0.05)

    def _start_etcd(self, port: int, peer_port: int) -> None:
        peer = f"http://127.0.0.1:{peer_port}"
        self._run(
            "etcd",
            f"--data-dir={self._folder / 'etcd'}",
            f"--listen-client-urls=http://127.0.0.1:{port}",
            f"--advertise-client-urls=http://127.0.0.1:{port}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            "--unsafe-no-fsync",  # the data lives as long as the run
            "--log-level=warn",
        )

    def _start_api_server(self, etcd_port: int) -> None:
        files = self._certificates
        tokens = self._folder / "tokens.csv"
        write_private(
            tokens, "".join(f'{self._tokens[user]},{user},{user},"{group}"\n' for user, group in _USERS.items())
        )
        self._run(
            "kube-apiserver",
            f"--etcd-servers=http://127.0.0.1:{etcd_port}",
            "--bind-address=127.0.0.1",
            # Else it looks for the address of a default route, which a machine without a network has not.
            "--advertise-address=127.0.0.1",
            "--kubelet-preferred-address-types=InternalIP",  # the names of simulated nodes are in no DNS
            f"--secure-port={self.port}",
            "--endpoint-reconciler-type=none",  # a loopback address cannot be an endpoint of the kubernetes Service
            f"--tls-cert-file={files.server}",
            f"--tls-private-key-file={files.server_key}",
            f"--tls-sni-cert-key={files.public_server},{files.public_server_key}:{NAME}",
            f"--token-auth-file={tokens}",
            "--authorization-mode=RBAC",
            f"--enable-admission-plugins={_ADMISSION}",
            "--allow-privileged=true",  # as every cloud does: driver installers are privileged
            f"--service-cluster-ip-range={SERVICE_CIDR}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={files.service_account_key}",
            f"--service-account-signing-key-file={files.service_account_key}",
            # A burst of a thousand nodes must not be throttled: the real API server has more than two shared cores.
            "--enable-priority-and-fairness=false",
            "--max-requests-inflight=3000",
            "--max-mutating-requests-inflight=1500",
            "--profiling=false",
        )

    def _start_controller_manager(self) -> None:
        self._run(
            "kube-controller-manager",
            f"--kubeconfig={self.kubeconfig_for('system:kube-controller-manager')}",
            f"--service-account-private-key-file={self._certificates.service_account_key}",
            f"--root-ca-file={self._certificates.ca}",
            "--use-service-account-credentials=true",  # each controller has the RBAC role Kubernetes made for it
            "--leader-elect=false",
            "--secure-port=0",
            "--node-monitor-grace-period=24h",  # simulated nodes send no heartbeats
            # A node starts with a NoExecute taint of its autoscaler. This controller may hear late that it is gone, and
            # then ends a pod that was placed meanwhile; no other such taint comes to a simulated node.
            "--controllers=*,-taint-eviction-controller",
            "--kube-api-qps=500",
            "--kube-api-burst=1000",
            "--profiling=false",
        )

    def _start_scheduler(self) -> None:
        config = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "clientConnection": {
                "kubeconfig": str(self.kubeconfig_for("system:kube-scheduler")),
                "qps": 500,
                "burst": 1000,
            },
            "leaderElection": {"leaderElect": False},
            # Time is compressed: retry a pod after at most 2 s instead of 10.
            "podInitialBackoffSeconds": 1,
            "podMaxBackoffSeconds": 2,
            "enableProfiling": False,
        }
        path = self._folder / "scheduler.json"
        path.write_text(json.dumps(config, indent=2))
        self._run("kube-scheduler", f"--config={path}", "--secure-port=0")

    def _start_kwok(self, port: int) -> None:
        """Start the kubelets, which answer for all nodes at one ``port``: every container has the same log."""
        stages, log = self._folder / "stages.yaml", self._folder / "container.log"
        log.write_text(_CONTAINER_LOG)
        parts = [path.read_text() for path in sorted(STAGES.glob("*.yaml"))]
        parts.append(json.dumps(_logs(log)) + "\n")
        stages.write_text("---\n".join(parts).replace(_CARRIED, images.expression()))
        self._run(
            "kwok",
            f"--kubeconfig={self.kubeconfig_for('kwok')}",
            f"--config={stages}",
            "--manage-all-nodes=true",
            "--node-lease-duration-seconds=0",
            "--node-ip=127.0.0.1",
            f"--node-port={port}",
            f"--server-address=127.0.0.1:{port}",
            f"--tls-cert-file={self._certificates.server}",
            f"--tls-private-key-file={self._certificates.server_key}",
        )


def _logs(file: Path) -> dict[str, Any]:
    """What kwok answers to ``kubectl logs``: https://kwok.sigs.k8s.io/docs/user/kwok-manage-logs/."""
    spec = {"logs": [{"logsFile": str(file), "follow": False}]}
    return {"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": "ClusterLogs", "metadata": {"name": "logs"}, "spec": spec}
