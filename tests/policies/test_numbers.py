"""Every input of a cloud's type that decides how many machines there are, for how long, or what they cost is read, or
stands in ``harmless_numbers.csv`` with the reason; so does every type of the pinned SDKs that names machines."""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterable
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeAlias

import pytest

from facts.concepts.declared import Unreadable
from policies.readers import read
from policies.readers.eks.machines import PARTS as EKS_PARTS
from policies.readers.gke.machines import PARTS as GKE_PARTS
from policies.readers.registry import is_part, is_taken, reader_of
from policies.readers.resource import Declared
from tests.policies.sdk_inputs import Input, Type, modules, root, types_in

Names: TypeAlias = tuple[str, ...]

_MODULES: Final = (
    ("pulumi_aws", ("autoscaling", "autoscalingplans", "batch", "ec2", "eks")),
    ("pulumi_azure_native", ("compute", "containerservice", "monitor")),
    ("pulumi_gcp", ("compute", "container", "tpu")),
)
"""Where the types are that a reader of machines reads."""
_READERS: Final = re.compile(r"policies\.readers\.(?:gke|eks|aks)\.(?:clusters|machines|reservations)")
_NUMBER: Final = re.compile(r"_builtins\.(?:int|float)\b")
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SAYS_SO: Final = re.compile(
    r"accelerator|autoscaler|autoscaling|base|capacity|cores|count|cpu|desired|disk|duration|expiration|expiry|famil"
    r"y|flavor|gb|gpu|initial|instances|iops|kind|lifetime|location|locations|machine|max|maximum|memory|min|minimum"
    r"|mode|nodes|percent|percentage|preemptible|price|priority|profile|provisioned|provisioning|quantity|recurrence"
    r"|replicas|reservation|reservations|reserved|schedule|schedules|schedulings|selections|size|sizes|sku|spot|stan"
    r"dby|storage|surge|target|tenancy|throughput|timeout|type|types|vcpu|vcpus|volume|warm|weight|weighted|zone|zon"
    r"es"
)
"""Words in the name of an input that may decide about machines though it is no number."""
_FITTING: Final = {
    "machineType": "a2-highgpu-8g",
    "machineTypes": "a2-highgpu-8g",
    "instanceType": "p5.48xlarge",
    "instanceTypes": "p5.48xlarge",
    "vmSize": "Standard_ND96isr_H100_v5",
    "poolState": "RUNNING",
    "type": "nvidia-l4",
}
"""Without a machine with GPUs some readers look no further."""


class Filled(dict[str, Any]):
    """An object that notes the paths that are looked up in it. What only walks through all values looks at none."""

    def __init__(self, values: dict[str, Any], path: Names, seen: set[Names]) -> None:
        super().__init__(values)
        self._path, self._seen = path, seen

    def __getitem__(self, key: str) -> Any:
        self._seen.add((*self._path, key))
        return super().__getitem__(key)

    def __contains__(self, key: object) -> bool:
        self._seen.add((*self._path, str(key)))
        return super().__contains__(key)

    def get(self, key: str, default: Any = None) -> Any:
        self._seen.add((*self._path, key))
        return super().get(key, default)

    def items(self) -> Any:
        self._seen |= {(*self._path, key) for key in self}
        return super().items()


def filled(type: Type, *, on: bool, without: Names, seen: set[Names]) -> Filled:
    """All inputs of the type but one, with a value each."""

    def value(each: Input, path: Names, within: Names) -> Any:
        if each.part is not None and each.part in type.parts:
            inner: Any = part(type.parts[each.part], path, (*within, each.part))
        elif "_builtins.bool" in each.kind:
            inner = on
        elif _NUMBER.search(each.kind):
            inner = 3
        else:
            inner = {} if "Mapping[" in each.kind else _FITTING.get(each.name, "x")
        return [inner] if each.listed else inner

    def part(inputs: Collection[Input], path: Names, within: Names) -> Filled:
        kept = {each.name: each for each in inputs if (*path, each.name) != without and each.part not in within}
        return Filled({name: value(each, (*path, name), within) for name, each in kept.items()}, path, seen)

    return part(type.inputs, (), ())


@cache
def types() -> tuple[Type, ...]:
    """The types of the SDKs that a reader of machines reads, by itself or with others."""
    found = [each for sdk, names in _MODULES for name in names for each in types_in(root(sdk) / name)]
    return tuple(each for each in found if each.token in _PARTS or _is_read(each.token))


_PARTS: Final = (*EKS_PARTS, *GKE_PARTS)


def _is_read(token: str) -> bool:
    reader = reader_of(token)
    return reader is not None and _READERS.match(reader.__module__) is not None


@cache
def looked_up() -> dict[str, set[Names]]:
    """Type → the paths that readers look up in resources of it: filled ones and, as one input may stand for another,
    those without each input that is looked up."""
    seen: dict[str, set[Names]] = {each.token: set() for each in types()}
    for on in (True, False):
        parts = tuple(_declared(each, on, (), seen[each.token]) for each in types())
        for type in types():
            tried: set[Names] = set()
            todo: list[Names] = [()]
            while todo:
                for without in todo:
                    _run(_declared(type, on, without, seen[type.token]), parts if without == () else ())
                tried |= {*todo}
                todo = sorted(path for path in seen[type.token] - tried if path)
    return seen


def _declared(type: Type, on: bool, without: Names, seen: set[Names]) -> Declared:
    return Declared(type.token, "x", f"urn:{type.token}", filled(type, on=on, without=without, seen=seen))


def _run(declared: Declared, parts: tuple[Declared, ...]) -> None:
    reader = reader_of(declared.type)
    for references in ((), parts):
        if reader is not None:
            list(reader(replace(declared, references=references)))


def decides(each: Input) -> bool:
    words = (word.lower() for word in _WORD.findall(each.name))
    return _NUMBER.search(each.kind) is not None or any(map(_SAYS_SO.fullmatch, words))


# Inputs that say which machines there are, and what such a text looks like where the machines have GPUs.
_MACHINE: Final = (
    ("aws", re.compile(r"\w*instance(?:types?|family)|nodetypes?"), ("ml.p4d.24xlarge", "p4d.24xlarge")),
    ("azure-native", re.compile(r"\w*vmsizes?|vmsku|size|nodesize"), ("Standard_ND96isr_H100_v5",)),
    ("azure-native", re.compile(r"sku\.name"), ("Standard_ND96isr_H100_v5", "NCv3-Type1")),
    ("gcp", re.compile(r"\w*machinetypes?"), ("a2-highgpu-8g",)),
    ("gcp", re.compile(r"nodetypes?"), ("g2-node-96-432",)),
    ("gcp", re.compile(r"acceleratortypes?"), ("nvidia-l4",)),
)


def _with(type: Type, path: Names, value: str) -> dict[str, Any]:
    """The resource with this input alone."""
    parts, listed, inputs = [], [], type.inputs
    for name in path:
        each = next(each for each in inputs if each.name == name)
        parts.append(name)
        listed.append(each.listed)
        inputs = type.parts.get(each.part or "", ())
    whole: Any = value
    for name, many in zip(reversed(parts), reversed(listed), strict=True):
        whole = {name: [whole] if many else whole}
    return whole


def _is_noticed(type: Type, path: Names, text: str) -> bool:
    items = read(Declared(type.token, "x", "urn:x", _with(type, path, text)))
    return any(not isinstance(each, Unreadable) for each in items)


@cache
def _unnoticed() -> tuple[tuple[str, str], ...]:
    """The type and the path of each input that names machines with GPUs, of which the gate says nothing."""
    return tuple(
        (type.token, ".".join(path))
        for module in modules()
        for type in types_in(module)
        if not is_taken(type.token) and not is_part(type.token)
        for path, each in type.leaves()
        for cloud, name, texts in _MACHINE
        if cloud == type.token.partition(":")[0]
        if "_builtins.str" in each.kind
        if name.fullmatch(path[-1].lower()) or name.fullmatch(".".join(path[-2:]).lower())
        if not any(_is_noticed(type, path, text) for text in texts)
    )


@pytest.mark.rehearsal  # it reads all sources of three SDKs: a minute, which `make test` has not
def test_each_type_that_names_machines_with_gpus_is_read_named_or_harmless_for_a_reason() -> None:
    assert _without_reason(_unnoticed()) == [], "read it, or add it to harmless_numbers.csv with the reason"


def _without_reason(inputs: Iterable[tuple[str, str]]) -> list[str]:
    known = _harmless()
    return [
        f"{token} {path}"
        for token, path in inputs
        if not any(fnmatchcase(token, types) and names.fullmatch(path) for types, names, _ in known)
    ]


def _harmless() -> list[tuple[str, re.Pattern[str], str]]:
    """Pattern of types, names of inputs, and the reason."""
    with (Path(__file__).parent / "harmless_numbers.csv").open() as file:
        listed = [*csv.DictReader(line for line in file if not line.startswith("#"))]
    return [(row["type"], re.compile(rf"(?:.*\.)?(?:{row['inputs']})(?:\..*)?"), row["why"]) for row in listed]


@cache
def _unread() -> tuple[tuple[str, str], ...]:
    """The type and the path of each input that decides and that no reader looks up."""
    seen = looked_up()
    return tuple(
        (type.token, ".".join(path))
        for type in types()
        for path, each in type.leaves()
        if decides(each) and path not in seen[type.token]
    )


@pytest.mark.rehearsal  # ten seconds, which `make test` has not
def test_each_number_of_a_cloud_s_type_is_read_or_harmless_for_a_reason() -> None:
    assert {each.token.partition(":")[0] for each in types()} == {"aws", "azure-native", "gcp"}
    assert _without_reason(_unread()) == [], "read it, or add it to harmless_numbers.csv with the reason"


@pytest.mark.rehearsal  # as above
def test_each_reason_is_about_a_number_that_nothing_reads() -> None:
    known = _harmless()
    assert all(why for _, _, why in known)
    idle = [
        inputs.pattern
        for types, inputs, _ in known
        if not any(fnmatchcase(token, types) and inputs.fullmatch(path) for token, path in (*_unread(), *_unnoticed()))
    ]
    assert idle == []
