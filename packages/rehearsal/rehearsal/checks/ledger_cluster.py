"""A cluster as the program of the ledger sees it, with a clock of its own, and what its nodes cost."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import datetime, timezone
from io import BytesIO, StringIO
from typing import Any
from unittest import mock
from urllib.error import HTTPError
from urllib.parse import parse_qsl, urlsplit
from zlib import crc32

from facts.concepts import ledger

Object = dict[str, Any]
MOST_BYTES = 1024 * 1024
"""Of a ConfigMap's data; the API server refuses more."""


def at(moment: float) -> str:
    """A time as Kubernetes writes it."""
    return datetime.fromtimestamp(moment, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def pool(name: str, usd: float | None, gpus: int = 1, **more: Any) -> Object:
    """A published pool."""
    return {"name": name, "hourly_usd": usd, "allocatable_gpus": gpus, "spot": "spot" in name, **more}


@dataclass
class LedgerCluster:
    """``now`` is Unix time. ``conflicts`` are called before a write, as another writer would act."""

    pools: list[Object]
    now: float = 0.0
    nodes: dict[str, Object] = field(default_factory=dict)
    pods: dict[str, Object] = field(default_factory=dict)
    jobs: dict[str, Object] = field(default_factory=dict)
    events: list[Object] = field(default_factory=list)
    config_maps: dict[str, Object] = field(default_factory=dict)
    before_write: list[Callable[[], object]] = field(default_factory=list)
    requests: list[tuple[str, str]] = field(default_factory=list)
    usd: float = 0.0
    """What the nodes that are gone cost."""
    events_kept: float = float("inf")
    """Seconds after which an event is gone; Kubernetes: an hour."""
    claims: dict[str, Object] | None = None
    """Karpenter's NodeClaims by the name of their node; ``None``: another autoscaler runs."""
    started: dict[str, float] = field(default_factory=dict)
    """Node → since when its machine is billed."""

    def add_node(self, name: str, pool: str, seconds: float = 0.0) -> None:
        """A node that is there from now on, and whose machine started so many seconds before."""
        labels = {"gpucluster.dev/pool": pool}
        metadata: Object = {"name": name, "uid": f"uid-{name}", "creationTimestamp": at(self.now), "labels": labels}
        self.nodes[name] = {"metadata": metadata}
        self.started[name] = self.now - seconds
        if self.claims is not None:
            launched = {"type": "Launched", "status": "True", "lastTransitionTime": at(self.started[name])}
            uid = f"claim-{name}-{len(self.started)}"
            metadata["ownerReferences"] = [{"kind": "NodeClaim", "name": name, "uid": uid}]
            self.claims[name] = {"metadata": {"uid": uid}, "status": {"conditions": [launched]}}
        self.note("RegisteredNode", metadata, "Node")

    def note(self, reason: str, metadata: Object, kind: str, message: str = "") -> None:
        """An event of now."""
        about = {"kind": kind, **{key: metadata[key] for key in ("name", "namespace", "uid") if key in metadata}}
        own = {"namespace": metadata.get("namespace", "default"), "creationTimestamp": at(self.now)}
        event = {"metadata": own, "reason": reason, "involvedObject": about, "message": message}
        self.events.append({**event, "moment": self.now})

    def remove_node(self, name: str, event: bool = True) -> None:
        """The node and its pods are gone, which Kubernetes notes."""
        node = self.nodes.pop(name)
        self.usd += self._usd(node)
        if self.claims is not None:
            del self.claims[name]
        self.pods = {key: pod for key, pod in self.pods.items() if pod["spec"].get("nodeName") != name}
        if event:
            self.note("RemovingNode", node["metadata"], "Node")

    def add_pod(
        self,
        name: str,
        node: str,
        gpus: int = 1,
        *,
        job: str = "",
        user: str = "",
        team: str = "ml",
        resource: str = "nvidia.com/gpu",
    ) -> None:
        """A pod that was scheduled now, of the Job ``job``."""
        metadata: Object = {"name": name, "namespace": team, "uid": f"uid-{name}", "creationTimestamp": at(self.now)}
        metadata |= {"annotations": {ledger.USER: user}} if user else {}
        if job:
            metadata["ownerReferences"] = [{"kind": "Job", "name": job, "uid": job_uid(job), "controller": True}]
        condition = {"type": "PodScheduled", "status": "True", "lastTransitionTime": at(self.now)}
        spec = {"nodeName": node, "containers": [{"resources": {"limits": {resource: str(gpus)}}}]}
        self.pods[name] = {
            "metadata": metadata,
            "spec": spec,
            "status": {"phase": "Pending", "conditions": [condition]},
        }
        self.note("Scheduled", metadata, "Pod", f"Successfully assigned {team}/{name} to {node}")

    def run_pod(self, name: str) -> None:
        """Its container starts."""
        state = {"running": {"startedAt": at(self.now)}}
        self.pods[name]["status"] |= {"phase": "Running", "containerStatuses": [{"state": state}]}

    def end_pod(self, name: str) -> None:
        """Its container ends; the pod stays."""
        status = self.pods[name]["status"]
        started = status["containerStatuses"][0]["state"]["running"]["startedAt"]
        state = {"terminated": {"startedAt": started, "finishedAt": at(self.now)}}
        status |= {"phase": "Succeeded", "containerStatuses": [{"state": state}]}

    def add_job(
        self,
        name: str,
        started: float,
        pool: str,
        *,
        gpus: int = 1,
        succeeded: int = 1,
        end: bool = True,
        parallelism: int | None = None,
    ) -> None:
        """A Job that ended now, of so many pods, ``parallelism`` at once (default: all); ``end``: with its times."""
        at_once = succeeded if parallelism is None else parallelism
        spec = {
            "nodeSelector": {"gpucluster.dev/pool": pool} if pool else {},
            "containers": [{"resources": {"limits": {"nvidia.com/gpu": str(gpus)}}}],
        }
        status: Object = {"succeeded": succeeded, "startTime": at(started)}
        status["conditions"] = (
            [{"type": "Complete", "status": "True", "lastTransitionTime": at(self.now)}] if end else []
        )
        self.jobs[name] = {
            "metadata": {"name": name, "namespace": "ml", "uid": job_uid(name)},
            "spec": {
                "parallelism": at_once,
                "template": {"metadata": {"annotations": {ledger.USER: "ada"}}, "spec": spec},
            },
            "status": status,
        }

    @property
    def bill(self) -> float:
        """What all nodes cost until now, those that are gone included."""
        return self.usd + sum(map(self._usd, self.nodes.values()))

    def _usd(self, node: Object) -> float:
        metadata = node["metadata"]
        price = next(
            each["hourly_usd"] for each in self.pools if each["name"] == metadata["labels"]["gpucluster.dev/pool"]
        )
        return float((self.now - self.started[metadata["name"]]) / 3600 * (price or 0.0))

    def run(self) -> None:
        """One run of the program, with a request that this cluster answers."""
        resources = json.dumps(["nvidia.com/gpu", "google.com/tpu"])
        variables = {"RESOURCES": resources, "KARPENTER": "no" if self.claims is None else "yes"}
        with self.answering(), mock.patch.dict("os.environ", variables), redirect_stdout(StringIO()):
            ledger.record(int(self.now))

    @contextmanager
    def answering(self) -> Iterator[None]:
        """The program's requests come here."""
        with mock.patch.object(ledger, "_request", self.request):
            yield

    def request(self, method: str, path: str, body: Any = None) -> Any:
        """The API server's answer."""
        url = urlsplit(path)
        query = dict(parse_qsl(url.query))
        self.requests.append((method, url.path))
        *_, kind = url.path.split("/")
        if url.path.endswith("/gpucluster-pools"):
            return {"data": {"offer.json": json.dumps({"pools": self.pools})}}
        if "/configmaps" in url.path:
            return self._config_map(method, "" if kind == "configmaps" else kind, query, body)
        selected = dict(each.split("=") for each in query.get("fieldSelector", "").split(",") if each)
        events = [
            each
            for each in self.events
            if each["moment"] > self.now - self.events_kept
            and selected.get("reason") == each["reason"]
            and selected.get("metadata.namespace") in (None, each["metadata"]["namespace"])
        ]
        every = {
            "nodes": self.nodes,
            "pods": self.pods,
            "jobs": self.jobs,
            "events": dict(enumerate(events)),
            "nodeclaims": self.claims or {},
        }[kind]
        items, start, limit = [*every.values()], int(query.get("continue", 0)), int(query["limit"])
        rest = {"continue": str(start + limit)} if start + limit < len(items) else {}
        return {"metadata": rest, "items": items[start : start + limit]}

    def _config_map(self, method: str, name: str, query: dict[str, str], body: Any) -> Any:
        if method == "GET" and not name:
            items = [each for each in self.config_maps.values() if _selected(each, query["labelSelector"])]
            return {"items": deepcopy(items)}
        if method == "GET":
            return deepcopy(self.config_maps[name]) if name in self.config_maps else self._refuse(404)
        if method == "DELETE":
            return self.config_maps.pop(name)
        if self.before_write:
            self.before_write.pop()()
        name = body["metadata"]["name"]
        stored = self.config_maps.get(name)
        version = stored["metadata"]["resourceVersion"] if stored else None
        if (method == "POST") is (stored is not None) or body["metadata"].get("resourceVersion") != version:
            return self._refuse(409)
        assert sum(len(text.encode()) for text in body["data"].values()) < MOST_BYTES
        metadata = {**body["metadata"], "resourceVersion": str(int(version or 0) + 1)}
        self.config_maps[name] = deepcopy({**body, "metadata": metadata})
        return self.config_maps[name]

    @staticmethod
    def _refuse(code: int) -> Any:
        raise HTTPError("https://cluster", code, "refused", None, BytesIO())  # type: ignore[arg-type]

    def days(self) -> dict[str, ledger.Day]:
        """What is recorded."""
        recorded = [
            each for each in self.config_maps.values() if ledger.DAY_LABEL in each["metadata"].get("labels", {})
        ]
        return ledger.by_day(recorded)

    @property
    def recorded_usd(self) -> float:
        """What the ledger's days cost: pods and idle nodes."""
        month = ledger.month_of(self.days().values())
        return month["running"] + month["provisioning"] + month["idle"]


def job_uid(name: str) -> str:
    """A UID that is different in its first 8 characters."""
    return f"{crc32(name.encode()):08x}-job-{name}"


def _selected(config_map: Object, selector: str) -> bool:
    """A selector of the forms that the program uses: ``a=b``, ``a in (b,c)`` and ``a,a notin (b,c)``."""
    labels = config_map["metadata"].get("labels", {})
    if "=" in selector:
        key, _, value = selector.partition("=")
        return bool(labels.get(key) == value)
    keys, operator, values = selector.split(" ", 2)
    key = keys.partition(",")[0]
    return key in labels and (labels[key] in values.strip("()").split(",")) is (operator == "in")
