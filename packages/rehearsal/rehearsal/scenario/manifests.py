"""The user's own manifests: read from a folder, applied as the deployer, and followed to the nodes of their pods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from facts.concepts.kubernetes import gpu_limit
from rehearsal.cluster.api import Api, ApiError, NoSuchKindError, Object
from rehearsal.scenario.check import Check
from rehearsal.scenario.timeline import PodRecord, Timeline
from rehearsal.scenario.user import SubmissionReply, Wait

_ENDINGS: Final = (".yaml", ".yml", ".json")
_FIRST: Final = ("CustomResourceDefinition", "Namespace", "PriorityClass", "ServiceAccount", "ConfigMap", "Secret")
_SETTLE_SECONDS: Final = 240.0
_QUIET_SECONDS: Final = 3.0
_KIND_SECONDS: Final = 60.0


class ManifestsError(Exception):
    """The folder cannot be used; the message says which file and why."""


@dataclass(frozen=True)
class Applied:
    """One of the user's objects and the API server's reply. ``namespace`` is empty for a cluster-wide object."""

    manifest: Object
    namespace: str
    reply: SubmissionReply

    @property
    def kind(self) -> str:
        """The object's kind."""
        return str(self.manifest["kind"])

    @property
    def name(self) -> str:
        """The object's name."""
        return str(self.manifest["metadata"]["name"])

    @property
    def selector(self) -> Mapping[str, str]:
        """Labels that select its pods; empty for an object that creates none."""
        if self.kind == "Job":
            return {"batch.kubernetes.io/job-name": self.name}
        selector = (self.manifest.get("spec") or {}).get("selector") or {}
        labels: Mapping[str, str] = selector.get("matchLabels") or {}
        return labels if "template" in (self.manifest.get("spec") or {}) else {}

    @property
    def has_pods(self) -> bool:
        """Whether it creates pods that can be distinguished from others."""
        return self.kind == "Pod" or bool(self.selector)

    @property
    def needs_controller(self) -> bool:
        """Whether it is of another project's kind and describes pods, which that project's controller would create."""
        group, _, version = str(self.manifest["apiVersion"]).partition("/")
        built_in = not version or "." not in group or group.endswith(".k8s.io")
        return not built_in and _describes_pods(self.manifest.get("spec"))

    @property
    def gpus(self) -> bool:
        """Whether its pods request GPUs."""
        spec: Any = self.manifest.get("spec") or {}
        pod = spec if self.kind == "Pod" else (spec.get("template") or {}).get("spec") or {}
        return gpu_limit(pod) > 0

    def pods(self, timeline: Timeline, until: float | None = None) -> tuple[PodRecord, ...]:
        """Its pods created before ``until``, oldest first: later ones may replace deleted pods."""
        selector = self.selector.items()
        return tuple(
            pod
            for pod in timeline.pods
            if pod.namespace == self.namespace
            and (until is None or pod.created <= until)
            and ((self.kind == "Pod" and pod.name == self.name) or (selector and selector <= pod.labels.items()))
        )


def no_controller(manifest: Object) -> str:
    """What to do about an object whose kind the cluster does not have, or that nobody turns into pods."""
    group = str(manifest["apiVersion"]).partition("/")[0]
    return (
        f"{manifest['kind']} needs the controller of {group}, which a rehearsal does not run; "
        "to rehearse its pods, apply them as a Job or a Deployment"
    )


def read(folder: Path) -> list[Object]:
    """Every object in the folder's YAML and JSON files; Lists are expanded, dependencies come first.

    Raises ManifestsError: there is no object, or a file contains something else.
    """
    if not folder.is_dir():
        raise ManifestsError(f"{folder}: no such folder; write the one that has your manifests")
    files = sorted(path for path in folder.rglob("*") if path.suffix in _ENDINGS and path.is_file())
    manifests: list[Object] = []
    for path in files:
        try:
            documents = [each for each in yaml.safe_load_all(path.read_text()) if each]
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            raise ManifestsError(f"{path}: {error}") from error
        for each in documents:
            for item in each.get("items") or [] if isinstance(each, dict) and each.get("kind") == "List" else [each]:
                if not _is_object(item):
                    raise ManifestsError(
                        f"{path}: a document is not a Kubernetes object: it needs apiVersion, kind and metadata.name"
                    )
                manifests.append(item)
    if not manifests:
        raise ManifestsError(f"{folder}: no manifests; add files that end in {', '.join(_ENDINGS)} to it")
    return sorted(manifests, key=lambda each: _FIRST.index(each["kind"]) if each["kind"] in _FIRST else len(_FIRST))


def apply(api: Api, manifests: Sequence[Object], wait: Wait) -> tuple[Applied, ...]:
    """Apply them in order, as ``kubectl apply`` does; ``wait`` waits for a condition with a timeout in seconds."""
    done = []
    for manifest in manifests:
        replies: list[Applied] = []

        def tried(manifest: Object = manifest, replies: list[Applied] = replies) -> bool:
            replies[:] = [_apply(api, manifest)]
            # A kind is served a moment after it is defined.
            return replies[0].reply.ok or replies[0].reply.message != no_controller(manifest)

        wait(tried, _KIND_SECONDS if any(each["kind"] == _FIRST[0] for each in manifests) else 0.0)
        done += replies
    return tuple(done)


def settle(applied: Sequence[Applied], timeline: Timeline, wait: Wait) -> None:
    """Wait until each pod runs or has a reported reason, and no further pod is created."""

    def still() -> bool:
        pods = [pod for one in applied for pod in one.pods(timeline)]
        newest = max((pod.created for pod in pods), default=0.0)
        answered = all(
            pod.running is not None or pod.deleted is not None or timeline.considered(pod.name) for pod in pods
        )
        return answered and timeline.now() - max(newest, began) > _QUIET_SECONDS

    began = timeline.now()
    wait(still, _SETTLE_SECONDS)


def checks(applied: Sequence[Applied], timeline: Timeline) -> Iterator[Check]:
    """Each object was accepted, and its pods ran."""
    for one in applied:
        title = f"Your {one.kind} {one.name}"
        if not one.reply.ok:
            yield Check(f"applied:{one.kind}/{one.name}", title, False, f"refused: {one.reply.message}")
        elif one.needs_controller:
            yield Check(f"applied:{one.kind}/{one.name}", title, False, no_controller(one.manifest))
        elif one.has_pods:
            yield Check(f"applied:{one.kind}/{one.name}", title, *where_it_ran(one, timeline))


def where_it_ran(one: Applied, timeline: Timeline, until: float | None = None) -> tuple[bool, str]:
    """Whether all pods of an accepted object ran, and where; if not, the cluster's messages."""
    if not one.has_pods:
        return True, ""
    pods = one.pods(timeline, until)
    if not pods:
        if refused := timeline.why_no_pod(one.kind, one.name):
            return False, f"it created no pod: {refused}"
        replicas = (one.manifest.get("spec") or {}).get("replicas", 1)
        if one.kind == "DaemonSet":
            return True, "no pod: no node matched its node selector and tolerations"
        return replicas == 0, "it created no pod"
    waiting = [pod for pod in pods if pod.running is None and pod.deleted is None]
    failed = [pod for pod in pods if pod.phase == "Failed"]
    places: dict[str, int] = {}
    for pod in pods:
        node = timeline.node_of(pod) if pod.running is not None else None
        if node is not None:
            places[node.pool] = places.get(node.pool, 0) + 1
    words = [
        f"{pod.name} stays Pending: {timeline.why_pending(pod.name) or 'no reason was reported'}" for pod in waiting
    ]
    words += [f"{pod.name} failed" for pod in failed]
    if places:
        words.append(
            "ran on " + ", ".join(f"{pool} × {count}" if count > 1 else pool for pool, count in places.items())
        )
    return not waiting and not failed, "; ".join(words)


def _apply(api: Api, manifest: Object) -> Applied:
    namespace = ""
    try:
        resource = api.resource(manifest["apiVersion"], manifest["kind"])
        place = manifest["metadata"]
        namespace = place.get("namespace", "default") if resource.namespaced else ""
        _, warnings = api.submit_apply(resource.path(place["name"], namespace or None), manifest)
    except NoSuchKindError:
        return Applied(manifest, namespace, SubmissionReply(False, no_controller(manifest)))
    except ApiError as refusal:
        return Applied(manifest, namespace, SubmissionReply(False, str(refusal)))
    return Applied(manifest, namespace, SubmissionReply(True, warnings=warnings))


def _describes_pods(part: Any) -> bool:
    if isinstance(part, Mapping):
        return bool(part.get("containers")) or any(map(_describes_pods, part.values()))
    return isinstance(part, list) and any(map(_describes_pods, part))


def _is_object(item: Any) -> bool:
    return (
        isinstance(item, dict)
        and isinstance(item.get("apiVersion"), str)
        and isinstance(item.get("kind"), str)
        and isinstance((item.get("metadata") or {}).get("name"), str)
    )
