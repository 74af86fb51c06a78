"""The program's resources once more, in a simulated cloud of their own that has no machines and takes milliseconds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from rehearsal.checks import groups_as_declared
from rehearsal.mutants.mutation import Registered
from rehearsal.providers import cloud_provider
from rehearsal.providers.base import CallContext, Created, Properties, Provider
from rehearsal.scenario.check import Pools
from rehearsal.simulation import Endpoint, SimulatedNodeGroup, makers_rights
from rehearsal.work.maintenance import window_check

_SHORTEST: Final = 4
"""Characters of an output by which other inputs are known to hold it."""
Changes = Mapping[str, Mapping[str, str]]
"""URN → what the program got of the resource → what it gets now; texts only."""


def call(each: Registered, *, preview: bool = False) -> CallContext:
    """The engine's call about a resource."""
    return CallContext(each.urn, each.type, each.name, preview=preview, random_seed=b"mutants")


class _Groups:
    """A fleet that only remembers its groups: ``rehearsal.simulation.Fleet``."""

    def __init__(self) -> None:
        self.groups: dict[str, SimulatedNodeGroup] = {}

    def create_cluster(self, name: str, *, system_objects: Sequence[Any] = (), **facts: Any) -> Endpoint:
        if makers_rights(everything=False) in system_objects:
            raise PermissionError(f"the program's user has no rights in cluster {name}")
        return Endpoint("127.0.0.1:6443", "Q0E=", "localhost:6443", "127.0.0.1:1", False)

    def apply_group(self, group: SimulatedNodeGroup) -> None:
        self.groups[group.name] = group

    def delete_group(self, cluster: str, name: str) -> None:
        self.groups.pop(name, None)

    def __getattr__(self, name: str) -> Any:
        return lambda *_: []


@dataclass(frozen=True)
class Replay:
    """How to create the resources: in the cloud of ``plugin`` with the settings ``config``, for a stack's ``pools``.

    ``window`` is the weekly maintenance that the stack declares (``sunday 02:00 4 h``).
    """

    plugin: str
    config: Properties
    pools: Pools
    window: str

    def refusal(self, program: Iterable[tuple[Registered, Properties]]) -> tuple[str, str]:
        """The cloud's error, and what a check of the rehearsal says is wrong; empty texts if nothing is.

        ``program``: each resource with its checked inputs, in an order in which all is there that they refer to.
        """
        fleet = _Groups()
        changes: dict[str, Mapping[str, str]] = {}
        there: list[tuple[Registered, Properties, Created]] = []
        with TemporaryDirectory() as folder:
            provider: Any = cloud_provider(self.plugin, Path(folder), fleet)  # type: ignore[arg-type]
            provider.configure(self.config)
            try:
                for each, inputs in program:
                    inputs = followed(each, inputs, changes)
                    created = provider.create(call(each), inputs, 0)
                    there.append((each, inputs, created))
                    changes[each.urn] = changed({**each.outputs, "id": each.id}, {**created.state, "id": created.id})
            except Exception as error:  # a defect of the simulated provider ends an update, too
                return str(error), ""
            else:
                return "", self._wrong(fleet, provider) or _refused_destroy(provider, there)
            finally:
                with suppress(Exception):
                    provider.close()

    def _wrong(self, fleet: _Groups, provider: Provider) -> str:
        """The first check that fails after the update: ``groups-as-declared``, or ``maintenance`` at night."""
        groups = groups_as_declared(list(fleet.groups.values()), self.pools)
        if not groups.passed:
            return f"{groups.id}: {groups.detail}"
        for check in window_check(provider.maintain(), self.window):
            if not check.passed:
                return f"{check.id}: {check.detail}"
        return ""


def _refused_destroy(provider: Provider, there: Sequence[tuple[Registered, Properties, Created]]) -> str:
    try:
        for each, inputs, created in reversed(there):
            provider.delete(call(each), created.id, inputs, created.state, 0)
    except Exception as error:  # as when it is created
        return f"destroy: {error}"
    return ""


def followed(each: Registered, inputs: Properties, changes: Changes) -> Properties:
    """``inputs`` with the new outputs of what they are made from."""

    def new(value: Any, texts: Mapping[str, str]) -> Any:
        if isinstance(value, str):
            for old in sorted(texts, key=len, reverse=True):
                if old in value:
                    return value.replace(old, texts[old])
        if isinstance(value, list):
            return [new(item, texts) for item in value]
        return {key: new(item, texts) for key, item in value.items()} if isinstance(value, dict) else value

    result = dict(inputs)
    for key, urns in each.dependencies.items():
        texts = {old: text for urn in urns for old, text in changes.get(urn, {}).items()}
        if texts and key in result:
            result[key] = new(result[key], texts)
    return result


def changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, str]:
    """The texts of outputs that differ, at any depth."""
    replaced: dict[str, str] = {}
    for key, old in before.items():
        new = after.get(key)
        if isinstance(old, str) and isinstance(new, str) and old != new and len(old) >= _SHORTEST:
            replaced[old] = new
        elif isinstance(old, Mapping) and isinstance(new, Mapping):
            replaced |= changed(old, new)
        elif isinstance(old, list) and isinstance(new, list):
            replaced |= changed(_numbered(old), _numbered(new))
    return replaced


def _numbered(items: list[Any]) -> dict[str, Any]:
    return {str(index): item for index, item in enumerate(items)}
