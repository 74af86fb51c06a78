"""Create, read, update and delete of the two resources of a cluster that somebody else made.

``ExistingCluster`` looks and changes nothing; ``Nodes`` sets labels and taints on the nodes of a pool. Both ask when
the engine checks their inputs, so that a preview reports what an update would meet.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from machines.differences import ResourceDiff
from machines.errors import OperationError, Problem, all_problems
from machines.existing import cluster, nodes
from machines.existing.api import AnswerError, ClusterApi, ClusterLogin, connected
from machines.inputs import EXISTING_CLUSTER
from machines.wire import UNKNOWN, Properties, UnknownValue

_CLUSTER_OUTPUTS: Final = ("server", "authority", "kubeconfig")


class ExistingResources:
    """The provider's ``kubeconfig`` and ``context`` say which cluster."""

    def __init__(self, config: Properties) -> None:
        self._config = config

    @property
    def known(self) -> bool:
        """Whether the cluster can be asked: in a preview its kubeconfig may still be made."""
        return not any(isinstance(self._config.get(key), UnknownValue) for key in ("kubeconfig", "context"))

    def check(self, kind: str, inputs: Properties) -> tuple[Properties, list[Problem], list[str]]:
        """The inputs with what the cluster adds (its identity, a pool's nodes), problems, and warnings."""
        if not self.known:
            return inputs, [], []
        with self._api() as api:
            if kind == EXISTING_CLUSTER:
                problems = cluster.problems(api, inputs)
                if problems:
                    return inputs, [Problem("", all_problems(problems))], []
                return {**inputs, "cluster": cluster.identity(api)}, [], cluster.warnings(api, inputs)
            return self._with_nodes(api, inputs), [], []

    def diff(self, kind: str, olds: Properties, state: Properties, news: Properties) -> ResourceDiff:
        """What would change; raises ``OperationError`` for another cluster."""
        changes = {key for key in {*olds, *news} if olds.get(key) != news.get(key)}
        if kind == EXISTING_CLUSTER:
            if olds.get("cluster") and news.get("cluster") and "cluster" in changes:
                raise OperationError(
                    "the kubeconfig is now that of another cluster; run `pulumi destroy` with the former one, or make a"
                    " new stack for this cluster"
                )
            if self.known and state.get("kubeconfig") != self._access().kubeconfig:
                changes.add("kubeconfig")
        elif state.get("drift"):
            changes.add("drift")
        return ResourceDiff(frozenset(changes))

    def preview(self, kind: str, state: Properties, inputs: Properties) -> Properties:
        """The outputs as far as they are known."""
        if kind == EXISTING_CLUSTER:
            return {**inputs, **(self._outputs() if self.known else dict.fromkeys(_CLUSTER_OUTPUTS, UNKNOWN))}
        return {**inputs, "foreign": state.get("foreign", UNKNOWN), "drift": state.get("drift", UNKNOWN)}

    def create(self, kind: str, inputs: Properties) -> Properties:
        """The outputs afterwards."""
        return self.update(kind, {}, inputs)

    def update(self, kind: str, olds: Properties, inputs: Properties) -> Properties:
        """The outputs afterwards; ``olds`` are those before."""
        with self._api() as api:
            if kind == EXISTING_CLUSTER:
                # Asked again: the kubeconfig may have been unknown when the inputs were checked.
                if problems := cluster.problems(api, inputs):
                    raise OperationError(all_problems(problems))
                return {**inputs, "cluster": cluster.identity(api), **self._outputs()}
            inputs = inputs if "nodes" in inputs else self._with_nodes(api, inputs)
            return self._put(api, olds, inputs)

    def read(self, kind: str, inputs: Properties, state: Properties) -> Properties:
        """The outputs as they are; nothing is changed."""
        if kind == EXISTING_CLUSTER:
            return state
        with self._api() as api:
            current = {node["metadata"]["name"]: node for node in api.items("/api/v1/nodes")}
        drift = [
            f"node {name} lacks {', '.join(absent)}"
            for name in state.get("nodes") or []
            if name in current and (absent := nodes.missing(current[name], inputs))
        ]
        return {**state, "drift": drift}

    def delete(self, kind: str, inputs: Properties, state: Properties) -> None:
        """Give the nodes back."""
        if kind == EXISTING_CLUSTER:
            return
        with self._api() as api:
            for name in state.get("nodes") or inputs.get("nodes") or []:
                nodes.give_back(api, name, inputs, (state.get("foreign") or {}).get(name) or [])

    def _put(self, api: ClusterApi, olds: Properties, inputs: Properties) -> Properties:
        before, foreign = olds.get("nodes") or [], dict(olds.get("foreign") or {})
        names = [*inputs["nodes"]]
        name = ""
        try:
            for name in names:
                new = nodes.put(api, name, inputs, olds if name in before else {})
                foreign[name] = [*(foreign.get(name) or []), *new]
            for name in before:
                if name not in names:
                    nodes.give_back(api, name, olds, foreign.pop(name, []))
        except AnswerError as error:
            touched = {"nodes": list(dict.fromkeys([*before, *names])), "foreign": foreign, "drift": ["not finished"]}
            raise OperationError(f"node {name}: {error}", begun=True, state=touched) from None
        return {**inputs, "foreign": foreign, "drift": []}

    @staticmethod
    def _with_nodes(api: ClusterApi, inputs: Properties) -> Properties:
        members = nodes.selected(api.items("/api/v1/nodes"), inputs)
        return {**inputs, "nodes": sorted(node["metadata"]["name"] for node in members)}

    def _outputs(self) -> Properties:
        access = self._access()
        authority = access.authority or base64.b64encode(access.server.encode()).decode()
        return {"server": access.server, "authority": authority, "kubeconfig": access.kubeconfig}

    def _access(self) -> ClusterLogin:
        return access_of(self._config)

    @contextmanager
    def _api(self) -> Iterator[ClusterApi]:
        access = self._access()
        try:
            with connected(access) as api:
                yield api
        except AnswerError as error:
            raise OperationError(f"the cluster at {access.server}: {error}") from None


def access_of(config: Properties) -> ClusterLogin:
    """The context of the provider's settings. Raises ``OperationError`` without one."""
    content = config.get("kubeconfig")
    if not isinstance(content, str) or not content:
        raise OperationError("kubeconfig: is missing in the provider's settings")
    try:
        return ClusterLogin.of(content, str(config.get("context") or ""))
    except OperationError as error:
        raise OperationError(f"kubeconfig: {error}") from None


def problems_of_access(config: Properties) -> list[Problem]:
    """Of the provider's settings, as far as they are known."""
    if not isinstance(config.get("kubeconfig"), str) or isinstance(config.get("context"), UnknownValue):
        return []
    try:
        access_of(config)
    except OperationError as error:
        return [Problem("kubeconfig", str(error).removeprefix("kubeconfig: "))]
    return []


def name_of(kind: str, inputs: Properties) -> Any:
    """The resource's id."""
    return "cluster" if kind == EXISTING_CLUSTER else str(inputs["pool"])
