"""A stack's deployment without an engine: what a program registers, as the simulated providers take it in process.

It does what the engine does: a resource is looked up by its URN or an alias, ignored changes are undone, the provider
checks and compares, what is new is created, and at the end what is no longer registered is deleted, the last first. A
replacement has the program's inputs, also ignored ones. A resource that is deleted before it is replaced takes its
dependents with it.
Objects in the cluster have no API server here: they are compared, and two resources that are one object are an error.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal

import yaml
from pulumi.runtime import mocks

import machines.wire
from facts import catalog
from facts.concepts.unknown import UNKNOWN
from machines.errors import OperationError
from machines.resources import MachineResources
from packages.rehearsal.tests.noting_fleet import NotingFleet
from packages.rehearsal.tests.upgrade.program import Program
from rehearsal.engine.stack import resolve
from rehearsal.providers import cloud_provider
from rehearsal.providers.base import CallContext, Created, Diff, Previous, Properties, ProviderError
from rehearsal.providers.differences import MISSING, covers, lookup, parse_path
from rehearsal.providers.differences import Path as PropertyPath
from rehearsal.providers.fixtures import create_fixtures
from rehearsal.providers.kubernetes import SimulatedKubernetes
from rehearsal.providers.kubernetes import manifest as objects
from tests.recorder import Cloud, Recording, Registration, state_answer

IMMUTABLE: Final[Mapping[str, tuple[str, ...]]] = {
    "scheduling.k8s.io/v1/PriorityClass": ("preemptionPolicy", "value"),
    "storage.k8s.io/v1/StorageClass": ("reclaimPolicy", "volumeBindingMode"),
    "v1/PersistentVolume": ("spec.volumeMode",),
    "v1/PersistentVolumeClaim": ("spec.volumeMode",),
}
"""Fields of declared objects that the API server refuses to change, and for which the provider replaces no object; a
test asks a real API server."""

Op = Literal["create", "update", "replace", "delete", "retain", "refuse"]


@dataclass(frozen=True)
class Change:
    """What an update does to one resource: ``paths`` are the inputs that differ, ``why`` the words of a refusal."""

    op: Op
    type: str
    name: str
    paths: tuple[str, ...] = ()
    why: str = ""


@dataclass(frozen=True)
class Resource:
    """A resource as the state has it: its last registration, checked inputs, and what the provider answered."""

    registration: Registration
    inputs: Properties
    id: str
    outputs: Properties

    @property
    def call(self) -> CallContext:
        """The engine's call about it."""
        one = self.registration
        return CallContext(one.urn, one.type, one.name, random_seed=one.name.encode())


class Deployment:
    """One stack in simulated clouds of its own; ``folder`` is for their files, ``secrets`` are encrypted keys.

    Raises ``SettingsError`` for a stack file that today's settings refuse.
    """

    def __init__(self, file: Path, folder: Path, secrets: Mapping[str, str]) -> None:
        stack = resolve(str(file))
        settings = stack.settings
        self.resources: dict[str, Resource] = {}
        self.outputs: Properties = {}
        self.secret_outputs: frozenset[str] = frozenset()
        self._name = stack.name
        self.config: dict[str, Any] = yaml.safe_load(file.read_text())["config"]
        self._secrets = secrets
        self.fleet = NotingFleet()
        """The machines of the simulated account."""
        self._objects: dict[tuple[str, str], str] = {}
        self._providers: dict[str, Any] = {"gpucluster-machines": Machines()}
        self._clouds = stack.plugins
        for plugin in stack.plugins:
            provider: Any = cloud_provider(plugin, folder, self.fleet)
            provider.by_itself()
            if stack.with_existing is not None:
                create_fixtures(stack.with_existing, provider)
            provider.configure({catalog.of(settings.cloud).account.key.partition(":")[2]: settings.project})
            self._providers[plugin] = provider
        self.first: set[str] = set()
        """Names of replaced resources of which the new one was there before the old one went."""
        self._changes: list[Change] = []
        self._registered: dict[str, Resource] = {}
        self._replaced: list[Resource] = []
        self._aliased: set[str] = set()
        self._deleted: set[str] = set()
        self._refresh = False

    def update(self, program: Program, **config: Any) -> list[Change]:
        """What the update to ``program`` does, all of it; ``config`` replaces keys of the stack file (``None``: gone).

        An update that is refused ends as the engine's: what it did before is done.
        """
        self.config = {key: value for key, value in {**self.config, **config}.items() if value is not None}
        self._changes, self._registered, self._replaced, self._aliased, self._deleted = [], {}, [], set(), set()
        error = program.run(self._name, {**self.config, **self._secrets}, [*self._secrets], self.answer)
        if error:
            if not any(each.op == "refuse" for each in self._changes):
                self._changes.append(Change("refuse", "", "", why=error))
            self.resources |= self._registered
            return self._changes
        ending = [each for urn, each in self.resources.items() if urn not in self._aliased] + self._replaced
        self.resources = self._registered
        self._delete(ending)
        return self._changes

    def refresh_and_update(self, program: Program) -> list[Change]:
        """What `pulumi up --refresh` does: registrations are compared with the cloud as it is, while the program, which
        asks for the state, is told what the last update wrote: `refresh` in
        https://github.com/pulumi/pulumi/blob/v3.259.0/pkg/resource/deploy/deployment_executor.go.
        """
        self._refresh = True
        try:
            return self.update(program)
        finally:
            self._refresh = False

    def destroy(self) -> list[Change]:
        """What `pulumi destroy` does."""
        self._changes, self._deleted = [], set()
        ending, self.resources = [*self.resources.values()], {}
        self._delete(ending)
        return self._changes

    @property
    def cloud(self) -> Any:
        """The provider of the simulated account."""
        return self._providers[self._clouds[0]]

    def problems(self) -> list[str]:
        """What will not work in the simulated account."""
        return [each for plugin in self._clouds for each in self._providers[plugin].problems() or ()]

    def missing(self) -> list[str]:
        """Resources of the state that the cloud does not have: two resources were one, and one of them is deleted."""
        return [
            each.registration.urn
            for each in self.resources.values()
            if each.id and self._of(each).read(each.call, each.id, each.inputs, each.outputs).id == ""
        ]

    def drifted(self, types: Collection[str]) -> list[str]:
        """Inputs of resources of these types that the cloud changed together with another resource."""
        return [
            f"{each.registration.name} {key}"
            for each in self.resources.values()
            if each.registration.type in types and each.inputs
            for live in [self._of(each).read(each.call, each.id, each.inputs, each.outputs).state]
            for key in each.inputs
            if live.get(key) != each.outputs.get(key)
        ]

    def answer(self, question: str, *arguments: Any) -> Any:
        """What the engine answers the program: ``register``, ``read``, ``invoke`` or ``outputs``."""
        answers = {"register": self._register, "read": self._read, "invoke": self._invoke, "outputs": self._export}
        return answers[question](*arguments)

    def _register(self, new: Registration, aliases: list[str]) -> tuple[str, Properties]:
        before = next((self.resources[urn] for urn in (new.urn, *aliases) if urn in self.resources), None)
        twice = new.urn in self._registered or (before is not None and before.registration.urn in self._aliased)
        if before is not None:
            self._aliased.add(before.registration.urn)
            before = self._refreshed(before) if self._refresh else before
        try:
            if twice:
                raise ProviderError(f"{new.urn} is registered twice, or under two names")
            resource = self._made(new, before) if new.custom else Resource(new, {}, "", {})
        except ProviderError as error:
            self._changes.append(Change("refuse", new.type, new.name, why=str(error)))
            raise
        self._registered[new.urn] = resource
        return resource.id, resource.outputs

    def _refreshed(self, before: Resource) -> Resource:
        """The resource as its cloud has it now."""
        if not before.id or before.registration.type.startswith("pulumi:"):
            return before
        live = self._of(before).read(before.call, before.id, before.inputs, before.outputs)
        return replace(before, inputs=before.inputs if live.inputs is None else live.inputs, outputs=live.state)

    def _made(self, new: Registration, before: Resource | None) -> Resource:
        provider = self._of(new)
        resource = Resource(new, {}, "", {})
        declared = copy.deepcopy(new.inputs)
        ignored = tuple(new.ignore_changes)
        if before is None:
            inputs = self._checked(provider, resource, {}, declared)
            self._changes.append(Change("create", new.type, new.name))
            return self._created(provider, replace(resource, inputs=inputs))
        if before.registration.urn in self._deleted:
            inputs = self._checked(provider, resource, {}, declared)
            self._changes.append(Change("replace", new.type, new.name))
            return self._created(provider, replace(resource, inputs=inputs))
        for path in ignored:
            declared = undone(declared, before.inputs, parse_path(path))
        inputs = self._checked(provider, resource, before.inputs, declared)
        previous = Previous(before.inputs, before.outputs)
        difference: Diff = provider.diff(resource.call, before.id, previous, inputs, ignored)
        changed = {*difference.changes, *difference.replaces}
        patterns = [parse_path(path) for path in ignored]
        paths = sorted(path for path in changed if not any(covers(each, parse_path(path)) for each in patterns))
        forced = [parse_path(path) for path in new.replace_on_changes]
        replaces = {*difference.replaces} | {p for p in paths if any(covers(each, parse_path(p)) for each in forced)}
        if replaces & {*paths}:
            if before.registration.protect:
                raise ProviderError(f"{new.urn} is protected and would be replaced")
            self._changes.append(Change("replace", new.type, new.name, tuple(paths)))
            if new.delete_before_replace or difference.delete_before_replace:
                self._end_with_dependents(before)
            else:
                self._replaced.append(before)
                self.first.add(new.name)
            # As `goal.Properties`: https://github.com/pulumi/pulumi/blob/v3.259.0/pkg/resource/deploy/step_generator.go
            inputs = self._checked(provider, resource, {}, copy.deepcopy(new.inputs))
            return self._created(provider, replace(resource, inputs=inputs))
        if not paths:
            return replace(before, registration=new)
        self._changes.append(Change("update", new.type, new.name, tuple(paths)))
        outputs = provider.update(resource.call, before.id, previous, inputs, 0)
        return Resource(new, inputs, before.id, outputs)

    def _checked(self, provider: Any, resource: Resource, olds: Properties, news: Properties) -> Properties:
        inputs, failures = provider.check(resource.call, olds, news)
        if failures:
            raise ProviderError("; ".join(f"{each.property}: {each.reason}" for each in failures))
        return dict(inputs)

    def _created(self, provider: Any, resource: Resource) -> Resource:
        created: Created = provider.create(resource.call, copy.deepcopy(resource.inputs), 0)
        return replace(resource, id=created.id, outputs=created.state)

    def _end_with_dependents(self, root: Resource) -> None:
        """Delete what the engine deletes before it replaces ``root``: also each dependent that its provider would
        replace if what it takes from them were another value (``calculateDependentReplacements`` of
        https://github.com/pulumi/pulumi/blob/v3.259.0/pkg/resource/deploy/step_generator.go).
        """
        ending = {root.registration.urn: root}
        for urn, each in self.resources.items():
            one = each.registration
            if urn in self._registered:
                continue
            taken = {
                key: UNKNOWN
                for key, urns in one.property_dependencies.items()
                if key in each.inputs and not ending.keys().isdisjoint(urns)
            }
            if one.provider.rpartition("::")[0] in ending or (taken and self._replaced_by(each, taken)):
                if one.protect:
                    raise ProviderError(f"{urn} is protected and would be replaced")
                ending[urn] = each
        for urn, each in reversed([*ending.items()]):
            if urn not in self._deleted and each.registration.deleted_with not in ending:
                self._end(each)
        self._deleted |= ending.keys()
        # An object ends with its cluster.
        for place in [place for place, urn in self._objects.items() if urn in ending]:
            del self._objects[place]

    def _replaced_by(self, resource: Resource, inputs: Properties) -> bool:
        """Whether its provider replaces it for these other ``inputs``."""
        if not resource.registration.custom:
            return False
        previous = Previous(resource.inputs, resource.outputs)
        news = {**resource.inputs, **inputs}
        return bool(self._of(resource).diff(resource.call, resource.id, previous, news, ()).replaces)

    def _delete(self, ending: list[Resource]) -> None:
        """Of these, those that the state says to retain stay where they are."""
        urns = {each.registration.urn for each in ending}
        for each in reversed(ending):
            one = each.registration
            if not one.custom or one.type.startswith("pulumi:"):
                continue
            if one.protect:
                self._changes.append(Change("refuse", one.type, one.name, why="it is protected"))
                return
            retained = one.retain_on_delete
            self._changes.append(Change("retain" if retained else "delete", one.type, one.name))
            if one.urn not in self._deleted and one.deleted_with not in urns:
                self._end(each)

    def _end(self, resource: Resource) -> None:
        if resource.registration.retain_on_delete:
            return
        try:
            self._of(resource).delete(resource.call, resource.id, resource.inputs, resource.outputs, 0)
        except ProviderError as error:
            one = resource.registration
            self._changes.append(Change("refuse", one.type, one.name, why=f"delete: {error}"))

    def _read(self, type: str, name: str, id: str, inputs: Properties) -> Properties:
        if type == "pulumi:pulumi:StackReference":
            return {"name": inputs["name"], "outputs": self.outputs, "secretOutputNames": []}
        call = CallContext("", type, name)
        return dict(self._providers[type.partition(":")[0]].read(call, id, {}, inputs).state)

    def _invoke(self, token: str, arguments: Properties) -> tuple[Properties, str]:
        if token.startswith("pulumi:"):
            return state_answer(token, {urn: each.outputs for urn, each in self.resources.items()}), ""
        try:
            return self._providers[token.partition(":")[0]].invoke(token, arguments), ""
        except ProviderError as error:
            return {}, str(error)

    def _export(self, urn: str, outputs: Properties, secret: frozenset[str]) -> None:
        if "::pulumi:pulumi:Stack::" in urn:
            self.outputs, self.secret_outputs = outputs, secret

    def _of(self, resource: Resource | Registration) -> Any:
        """The provider of a resource: objects have one for each configuration."""
        one = resource if isinstance(resource, Registration) else resource.registration
        plugin = one.type.partition(":")[0]
        if one.type.startswith("pulumi:providers:"):
            return Settings()
        if plugin != "kubernetes":
            return self._providers[plugin]
        urn = one.provider.rpartition("::")[0]
        known = {**self.resources, **self._registered}
        config = known[urn].inputs if urn in known else {}
        return ClusterObjects(self._objects, config)


def undone(news: Any, olds: Any, path: PropertyPath) -> Any:
    """``news`` with what is at ``path`` in ``olds``, as the engine treats an ignored change; ``*`` is every step."""
    if not path:
        return copy.deepcopy(olds)
    step, rest = path[0], path[1:]
    if step == "*":
        steps = range(len(news)) if isinstance(news, list) else list(news) if isinstance(news, dict) else ()
        for each in steps:
            news = undone(news, olds, (each, *rest))
        return news
    if not isinstance(news, (dict, list)) or (not rest and lookup(olds, (step,)) is MISSING):
        if isinstance(news, dict):
            return {key: value for key, value in news.items() if key != step}
        return news
    before = lookup(olds, (step,))
    after = lookup(news, (step,))
    if before is MISSING or (after is MISSING and rest):
        return news
    value = undone(after, before, rest)
    if isinstance(news, list):
        return [value if index == step else each for index, each in enumerate(news)]
    return {**news, step: value}


class Settings:
    """The provider of providers: its resources are their configuration."""

    def check(self, call: CallContext, olds: Properties, news: Properties) -> tuple[Properties, list[Any]]:
        return news, []

    def diff(self, call: CallContext, id: str, before: Previous, news: Properties, ignored: tuple[str, ...]) -> Diff:
        if call.type == "pulumi:providers:kubernetes":
            return SimulatedKubernetes().diff_config(before.inputs, news)
        return Diff(tuple(sorted(key for key in {*before.inputs, *news} if before.inputs.get(key) != news.get(key))))

    def create(self, call: CallContext, inputs: Properties, timeout: float) -> Created:
        return Created(f"{call.name}-id", inputs)

    def update(self, call: CallContext, id: str, before: Previous, news: Properties, timeout: float) -> Properties:
        return news

    def delete(self, call: CallContext, id: str, inputs: Properties, state: Properties, timeout: float) -> None:
        """Nothing ends with a configuration."""

    def read(self, call: CallContext, id: str, inputs: Properties, state: Properties) -> Created:
        return Created(id, state)


class ClusterObjects(SimulatedKubernetes):
    """Objects of a cluster without an API server: ``there`` has the URN of each, by its kind and place."""

    def __init__(self, there: dict[tuple[str, str], str], config: Properties) -> None:
        super().__init__()
        self.configure(config)
        self._there = there

    def check(self, request: CallContext, olds: Properties, news: Properties) -> tuple[Properties, list[Any]]:
        """The inputs, of a release with its defaults: nobody says whether a kind has namespaces."""
        if ":helm.sh/" in request.type:
            return super().check(request, olds, news)
        return news, []

    def create(self, request: CallContext, inputs: Properties, timeout: float) -> Created:
        place = (request.type, self._id(request, inputs))
        if place in self._there and not request.type.endswith("Patch"):
            raise ProviderError(f"{place[1]}: {request.urn} and {self._there[place]} are one {request.type}")
        self._there[place] = request.urn
        return Created(place[1], inputs)

    def update(self, request: CallContext, id: str, before: Previous, news: Properties, timeout: float) -> Properties:
        kind = "" if ":helm.sh/" in request.type else str(objects.kind_of(request.type, news))
        for field in IMMUTABLE.get(kind, ()):
            if lookup(before.inputs, parse_path(field)) != lookup(news, parse_path(field)):
                raise ProviderError(f"{request.type} {id} is invalid: {field}: field is immutable")
        return news

    def delete(self, request: CallContext, id: str, inputs: Properties, state: Properties, timeout: float) -> None:
        self._there.pop((request.type, id), None)

    def read(self, request: CallContext, id: str, inputs: Properties, state: Properties) -> Created:
        return Created(id if (request.type, id) in self._there else "", state)

    def _id(self, request: CallContext, inputs: Properties) -> str:
        if ":helm.sh/" in request.type:
            return f"{inputs['namespace']}/{inputs['name']}"
        return objects.object_id(inputs)


class Machines:
    """The plugin of own machines and of clusters that exist. Of machines it knows who joined, by their host keys."""

    def __init__(self) -> None:
        self._joined: set[str] = set()
        self._plugin, self._answers = MachineResources(), Cloud(Recording())
        # As in a preview in which the cluster cannot be asked yet.
        self._plugin.configure({"kubeconfig": machines.wire.UNKNOWN})

    def check(self, request: CallContext, olds: Properties, news: Properties) -> tuple[Properties, list[Any]]:
        return news, []

    def diff(self, request: CallContext, id: str, before: Previous, news: Properties, ignored: tuple[str, ...]) -> Diff:
        try:
            difference = self._plugin.diff(request.type, before.inputs, before.state, news)
        except OperationError as error:
            raise ProviderError(str(error)) from error
        return Diff(tuple(difference.changes), tuple(difference.replaces), delete_before_replace=True)

    def create(self, request: CallContext, inputs: Properties, timeout: float) -> Created:
        self._joined |= _host_keys(inputs)
        return Created(*self._answers.new_resource(mocks.MockResourceArgs(request.type, request.name, inputs)))

    def update(self, request: CallContext, id: str, before: Previous, news: Properties, timeout: float) -> Properties:
        return self.create(request, news, timeout).state

    def delete(self, request: CallContext, id: str, inputs: Properties, state: Properties, timeout: float) -> None:
        self._joined -= _host_keys(inputs)

    def read(self, request: CallContext, id: str, inputs: Properties, state: Properties) -> Created:
        return Created(id if _host_keys(inputs) <= self._joined else "", state)


def _host_keys(inputs: Properties) -> set[str]:
    return {inputs["machine"]["hostKey"]} if "machine" in inputs else set()
