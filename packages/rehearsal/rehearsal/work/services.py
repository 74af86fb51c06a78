"""A service scales from no replica to one and back, and its GPU node starts and stops with it.

The rehearsal sets the number of replicas as KEDA would, by the ``scale`` subresource.
"""

from __future__ import annotations

from collections.abc import Sequence

from components.settings.services import InferenceService
from facts.concepts.rest import resource_path
from rehearsal.cluster.api import Api
from rehearsal.scenario.check import Check
from rehearsal.scenario.player import PATIENCE_SECONDS
from rehearsal.scenario.timeline import Timeline
from rehearsal.scenario.user import Wait


def play(services: Sequence[InferenceService], api: Api, timeline: Timeline, wait: Wait) -> list[Check]:
    """A check for each service that scales to zero."""
    return [_asleep_and_awake(each, api, timeline, wait) for each in services if each.min == 0]


def _asleep_and_awake(service: InferenceService, api: Api, timeline: Timeline, wait: Wait) -> Check:
    path = resource_path("apps/v1", "deployments", service.name, service.namespace)
    allowed = _pools(api.get(path))

    def on_gpus() -> list[str]:
        nodes = [
            timeline.node_of(pod)
            for pod in timeline.pods
            if pod.namespace == service.namespace
            and pod.name.startswith(f"{service.name}-")
            and pod.running is not None
            and pod.deleted is None
        ]
        return [node.pool for node in nodes if node is not None and node.gpus]

    asleep = api.get(path)["spec"]["replicas"] == 0 and wait(lambda: not timeline.gpu_nodes_now(), PATIENCE_SECONDS)
    _scale(api, path, 1)
    awake = wait(lambda: bool(on_gpus()), PATIENCE_SECONDS)
    pools = on_gpus()
    _scale(api, path, 0)
    again = wait(lambda: not on_gpus() and not timeline.gpu_nodes_now(), PATIENCE_SECONDS)
    wrong = [
        *([] if asleep else ["before any request it had a replica, or the cluster had a GPU node"]),
        *([] if awake else ["its first replica did not start on a GPU node"]),
        *(f"its replica ran on {pool}, which its manifest does not allow" for pool in pools if pool not in allowed),
        *([] if again else ["a replica or a GPU node remained after the service scaled to zero"]),
    ]
    summary = f"no replica and no GPU node; one replica, on {', '.join(pools)}; no replica and no GPU node again"
    title = f"Service {service.name}: its GPU node starts with the first replica and stops after the last"
    return Check(f"service-{service.name}", title, not wrong, "; ".join(wrong) or summary)


def _scale(api: Api, path: str, replicas: int) -> None:
    api.merge(f"{path}/scale", {"spec": {"replicas": replicas}})


def _pools(deployment: object) -> set[str]:
    spec = deployment["spec"]["template"]["spec"]  # type: ignore[index]
    (term,) = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    (expression,) = term["matchExpressions"]
    return {*expression["values"]}
