"""One rehearsal on a cluster that somebody else made: refusals, update, a GPU job, destroy, and what is left there."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Final

import yaml

from components.settings import Settings
from facts.concepts.kubernetes import tolerations
from rehearsal.engine.engine import CommandResult, Engine
from rehearsal.lab.lab import Lab
from rehearsal.lab.specs import MachineSpec, SpecError
from rehearsal.own_machines.lab_rehearsal import LabRehearsal, client_key
from rehearsal.own_machines.look import ClusterView
from rehearsal.own_machines.somebody_else import PLUGIN, SomebodyElse
from rehearsal.own_machines.stack_file import PREFIX, gpus_of, write_config
from rehearsal.run.recorder import StageFailed

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
        with self._stage("pulumi up"):
            self._engine_check("up", "`pulumi up` uses their cluster", engine.up(self._options.gate))
            self._network(lab, cluster)
            self._labelled(other, nodes)
        with self._stage("GPU job"):
            pool = self._stack.settings.gpu_pools[0]
            self._gpu_job(other.api, cluster, tolerations(pool.taints))
        with self._stage("second update"):
            again = engine.up(self._options.gate, name="up-again", expect_no_changes=True)
            self._engine_check("second-up", "A second update changes nothing", again)
            self._engine_check("no-drift", "`pulumi refresh` finds no drift", engine.drift())
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
                node, taints = nodes[name], [f"{each.key}={each.value or ''}:{each.effect}" for each in pool.taints]
                right = (
                    pool.labels.items() <= node["labels"].items() and {*taints} <= {*node["taints"]} and node["ours"]
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
        taints: list[str] = other.nodes()[self._workers[0]]["taints"]
        return taints
