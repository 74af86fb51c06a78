"""One rehearsal on a cluster that somebody else made: refusals, update, a GPU job, destroy, and what is left there.

Somebody else makes it of the lab's machines by hand: kubeadm, flannel, and perhaps a device plugin.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import yaml

from components.settings import Settings
from facts.concepts.kubeconfig import kubeconfig
from facts.concepts.kubernetes import tolerations
from rehearsal.cluster.api import Api
from rehearsal.cluster.kubeconfig import Kubeconfig
from rehearsal.engine.engine import CommandResult, Engine
from rehearsal.engine.stack import ROOT
from rehearsal.lab.lab import Lab
from rehearsal.lab.machine import MachineSpec, SpecError
from rehearsal.lab.software.images import DEVICE_PLUGIN
from rehearsal.own_machines.lab_rehearsal import PREFIX, LabRehearsal, client_key, gpus_of, write_config
from rehearsal.own_machines.look import ClusterView
from rehearsal.run.recorder import StageFailed

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
    return node["spec"].get("taints") or []


def _prepare(lab: Lab, spec: MachineSpec) -> None:
    arguments = [lab.repository_url, str(spec.gpus)]
    lab.machine(spec.name).run(["sh", "-s", *arguments], seconds=_SECONDS, stdin=_SCRIPT)


_SECRET: Final = f"{PREFIX}kubeconfig"
_NETWORK: Final = "10.99.0."
_FIRST: Final = 11
_CONTROL_PLANE: Final = "cp1"


def specs(settings: Settings) -> list[MachineSpec]:
    """A control plane, and a machine for each node that the stack file names. Raises SpecError for other nodes."""
    own: Any = settings.own
    unnamed = [pool.name for pool in settings.pools if pool.name not in own.machines]
    if unnamed:
        raise SpecError(f"{', '.join(unnamed)}: only nodes that a stack file names are rehearsed; write machines: […]")
    rows = {_CONTROL_PLANE: (0, "")}
    for pool in (settings.admin_pool, *settings.pools):
        rows |= dict.fromkeys(own.machines.get(pool.name, ()), gpus_of(pool))
    return [MachineSpec(name, f"{_NETWORK}{_FIRST + index}", *gpus) for index, (name, gpus) in enumerate(rows.items())]


class ExistingRehearsal(LabRehearsal):
    """The program comes to a cluster of somebody else, and goes."""

    specs_of = staticmethod(specs)

    def _play(self, held: ExitStack) -> None:
        with self._stage("start the machines"):
            lab = held.enter_context(Lab(self.run_dir / "lab", self._root, self._specs, self._software, self._say))
        held.callback(self._logs, lab)
        with self._stage("somebody else makes a cluster"):
            other = SomebodyElse.make_cluster(lab, self._specs)
            cluster = ClusterView(other.api)
            names = list(self._gpus)
            self._observe("their-nodes", "Their nodes are ready", partial(cluster.not_ready, names, {}))
            newcomer = other.newcomer()
            engine = self._engine(held, self._write, (_SECRET, newcomer))
        nodes, objects = other.nodes(), other.objects()
        with self._stage("too few rights"):
            preview = engine.preview(self._options.gate)
            words = ("lacks rights", "patch nodes", "create, patch, delete configmaps", "bind clusterroles")
            self._refused("rights", "A preview reports all missing rights in one message", preview, *words)
            self._untouched("rights-untouched", other, nodes, objects)
            engine.set_secret(_SECRET, other.kubeconfig)
        tolerated = tolerations(self._stack.settings.gpu_pools[0].nodes.taints)
        with self._upgrading(lab, engine, lambda: cluster, tolerated), self._stage("pulumi up"):
            self._engine_check("up", "`pulumi up` uses their cluster", engine.up(self._options.gate))
            self._network(lab, cluster)
            self._labelled(other, nodes)
        with self._stage("GPU job"):
            self._gpu_job(other.api, cluster, tolerated)
        with self._stage("second update"):
            again = engine.up(self._options.gate, name="up-again", expect_no_changes=True)
            self._engine_check("second-up", "A second update changes nothing", again)
            self._engine_check("no-drift", "`pulumi refresh` finds no drift", engine.drift())
        if self._options.keep:
            with self._stage("shell"):
                self._shell(engine, other.kubeconfig)
        with self._stage("pulumi destroy"):
            # The node controller takes the list of taints over: ours must go all the same, and its own stay.
            other.cordon(self._workers[0], True)
            self._observe("cordon", "A cordoned node has the controller's taint", partial(self._uncordoned, other))
            self._engine_check("destroy", "`pulumi destroy` succeeds", engine.destroy())
            left = other.nodes()[self._workers[0]]["taints"]
            title = "The controller's taint is there after it, ours is not"
            self._check("cordon-stays", title, len(left) == 1 and "unschedulable" in left[0], ", ".join(left))
            other.cordon(self._workers[0], False)
            self._observe("uncordoned", "Their node is theirs again", partial(self._cordoned, other))
            self._untouched("given-back", other, nodes, objects)
            self._observe("still-works", "Their cluster works", cluster.system_pods_waiting)
        with self._stage("their device plugin"):
            self._their_plugin(other, cluster, engine)
        with self._stage("secrets"):
            self._secrets({"their administrator's key": client_key(other.kubeconfig)})

    def _their_plugin(self, other: SomebodyElse, cluster: ClusterView, engine: Engine) -> None:
        other.install_device_plugin()
        self._ready("their-plugin", "Their own device plugin offers the GPUs", cluster, list(self._gpus))
        nodes, objects = other.nodes(), other.objects()
        preview = engine.preview(self._options.gate)
        self._refused("plugin-refused", "Ours is not installed beside it", preview, PLUGIN, "write drivers: none")
        self._write(engine.stack_file, drivers="none")
        self._engine_check(
            "up-theirs", "With drivers: none it is used", engine.up(self._options.gate, name="up-theirs")
        )
        plugins = sorted(each["metadata"]["name"] for each in other.api.list("/apis/apps/v1/daemonsets"))
        self._check(
            "one-plugin", "Theirs is the only one", sum("nvidia" in each for each in plugins) == 1, str(plugins)
        )
        self._engine_check("destroy-theirs", "`pulumi destroy` succeeds again", engine.destroy("destroy-theirs"))
        self._untouched("plugin-untouched", other, nodes, objects)

    def _write(self, path: Path, *, drivers: str = "") -> None:
        """The stack file, with other ``drivers`` of its GPU pools."""
        content = yaml.safe_load(self._stack.file.read_text(encoding="utf-8"))
        for pool in content["config"][f"{PREFIX}gpuPools"]:
            pool |= {"drivers": drivers} if drivers else {}
        write_config(path, content["config"], _SECRET)

    def _refused(self, id: str, title: str, preview: CommandResult, *words: str) -> None:
        text = preview.log.read_text(errors="replace")
        missing = [word for word in words if word not in text]
        passed = not preview.ok and not missing
        self._check(
            id, title, passed, f"not in its output: {missing}" if missing else f"refused in {preview.seconds:.1f} s"
        )
        if not passed:
            raise StageFailed

    def _labelled(self, other: SomebodyElse, before: Mapping[str, Mapping[str, Any]]) -> None:
        own: Any = self._stack.settings.own
        nodes = other.nodes()
        wrong = []
        for pool in self._stack.settings.pools:
            for name in own.machines[pool.name]:
                node, taints = (
                    nodes[name],
                    [f"{each.key}={each.value or ''}:{each.effect}" for each in pool.nodes.taints],
                )
                right = (
                    pool.nodes.labels.items() <= node["labels"].items()
                    and {*taints} <= {*node["taints"]}
                    and node["ours"]
                )
                wrong += [] if right else [f"{name}: {node}"]
        chosen = {name for machines in own.machines.values() for name in machines}
        wrong += [f"{name} changed" for name in nodes if name not in chosen and nodes[name] != before[name]]
        self._check(
            "labelled", "The chosen nodes have labels and taints, no other", not wrong, "; ".join(wrong) or "yes"
        )

    def _untouched(
        self, id: str, other: SomebodyElse, nodes: Mapping[str, Any], objects: Mapping[str, tuple[str, Any]]
    ) -> None:
        """Nodes and objects are as before; only the namespaces of people stay, with what is in them."""
        after, teams = other.objects(), {team.name for team in self._stack.settings.teams}
        teams |= {name for entry in self._stack.settings.access for name in entry.namespaces}
        extra = [
            key for key in after if key not in objects and key.split()[1].strip("/").partition("/")[0] not in teams
        ]
        changed = [key for key, value in objects.items() if after.get(key) != value]
        differing = [name for name, node in other.nodes().items() if node != nodes[name]]
        detail = "; ".join(f"{what}: {', '.join(each)}" for what, each in
                           (("new", extra), ("changed or gone", changed), ("nodes", differing)) if each)  # fmt: skip
        self._check(id, "Their nodes and objects are as before", not detail, detail or f"{len(objects)} objects")

    def _uncordoned(self, other: SomebodyElse) -> str:
        return "" if any("unschedulable" in each for each in self._taints(other)) else "no taint yet"

    def _cordoned(self, other: SomebodyElse) -> str:
        return ", ".join(self._taints(other))

    def _taints(self, other: SomebodyElse) -> list[str]:
        return other.nodes()[self._workers[0]]["taints"]
