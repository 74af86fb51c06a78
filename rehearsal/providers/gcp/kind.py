"""What one simulated resource type does: the life cycle every type shares, with places for its own behaviour."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from rehearsal.providers.base import UNKNOWN, Created, Diff, Properties, ProviderError
from rehearsal.providers.differences import diff
from rehearsal.providers.gcp.cloud import Cloud
from rehearsal.providers.gcp.errors import in_use, not_found
from rehearsal.providers.gcp.rules import Rule, enforce
from rehearsal.providers.gcp.shape import Shape
from rehearsal.providers.store import Record
from rehearsal.providers.values import without_none


class Kind(ABC):
    """One resource type of the provider. Stateless: everything that exists is in ``cloud.store``."""

    token: ClassVar[str]
    shape: ClassVar[Shape]
    rules: ClassVar[Sequence[Rule]] = ()
    computed: ClassVar[tuple[str, ...]] = ()
    """Outputs that only a created resource has."""
    needs_project: ClassVar[bool] = True

    def complete(self, cloud: Cloud, inputs: Properties) -> Properties:
        """``inputs`` with the provider's configured project and location where the program gave none."""
        return {**inputs, "project": inputs.get("project") or cloud.default("project")}

    @abstractmethod
    def path(self, inputs: Properties) -> str:
        """The resource's path, which is its id."""

    def references(self, cloud: Cloud, inputs: Properties) -> None:  # noqa: B027 (most types refer to nothing)
        """Raise the API's error if ``inputs`` refer to something that does not exist or conflicts with it."""

    def outputs(self, cloud: Cloud, inputs: Properties) -> Properties:
        """What the cloud adds to the inputs."""
        return {}

    def user(self, cloud: Cloud, record: Record) -> str | None:
        """The path of something that keeps ``record`` from being deleted."""
        return None

    def diff(self, old: Properties, new: Properties, ignored: tuple[str, ...]) -> Diff:
        """What changed, and what of it cannot be changed in place."""
        return diff(self.shape, old, new, ignored)

    def preview(self, cloud: Cloud, inputs: Properties) -> Properties:
        """The state as far as it is known before the request: refuses what the server would refuse already now."""
        enforce(self.rules, inputs, cloud)
        return {**dict.fromkeys(self.computed, UNKNOWN), **without_none(inputs)}

    def create(self, cloud: Cloud, inputs: Properties) -> Created:
        """Make the resource; raises the API's error if it refuses."""
        enforce(self.rules, inputs, cloud)
        self.references(cloud, inputs)
        record = Record(self.path(inputs), self.token, without_none(inputs), self.outputs(cloud, inputs))
        cloud.store.add(record)
        return Created(record.id, record.state)

    def read(self, cloud: Cloud, id: str, inputs: Properties) -> Created:
        """The resource as it is now; id ``""`` if it is gone. An import has no ``inputs`` and gets all live ones."""
        record = cloud.store.get(id)
        if record is None or record.type != self.token:
            return Created("", {})
        live = {key: record.inputs.get(key) for key in inputs} if inputs else record.inputs
        return Created(id, record.state, without_none(live))

    def update(self, cloud: Cloud, id: str, inputs: Properties) -> Properties:
        """Change the resource in place; raises 404 if it is gone."""
        self._existing(cloud, id)
        enforce(self.rules, inputs, cloud)
        self.references(cloud, inputs)
        record = Record(id, self.token, without_none(inputs), self.outputs(cloud, inputs))
        cloud.store.put(record)
        return record.state

    def delete(self, cloud: Cloud, id: str) -> None:
        """Remove the resource; one that is gone already is fine, one in use is refused."""
        record = cloud.store.get(id)
        if record is None:
            return
        user = self.user(cloud, record)
        if user:
            raise in_use(id, user)
        cloud.store.remove(id)

    def _existing(self, cloud: Cloud, id: str) -> Record:
        record = cloud.store.get(id)
        if record is None:
            raise not_found(f"Not found: {id}")
        return record


def deletable(id: str, state: Properties) -> bool:
    """Apply ``deletionPolicy``: ``ABANDON`` only forgets the resource, ``PREVENT`` refuses as the provider does.

    https://github.com/GoogleCloudPlatform/magic-modules/blob/main/mmv1/third_party/terraform/tpgresource/utils.go
    """
    policy = state.get("deletionPolicy")
    if policy == "PREVENT":
        raise ProviderError(f'cannot destroy "{id}" without setting deletion_policy="DELETE" and running `pulumi up`')
    return policy != "ABANDON"
