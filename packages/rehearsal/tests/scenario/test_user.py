"""A developer of the rehearsal begins when the API server lets them in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from rehearsal.cluster.api import Api
from rehearsal.scenario.user import let_in


class SlowServer:
    """An API server which applies a new binding at the third question about it."""

    def __init__(self) -> None:
        self.bound: list[dict[str, Any]] = []
        self.answers: list[bool] = []

    def apply_manifest(self, manifest: dict[str, Any]) -> None:
        self.bound.append(manifest)

    def create(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        assert path == "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
        asked = body["spec"]["resourceAttributes"]
        assert asked == {"namespace": "research", "verb": "create", "group": "batch", "resource": "jobs"}
        self.answers.append(bool(self.bound) and len(self.answers) >= 2)
        return {"status": {"allowed": self.answers[-1]}}


def test_a_developer_submits_nothing_before_the_binding_applies() -> None:
    server = SlowServer()

    def wait(condition: Callable[[], bool], _: float) -> bool:
        while not condition():
            pass
        return True

    api = cast("Api", server)
    let_in(api, api, wait, "research")
    bound = [(each["metadata"]["namespace"], each["roleRef"]["name"]) for each in server.bound]
    assert bound == [("research", "edit"), ("kube-system", "gpucluster-pools")]
    assert server.answers == [False, False, True]
