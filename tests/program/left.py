"""What a setting leaves on the cloud when it leaves the stack file: inputs that an update no longer sends, and stay."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, Final

from facts.catalog import PLUGINS
from rehearsal.providers.differences import Comparison, Path, diff, differences
from rehearsal.providers.resource import SimulatedResource
from tests.recorder import Registration

_PROVIDERS: Final = {cloud: import_module(f"rehearsal.providers.{cloud}").PROVIDER for cloud in PLUGINS}
_ROWS: Final[Mapping[str, SimulatedResource[Any]]] = {
    token: row for provider in _PROVIDERS.values() for token, row in provider.rows.items()
}
_ABSENT: Final = {token: provider.absent for provider in _PROVIDERS.values() for token in provider.rows}
# Nobody says of each property whether AKS keeps it where a request has none: all count.
_MAY_KEEP: Final = ("azure-native:containerservice:ManagedCluster", "azure-native:containerservice:AgentPool")
_MAPS: Final = ("labels", "nodeLabels", "tags")


def left(before: Mapping[str, Registration], after: Mapping[str, Registration]) -> set[tuple[str, str]]:
    """Type and path of each input of ``before`` that the same resources of ``after`` lack, and their cloud keeps."""
    return {
        (was.type, ".".join(step for step in path if isinstance(step, str)))
        for urn, was in before.items()
        if urn in after and was.type in _ROWS
        for path in _kept(_ROWS[was.type], was, after[urn])
    }


def _kept(row: SimulatedResource[Any], was: Registration, now: Registration) -> Iterator[Path]:
    sent, completed = ({**_sent(row, now.inputs, olds)} for olds in ({}, was.inputs))
    replaces = (*row.address, *row.replaces, *now.replace_on_changes)
    compared = Comparison(replaces, row.computed, row.links, row.unordered, _ABSENT[now.type])
    if diff(compared, was.inputs, completed, now.ignore_changes).replaces:
        return
    yield from differences(sent, completed)
    if now.type in _MAY_KEEP:
        yield from _lost(was.inputs, now.inputs)


def _sent(row: SimulatedResource[Any], inputs: Mapping[str, Any], olds: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs with what stays of the ``olds``."""
    return row.with_kept(row.with_defaults(copy.deepcopy({**inputs}), {**olds}), {**olds})


def _lost(before: Any, after: Any, path: Path = ()) -> Iterator[Path]:
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key, value in before.items():
            if value is not None and after.get(key) is None:
                yield (*path, key)
            elif key not in _MAPS:
                yield from _lost(value, after.get(key), (*path, key))
    elif isinstance(before, list) and isinstance(after, list):
        for value, other in zip(before, after, strict=False):
            yield from _lost(value, other, path)
