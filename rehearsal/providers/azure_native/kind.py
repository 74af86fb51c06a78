"""What one simulated resource type does: the life cycle every type shares, with places for its own behaviour."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final

from rehearsal.providers.azure_native.cloud import Cloud
from rehearsal.providers.azure_native.errors import change_refused, in_use, no_group, not_found
from rehearsal.providers.azure_native.rules import Rule, enforce
from rehearsal.providers.azure_native.shape import Shape
from rehearsal.providers.base import UNKNOWN, Created, Diff, Properties
from rehearsal.providers.differences import diff
from rehearsal.providers.store import Record
from rehearsal.providers.values import at, has_unknown, without_none

GROUP: Final = "azure-native:resources:ResourceGroup"


class Kind:
    """One resource type of the provider. Stateless: everything that exists is in ``cloud.store``."""

    token: ClassVar[str]
    shape: ClassVar[Shape]
    rules: ClassVar[Sequence[Rule]] = ()
    computed: ClassVar[tuple[str, ...]] = ()
    """Outputs of its own that only a created resource has, besides ``name``, ``type`` and ``provisioningState``."""
    busy: ClassVar[str] = "InUse"
    """Azure's error code where the resource cannot be deleted because something uses it."""

    def complete(self, cloud: Cloud, inputs: Properties) -> Properties:
        """``inputs`` with the provider's location, else the resource group's, where the program gave none."""
        if not self.shape.located or inputs.get("location") is not None:
            return inputs
        location: Any = cloud.config.get("location")
        group = inputs.get("resourceGroupName")
        if location is None and group is not None:
            found = None if group is UNKNOWN else group_called(cloud, group)
            # A group that comes with the same update decides later.
            location = found.inputs["location"] if found else UNKNOWN
        return {**inputs, "location": location}

    def id(self, cloud: Cloud, inputs: Properties) -> str:
        """The resource's id in Resource Manager."""
        group = f"/subscriptions/{cloud.subscription}/resourceGroups/{inputs['resourceGroupName']}"
        steps = "/".join(f"{step}/{inputs[name]}" for step, name in self.shape.segments)
        return f"{group}/providers/{self.shape.namespace}/{steps}"

    def references(self, cloud: Cloud, inputs: Properties) -> None:
        """Raise the API's error if ``inputs`` refer to something that does not exist or conflicts with it."""
        if "resourceGroupName" in self.shape.address and group_called(cloud, inputs["resourceGroupName"]) is None:
            raise no_group(inputs["resourceGroupName"])

    def outputs(self, cloud: Cloud, inputs: Properties) -> Properties:
        """What Azure adds to the inputs."""
        return {}

    def user(self, cloud: Cloud, record: Record) -> str | None:
        """The id of something that keeps ``record`` from being deleted."""
        return None

    def diff(self, old: Properties, new: Properties, ignored: tuple[str, ...]) -> Diff:
        """What changed, and what of it the provider answers with a replacement."""
        return diff(self.shape, old, new, ignored)

    def preview(self, cloud: Cloud, inputs: Properties, old: Properties | None = None) -> Properties:
        """The state as far as it is known before the request: refuses what the server would refuse already now.

        ``old`` are the inputs of the resource that is to be updated.
        """
        enforce(self.rules, inputs, cloud)
        if old is not None:
            self.require_unchanged(old, inputs)
        computed = ("name", "type", "azureApiVersion", "provisioningState", *self.computed)
        return {**dict.fromkeys(computed, UNKNOWN), **without_none(inputs)}

    def create(self, cloud: Cloud, inputs: Properties) -> Created:
        """Make the resource; raises the API's error if it refuses."""
        enforce(self.rules, inputs, cloud)
        self.references(cloud, inputs)
        record = self.record(cloud, inputs)
        cloud.store.add(record)
        return Created(record.id, record.state)

    def read(self, cloud: Cloud, id: str, inputs: Properties) -> Created:
        """The resource as it is now; id ``""`` if it is gone. An import has no ``inputs`` and gets all live ones."""
        record = cloud.find(id, self.token)
        if record is None:
            return Created("", {})
        live = {key: record.inputs.get(key) for key in inputs} if inputs else record.inputs
        return Created(record.id, record.state, without_none(live))

    def update(self, cloud: Cloud, id: str, inputs: Properties) -> Properties:
        """Change the resource in place; raises 404 if it is gone."""
        existing = self.existing(cloud, id)
        enforce(self.rules, inputs, cloud)
        self.require_unchanged(existing.inputs, inputs)
        self.references(cloud, inputs)
        record = self.record(cloud, inputs)
        cloud.store.put(record)
        return record.state

    def delete(self, cloud: Cloud, id: str) -> None:
        """Remove the resource; one that is gone already is fine, one in use is refused."""
        record = cloud.find(id, self.token)
        if record is None:
            return
        user = self.user(cloud, record)
        if user:
            raise in_use(self.busy, record.id, user)
        cloud.store.remove(record.id)

    def record(self, cloud: Cloud, inputs: Properties) -> Record:
        """The resource as it exists with ``inputs``."""
        outputs = {**self._known(inputs), "provisioningState": "Succeeded", **self.outputs(cloud, inputs)}
        return Record(self.id(cloud, inputs), self.token, without_none(inputs), outputs)

    def existing(self, cloud: Cloud, id: str) -> Record:
        """The resource at ``id``; 404 if it is gone."""
        record = cloud.find(id, self.token)
        if record is None:
            raise not_found(id)
        return record

    def require_unchanged(self, old: Properties, new: Properties) -> None:
        """Refuse a change of what is fixed: the provider does not know these, so it sends an update that fails."""
        for path, default in self.shape.fixed.items():
            before, after = at(old, path), at(new, path)
            if has_unknown(before) or has_unknown(after):
                continue
            if _comparable(before, default) != _comparable(after, default):
                raise change_refused(path)

    def _known(self, inputs: Properties) -> Properties:
        steps = "/".join(step for step, _ in self.shape.segments)
        kind = f"{self.shape.namespace}/{steps}"
        return {"azureApiVersion": self.shape.api_version, "name": inputs[self.shape.name], "type": kind}


def _comparable(value: Any, default: Any) -> Any:
    if value is None:
        return default
    if isinstance(value, list):
        return sorted(map(str, value))
    return value.lower() if isinstance(value, str) and value.startswith("/") else value


def group_called(cloud: Cloud, name: str) -> Record | None:
    """The resource group of that name."""
    return cloud.find(f"/subscriptions/{cloud.subscription}/resourceGroups/{name}", GROUP)


def require(cloud: Cloud, id: str, type: str) -> Record:
    """The resource of a type at ``id``; 404 if there is none."""
    record = cloud.find(id, type)
    if record is None:
        raise not_found(id)
    return record
