"""The rehearsal of three control planes: one loses power, the cluster goes on, is upgraded, becomes one, then three."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, Final

from rehearsal.engine.engine import Engine
from rehearsal.lab.lab import Lab
from rehearsal.own_machines import look
from rehearsal.own_machines.lab_rehearsal import LabStackFile
from rehearsal.own_machines.look import ClusterView
from rehearsal.own_machines.rehearsal import OwnRehearsal
from rehearsal.run.recorder import StageFailed

AWAY_SECONDS: Final = 60.0
"""How long the shared address may be without an API server after its machine lost power, as users are promised."""
_SAME: Final = "cat /etc/kubernetes/gpucluster/*.yaml /etc/kubernetes/pki/ca.crt | sha256sum"
"""What API servers of one cluster have to have in common."""
_KUBELET_SINCE: Final = 'date -d "$(systemctl show -P ActiveEnterTimestamp kubelet)" +%s'
_UPGRADED: Final = f'stat -c %Y "$(gpucluster-etcd list | tail -n 1)"; {_KUBELET_SINCE}'
"""When a control plane's upgrade began, with a snapshot, and when it ended, with its new kubelet."""
_JOB: Final = "/apis/batch/v1/namespaces/default/jobs/train"
_MAPS: Final = "/api/v1/namespaces/default/configmaps"
_LABEL: Final = {"example.com/rack": "r1"}


class ControlPlanesRehearsal(OwnRehearsal):
    """Three control planes with an address that they share."""

    def _life(self, lab: Lab, engine: Engine, file: LabStackFile, before: dict[str, dict[str, str]]) -> None:
        with self._stage("control planes"):
            self._alike("", lab)
        with self._stage("power cut"):
            self._plane_lost(lab, engine, file)
        with self._stage("upgrade"):
            cluster, _ = self._clients(engine)
            self._upgrade(lab, engine, file, cluster)
            self._one_at_a_time(lab)
            self._alike("-upgraded", lab)
        with self._stage("fewer control planes"):
            file.write(engine.stack_file, planes=1)
            self._engine_check("planes-removed", "Three control planes become one", engine.up(self._options.gate))
            left = self._planes[:1] + self._workers
            self._ready("planes-removed-nodes", "The others' nodes are gone", cluster, left)
            self._members(lab, "planes-removed-members", self._planes[:1])
            for name in self._planes[1:]:
                self._given_back(lab, name, before)
                lab.restock(name)
        with self._stage("more control planes"):
            file.write(engine.stack_file)
            self._engine_check("planes-added", "One control plane becomes three", engine.up(self._options.gate))
            self._ready("planes-added-nodes", "All nodes are ready, GPUs included", cluster, list(self._gpus))
            self._no_tokens("no-tokens-again", cluster)
            self._alike("-again", lab)

    def _plane_lost(self, lab: Lab, engine: Engine, file: LabStackFile) -> None:
        """The control plane with the shared address loses power, while a job runs, and gets it back."""
        worker = self._workers[0]
        self._start_job("plane-lost-running", self._clients(engine)[0], worker)
        lost = self._holder(lab, "holder", self._planes)
        machine = lab.machine(lost)
        machine.power_cut()
        address = f"https://{self._virtual_address}:6443/readyz"
        self._observe(
            "plane-lost",
            f"Without {lost}, an API server answers at the shared address within {AWAY_SECONDS:.0f} s",
            partial(_unready, lab, worker, address),
            AWAY_SECONDS,
        )
        others = [name for name in self._planes if name != lost]
        self._holder(lab, "holder-moved", others)
        cluster, user = self._clients(engine)  # the connections from before end nowhere
        self._observe("plane-lost-quorum", "etcd takes a change with two of three members", partial(_change, cluster))
        lab.machine(worker).run(["sh", "-c", look.END_JOB])
        self._observe("plane-lost-job", "The job went on, and ends", partial(look.unfinished, user, 1))
        cluster.api.delete(_JOB)
        idle = engine.up(self._options.gate, name="up-one-off", expect_no_changes=True)
        self._engine_check("plane-lost-up", "An update changes nothing", idle)
        file.write(engine.stack_file, labels=_LABEL)
        changed = engine.up(self._options.gate, name="label-one-off")
        self._engine_check("plane-lost-label", "A changed label is set by way of another control plane", changed)
        labels = cluster.nodes()[worker]["metadata"]["labels"]
        self._check("plane-lost-labelled", "The node has it", _LABEL.items() <= labels.items(), str(labels))
        machine.power_on()
        machine.wait_for_ssh()
        self._ready("plane-back", "With power it comes back by itself", cluster, list(self._gpus))
        own = partial(_unready, lab, lost, "https://127.0.0.1:6443/readyz")
        self._observe("plane-back-ready", "Its API server and etcd are ready", own)
        self._members(lab, "plane-back-members", self._planes)
        self._holder(lab, "holder-stays", others)
        self._engine_check("plane-back-no-drift", "`pulumi refresh` finds no drift", engine.drift())

    @property
    def _virtual_address(self) -> str:
        own: Any = self._stack.settings.own
        return str(own.file.admin_pool.virtual_address)

    def _holder(self, lab: Lab, id: str, among: Sequence[str]) -> str:
        """The one machine that has the shared address, of the control planes that have power."""
        having = [
            name
            for name in self._planes
            if lab.machine(name).powered
            and f" {self._virtual_address}/" in lab.machine(name).run(["ip", "-o", "-4", "address"])
        ]
        title = f"The shared address is on one machine, of {', '.join(among)}"
        self._check(id, title, len(having) == 1 and having[0] in among, ", ".join(having) or "none")
        if not having:
            raise StageFailed
        return having[0]

    def _alike(self, when: str, lab: Lab) -> None:
        """All three are members of etcd and serve with the same files."""
        self._members(lab, f"members{when}", self._planes)
        sums = {lab.machine(name).run(["sh", "-c", _SAME]) for name in self._planes}
        title = "All control planes have one encryption key, audit policy and CA"
        self._check(f"planes-same{when}", title, len(sums) == 1, "equal" if len(sums) == 1 else "they differ")

    def _members(self, lab: Lab, id: str, names: list[str]) -> None:
        listed = lab.machine(names[0]).run(["sh", "-c", "gpucluster-etcd members 2>/dev/null"]).splitlines()
        started = sorted(line.split(", ")[2] for line in listed if ", started, " in line)
        title = f"etcd has the members {', '.join(names)}"
        self._check(id, title, started == sorted(names) and len(listed) == len(names), "; ".join(listed))

    def _one_at_a_time(self, lab: Lab) -> None:
        def seconds(name: str, command: str) -> list[int]:
            return [int(line) for line in lab.machine(name).run(["sh", "-c", command]).split()]

        spans = {name: seconds(name, _UPGRADED) for name in self._planes}
        spans |= {name: seconds(name, _KUBELET_SINCE) for name in self._workers}
        wrong, began = out_of_turn(spans, self._workers), min(min(span) for span in spans.values())
        detail = ", ".join(
            f"{name} at {'-'.join(str(each - began) for each in span)} s" for name, span in spans.items()
        )
        title = "One control plane is upgraded after the other, workers after them"
        self._check("upgrade-one-at-a-time", title, not wrong, "; ".join([*wrong, detail]))


def out_of_turn(spans: Mapping[str, Sequence[int]], last: Sequence[str]) -> list[str]:
    """Which machines' spans, from their first second to their last, begin too early; those ``last`` wait for all."""
    turns = sorted(spans, key=lambda name: (name in last, spans[name]))
    return [f"{b} begins before {a} ends" for a, b in pairwise(turns) if spans[b][0] < spans[a][-1]]


def _change(cluster: ClusterView) -> str:
    cluster.api.create(_MAPS, {"metadata": {"name": "written"}, "data": {"while": "one is off"}})
    cluster.api.delete(f"{_MAPS}/written")
    return ""


def _unready(lab: Lab, name: str, url: str) -> str:
    """What is at ``url``, seen from a machine; empty if an API server is ready there."""
    answer = lab.machine(name).run(["curl", "-sk", "--max-time", "3", url], check=False).strip()
    return "" if answer == "ok" else f"{name} gets {answer or 'no answer'}"
