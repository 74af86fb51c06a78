"""A real API server for the tests of the simulated Kubernetes provider, and the calls the engine would make."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from packages.rehearsal.tests.simulated_cluster import PATIENCE, eventually
from rehearsal.providers.base import CallContext, Created, Diff, Previous, Properties
from rehearsal.providers.kubernetes import SimulatedKubernetes


@dataclass
class Resource:
    """One resource as the engine drives it: check, diff, then create, replace or update; its state in between."""

    provider: SimulatedKubernetes
    type: str
    name: str = "thing"
    inputs: Properties = field(default_factory=dict)
    state: Properties = field(default_factory=dict)
    id: str = ""

    def request(self, preview: bool = False) -> CallContext:
        """The context of a call."""
        return CallContext(
            f"urn:pulumi:test::test::{self.type}::{self.name}", self.type, self.name, {}, preview, b"seed"
        )

    def check(self, manifest: Properties) -> Properties:
        """The checked inputs; failures are the test's."""
        checked, failures = self.provider.check(self.request(), self.inputs, manifest)
        assert failures == []
        return checked

    def preview(self, manifest: Properties) -> Properties:
        """What a preview says the resource would be."""
        checked = self.check(manifest)
        if not self.id:
            return self.provider.create(self.request(preview=True), checked, 0).state
        return self.provider.update(self.request(preview=True), self.id, Previous(self.inputs, self.state), checked, 0)

    def create(self, manifest: Properties, timeout: float = PATIENCE) -> Properties:
        """Create, and remember."""
        checked = self.check(manifest)
        return self._keep(self.provider.create(self.request(), checked, timeout), checked)

    def diff(self, manifest: Properties) -> Diff:
        """What would change."""
        return self.provider.diff(self.request(), self.id, Previous(self.inputs, self.state), self.check(manifest), ())

    def update(self, manifest: Properties, timeout: float = PATIENCE) -> Properties:
        """Update in place, and remember."""
        checked = self.check(manifest)
        state = self.provider.update(self.request(), self.id, Previous(self.inputs, self.state), checked, timeout)
        return self._keep(Created(self.id, state), checked)

    def refresh(self) -> Created:
        """Read what is there, and remember."""
        current = self.provider.read(self.request(), self.id, self.inputs, self.state)
        self._keep(current, current.inputs or {})
        return current

    def delete(self, timeout: float = PATIENCE) -> None:
        """Delete."""
        self.provider.delete(self.request(), self.id, self.inputs, self.state, timeout)

    def _keep(self, created: Created, inputs: Properties) -> Properties:
        self.id, self.state, self.inputs = created.id, created.state, inputs
        return created.state


@contextmanager
def interrupted(provider: SimulatedKubernetes, once: Callable[[], object]) -> Iterator[None]:
    """Ctrl-C reaches the engine as soon as ``once`` is true."""

    def interrupt() -> None:
        eventually("the moment to interrupt", once)
        provider.cancel()

    interrupter = threading.Thread(target=interrupt, daemon=True)
    interrupter.start()
    yield
    interrupter.join()


def config_map(name: str | None = None, annotations: dict[str, str] | None = None, **data: str) -> dict[str, Any]:
    """A ConfigMap's manifest."""
    metadata = {"name": name, "annotations": annotations}
    return {"metadata": {key: value for key, value in metadata.items() if value}, "data": data}


def workload(name: str, labels: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    """The manifest of a Deployment, DaemonSet or StatefulSet with one container."""
    labels = labels or {"app": name}
    pod = {"containers": [{"name": "main", "image": "busybox", "resources": {"limits": {"cpu": "1000m"}}}]}
    template = {"metadata": {"labels": labels}, "spec": pod}
    return {"metadata": {"name": name}, "spec": {"selector": {"matchLabels": labels}, "template": template, **spec}}
