"""A service scales from no replica to one, to its maximum and back, and its GPU nodes start and stop with it.

The rehearsal sets the number of replicas as KEDA would, by the ``scale`` subresource.
"""

from __future__ import annotations

from collections.abc import Sequence

from components.settings.sections.services import InferenceService
from facts.concepts.counts import counted
from facts.concepts.rest import resource_path
from rehearsal.cluster.api import Api
from rehearsal.scenario.check import Check
from rehearsal.scenario.player import PATIENCE_SECONDS
from rehearsal.scenario.timeline import NodeRecord, PodRecord, Timeline
from rehearsal.scenario.user import Wait


def play(services: Sequence[InferenceService], api: Api, timeline: Timeline, wait: Wait) -> list[Check]:
    """A check for each service that scales to zero."""
    return [_asleep_and_awake(each, api, timeline, wait) for each in services if each.min == 0]


def _asleep_and_awake(service: InferenceService, api: Api, timeline: Timeline, wait: Wait) -> Check:
    path = resource_path("apps/v1", "deployments", service.name, service.namespace)
    allowed = _pools(api.get(path))

    def replicas() -> list[tuple[PodRecord, NodeRecord]]:
        """Those that run on a GPU node."""
        pods = (
            pod
            for pod in timeline.pods
            if pod.namespace == service.namespace
            and pod.name.startswith(f"{service.name}-")
            and pod.running is not None
            and pod.deleted is None
        )
        return [(pod, node) for pod in pods if (node := timeline.node_of(pod)) is not None and node.gpus]

    asleep = api.get(path)["spec"]["replicas"] == 0 and wait(lambda: not timeline.gpu_nodes_now(), PATIENCE_SECONDS)
    ran: dict[str, tuple[PodRecord, NodeRecord]] = {}
    reached = []
    for number in sorted({1, service.max}):
        _scale(api, path, number)
        reached.append(wait(lambda number=number: len(replicas()) == number, PATIENCE_SECONDS))
        ran |= {pod.uid: (pod, node) for pod, node in replicas()}
    pools, nodes = {node.pool for _, node in ran.values()}, {node.name for _, node in ran.values()}
    _scale(api, path, 0)
    again = wait(lambda: not replicas() and not timeline.gpu_nodes_now(), PATIENCE_SECONDS)
    wrong = [
        *([] if asleep else ["before any request it had a replica, or the cluster had a GPU node"]),
        *([] if reached[0] else ["its first replica did not start on a GPU node"]),
        *([] if all(reached) else [f"{service.max} replicas, its maximum, did not run on GPU nodes"]),
        *(f"its replica ran on {pool}, which its manifest does not allow" for pool in sorted(pools - allowed)),
        *([] if again else ["a replica or a GPU node remained after the service scaled to zero"]),
    ]
    first = next((f"{pod.waited or 0:.1f} s" for pod, _ in ran.values()), "")
    summary = (
        f"no replica and no GPU node; the first replica ran after {first}; {counted(service.max, 'replica')} on "
        f"{counted(len(nodes), 'node')} of {', '.join(sorted(pools))}; no replica and no GPU node again"
    )
    title = f"Service {service.name}: its GPU nodes start with its replicas and stop after the last"
    return Check(f"service-{service.name}", title, not wrong, "; ".join(wrong) or summary)


def _scale(api: Api, path: str, replicas: int) -> None:
    api.merge(f"{path}/scale", {"spec": {"replicas": replicas}})


def _pools(deployment: object) -> set[str]:
    spec = deployment["spec"]["template"]["spec"]  # type: ignore[index]
    (term,) = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    (expression,) = term["matchExpressions"]
    return {*expression["values"]}
