"""Somebody else, who makes a cluster of the lab's machines by hand: kubeadm, flannel, and perhaps a device plugin."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from facts.concepts.kubeconfig import kubeconfig
from rehearsal.cluster.api import Api
from rehearsal.cluster.kubeconfig import Kubeconfig
from rehearsal.engine.stack import ROOT
from rehearsal.lab.lab import Lab
from rehearsal.lab.software.images import DEVICE_PLUGIN
from rehearsal.lab.specs import MachineSpec

PODS: Final = "10.244.0.0/16"
PLUGIN: Final = "their-nvidia-device-plugin"
NEWCOMER: Final = "newcomer"
"""A service account with the rights of ``view`` alone."""
_SCRIPT: Final = Path(__file__).parent / "files" / "somebody_else.sh"
_PLUGIN: Final = _SCRIPT.with_name("device_plugin.yaml")
_FLANNEL: Final = ROOT / "components" / "clouds" / "kubeadm" / "flannel.yaml"
_SECONDS: Final = 600.0
_KINDS: Final = (
    "/api/v1/namespaces",
    "/api/v1/configmaps",
    "/api/v1/serviceaccounts",
    "/api/v1/resourcequotas",
    "/apis/apps/v1/daemonsets",
    "/apis/apps/v1/deployments",
    "/apis/policy/v1/poddisruptionbudgets",
    "/apis/scheduling.k8s.io/v1/priorityclasses",
    "/apis/storage.k8s.io/v1/storageclasses",
    "/apis/rbac.authorization.k8s.io/v1/roles",
    "/apis/rbac.authorization.k8s.io/v1/rolebindings",
    "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
    "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
)


@dataclass(frozen=True)
class SomebodyElse:
    """The owner of the cluster; ``api`` and ``kubeconfig`` are the administrator's."""

    api: Api
    kubeconfig: str

    @classmethod
    def make_cluster(cls, lab: Lab, specs: Sequence[MachineSpec]) -> SomebodyElse:
        """A control plane on the first machine, workers on the others. Raises MachineError."""
        first, *others = specs
        with ThreadPoolExecutor(len(specs)) as pool:
            list(pool.map(lambda spec: _prepare(lab, spec), specs))
        init = ["kubeadm", "init", f"--pod-network-cidr={PODS}", f"--apiserver-advertise-address={first.address}"]
        version = lab.machine(first.name).run(["kubeadm", "version", "-o", "short"]).strip()
        lab.machine(first.name).run([*init, f"--kubernetes-version={version}"], seconds=_SECONDS)
        admin = lab.machine(first.name).run(["cat", "/etc/kubernetes/admin.conf"])
        made = cls(Api(Kubeconfig.parse(admin)), admin)
        flannel = yaml.safe_load(_FLANNEL.read_text(encoding="utf-8").replace("${podCidr}", PODS))
        for manifest in flannel.values():
            made.api.apply_manifest(manifest)
        command = lab.machine(first.name).run(["kubeadm", "token", "create", "--print-join-command"])
        join = shlex.split(command.strip().splitlines()[-1])
        for spec in others:
            lab.machine(spec.name).run(join, seconds=_SECONDS)
        return made

    def newcomer(self) -> str:
        """A kubeconfig of somebody who may see most things and change nothing."""
        accounts = "/api/v1/namespaces/default/serviceaccounts"
        self.api.create(accounts, {"metadata": {"name": NEWCOMER}})
        subject = {"kind": "ServiceAccount", "name": NEWCOMER, "namespace": "default"}
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}
        binding = {"metadata": {"name": NEWCOMER}, "roleRef": role, "subjects": [subject]}
        self.api.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding)
        token = self.api.create(f"{accounts}/{NEWCOMER}/token", {"spec": {"expirationSeconds": 3600}})
        cluster = Kubeconfig.parse(self.kubeconfig).cluster
        return kubeconfig(NEWCOMER, cluster, {"token": token["status"]["token"]})

    def install_device_plugin(self) -> None:
        """A device plugin of their own."""
        text = _PLUGIN.read_text(encoding="utf-8").replace("{name}", PLUGIN).replace("{image}", DEVICE_PLUGIN)
        for manifest in yaml.safe_load_all(text):
            self.api.apply_manifest(manifest)

    def objects(self) -> dict[str, tuple[str, Any]]:
        """Everything in the cluster but what runs: path and name → uid and generation."""
        return {
            f"{kind.rpartition('/')[2]} {each['metadata'].get('namespace', '')}/{each['metadata']['name']}": (
                each["metadata"]["uid"],
                each["metadata"].get("generation"),
            )
            for kind in _KINDS
            for each in self.api.list(kind)
        }

    def nodes(self) -> dict[str, dict[str, Any]]:
        """Node → its labels, its taints, and whether the program's field manager is there."""
        return {
            node["metadata"]["name"]: {
                "labels": node["metadata"].get("labels") or {},
                "taints": [f"{each['key']}={each.get('value', '')}:{each['effect']}" for each in _taints(node)],
                "ours": "gpucluster" in {each["manager"] for each in node["metadata"]["managedFields"]},
            }
            for node in self.api.list("/api/v1/nodes")
        }

    def cordon(self, name: str, cordoned: bool) -> None:
        """As ``kubectl cordon`` and ``uncordon`` do; the node controller adds and removes a taint."""
        self.api.merge(f"/api/v1/nodes/{name}", {"spec": {"unschedulable": cordoned or None}})


def _taints(node: Mapping[str, Any]) -> list[dict[str, Any]]:
    taints: list[dict[str, Any]] = node["spec"].get("taints") or []
    return taints


def _prepare(lab: Lab, spec: MachineSpec) -> None:
    arguments = [lab.repository_url, str(spec.gpus)]
    lab.machine(spec.name).run(["sh", "-s", *arguments], seconds=_SECONDS, stdin=_SCRIPT)
