"""Writes the keys of stack files into docs/ and Pulumi.yaml: ``python -m components.settings.docs [--check]``.

Which cloud supports a key is found by loading the smallest stack with that key on each.
"""

from __future__ import annotations

import json
import sys
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml
from pydantic import BaseModel, BeforeValidator
from pydantic.fields import FieldInfo

from components.settings import json_schema
from components.settings.fields.problems import SettingsError, models_in, sections_in
from components.settings.read import load
from components.settings.sections.existing_cluster import ExistingStackFile
from components.settings.sections.own_machines import OwnStackFile
from components.settings.sections.stack_file import StackFile
from facts import catalog
from facts.catalog import CloudCatalog
from facts.concepts.generated import write_or_check

_ROOT: Final = Path(__file__).resolve().parents[2]
TARGET: Final = _ROOT / "docs" / "configuration.md"
OWN_TARGET: Final = _ROOT / "docs" / "own-machines-configuration.md"
PROJECT: Final = _ROOT / "Pulumi.yaml"
_HERE: Final = Path(__file__).parent


_SCALARS: Final = {str: "text", int: "whole number", float: "number", bool: "true or false", types.NoneType: ""}

Sections = Mapping[str, Mapping[str, Any]]

_GPU: Final = "nvidia-t4"

# Clouds identify a reservation by name or by ID, and it may be in one zone only.
_RESERVATIONS: Final = (
    "my-reservation",
    "cr-0123456789abcdef0",
    "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/gpus/providers/Microsoft.Compute"
    "/capacityReservationGroups/mine",
)
_DAYS: Final = {"first": "2099-03-01", "last": "2099-03-08"}
_SUPPORT: Final[Mapping[str, Any]] = yaml.safe_load((_HERE / "support.yaml").read_text(encoding="utf-8"))
SUPPORT_CASES: Final[Mapping[str, Sections]] = _SUPPORT["settings"]


def render() -> str:
    """The whole document."""
    dev = (_ROOT / "Pulumi.dev.yaml").read_text(encoding="utf-8").strip()
    head = (_HERE / "configuration_head.txt").read_text(encoding="utf-8").rstrip()
    parts = [head.replace("{dev}", dev), *_section(StackFile, "", "All keys"), "", *_differences()]
    for cloud in catalog.clouds():
        parts += ["", *_gpus(cloud)]
    return "\n".join(parts) + "\n"


def render_own() -> str:
    """The document about own machines and existing clusters, without the sections that a cloud's file has too."""
    shared = frozenset(sections_in(StackFile))
    known = shared | frozenset(sections_in(OwnStackFile))
    own = _section(OwnStackFile, "", "All keys", shared)
    existing = _section(ExistingStackFile, "", "All keys of an existing cluster", known)
    own_head, existing_head = (
        (_HERE / f"{name}_configuration_head.txt").read_text(encoding="utf-8").rstrip() for name in ("own", "existing")
    )
    return "\n".join([own_head, *own, "", existing_head, *existing]) + "\n"


def _section(
    model: type[BaseModel], prefix: str, title: str, elsewhere: frozenset[type[BaseModel]] = frozenset()
) -> Iterator[str]:
    """The keys of a section and of those in it; those ``elsewhere`` are documented there."""
    yield f"\n## {title}\n"
    if prefix:
        yield " ".join((model.__doc__ or "").partition("\n\n")[0].split()) + "\n"
    inner: list[tuple[type[BaseModel], str]] = []
    for name, field in model.model_fields.items():
        key = field.alias or name
        yield f"- `{key}` ({', '.join(each for each in (_type(field), _default(field)) if each)}): {field.description}."
        nested_models = [nested for nested in models_in(field.annotation) if nested not in elsewhere]
        brackets = "[]" if type_name(field.annotation).startswith("list") else ""
        inner += [(nested, f"{prefix}{key}{brackets}") for nested in nested_models]
    for nested, path in inner:
        yield from _section(nested, f"{path}.", f"`{path}`", elsewhere)


def _type(field: FieldInfo) -> str:
    """Both forms of a list that may also be written as its only item, or as one word in its place."""
    name = type_name(field.annotation)
    step = next((each for each in field.metadata if isinstance(each, BeforeValidator)), None)
    if step is None:
        return name
    first, *_ = typing.get_args(step.json_schema_input_type) or (None,)
    word = type_name(first) if len(typing.get_args(first)) == 1 else name.removeprefix("list of ")
    return f"{word} or {name}"


def type_name(annotation: Any) -> str:
    """A type as a stack file's author would name it."""
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return type_name(args[0])
    if origin is typing.Literal:
        return " or ".join(f"`{choice}`" for choice in args)
    if origin is tuple:
        return f"list of {type_name(args[0])}"
    if origin is dict and args[1] is Any:
        return "mapping"
    if origin is dict:
        return f"mapping of text to {type_name(args[1])}"
    if origin in (typing.Union, types.UnionType):
        names = dict.fromkeys(name for arg in args if (name := type_name(arg)))
        return "number" if {"number", "whole number"} == set(names) else " or ".join(names)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "mapping"
    return _SCALARS[annotation]


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required" if field.alias != "network" else ""
    value = field.get_default(call_default_factory=True)
    if value is None or value in ((), {}, "") or isinstance(value, BaseModel):
        return ""
    if isinstance(value, tuple):
        value = value[0] if len(value) == 1 else list(value)
    return f"default `{value if isinstance(value, str) else json.dumps(value)}`"


_ASPECTS: Final[Mapping[str, Callable[[CloudCatalog], str]]] = {
    "account key, for example": lambda known: f"`{known.account.key}: {known.account.example}`",
    "`autoscaling.autoscaler`": lambda known: _words(known.choices.autoscalers),
    "`access[].who`, for example": lambda known: _words(known.account.people),
    "default of `adminPool.machineType`": lambda known: f"`{known.machines.default_admin}`",
    "default of `cpuPools[].machineType`": lambda known: f"`{known.machines.default_cpu}`",
    "several machine types in a spot pool": lambda known: _mixing(known),
    "node groups of a GPU pool": lambda known: _per_zone(known),
    "taints of spot nodes": lambda known: _words([str(taint) for taint in known.labels.spot_taints]),
    "`gpuPools[].image`": lambda known: _words(known.nodes.images),
    "`network.existing.network`": lambda known: (
        f"`{known.choices.existing_network}`" if known.choices.existing_network else "not supported"
    ),
    "default of `network.nodeCidr`": lambda known: f"`{known.choices.default_ranges['node_cidr']}`",
    "default of `network.podCidr`": lambda known: _pod_range(known),
    "default of `network.serviceCidr`": lambda known: f"`{known.choices.default_ranges['service_cidr']}`",
    "`kubernetes.channel`": lambda known: _words(known.choices.channels),
    "`network.dataplane`": lambda known: _words(known.choices.dataplanes),
    "`gpuPools[].locationPolicy`": lambda known: _words(known.choices.location_policies),
    "`monitoring.controlPlaneLogs`": lambda known: _words(known.choices.control_plane_logs),
    "`monitoring.gpuMetrics`": lambda known: "yes" if known.choices.gpu_metrics else "no",
    "`addons`": lambda known: _words(known.choices.addons),
    "`tags`": lambda known: known.labels.tags.allowed if known.labels.tags else "none: `labels`",
    "longest pool name": lambda known: f"{known.choices.max_name_length} characters",
}
"""Title of a row of the comparison → the cell of a cloud, from its catalogue."""


def _differences() -> Iterator[str]:
    clouds = catalog.clouds()
    yield "## What differs between the clouds\n"
    yield "Where a cell lists several values, the first is the default.\n"
    yield f"| | {' | '.join(f'`{cloud}`' for cloud in clouds)} |\n|---|{'---|' * len(clouds)}"
    for title, aspect in _ASPECTS.items():
        yield f"| {title} | {' | '.join(aspect(catalog.of(cloud)) for cloud in clouds)} |"
    heads = [f"`{column.cloud}`, {column.autoscaler}" for column in columns()]
    yield "\nWhich settings each cloud supports, per autoscaler. An unsupported one is refused with a reason:\n"
    yield f"| | {' | '.join(heads)} |\n|---|{'---|' * len(heads)}"
    for title, supported in support():
        yield f"| {title} | {' | '.join('yes' if each else 'no' for each in supported)} |"
    yield ""


def _words(words: Sequence[str]) -> str:
    return ", ".join(f"`{word}`" for word in words) or "none"


def _pod_range(known: CloudCatalog) -> str:
    own = known.choices.default_ranges["pod_cidr"]
    return f"`{own}`" if own else f"shared with nodes: {known.nodes.pod_addresses} addresses each"


def _mixing(known: CloudCatalog) -> str:
    mixing = [one for one in known.choices.autoscalers if known.machines.mixes_types(one)]
    return "yes" if mixing == [*known.choices.autoscalers] else f"with {_words(mixing)}" if mixing else "no"


def _per_zone(known: CloudCatalog) -> str:
    per_zone = [
        one
        for one in known.choices.autoscalers
        if known.machines.pool_per_zone(gpu=True, spot=True, zones=2, autoscaler=one)
    ]
    return f"one per zone with {_words(per_zone)}" if per_zone else "one over all zones"


def _gpus(cloud: str) -> Iterator[str]:
    known = catalog.of(cloud)
    yield f"## GPUs on `{cloud}`\n"
    region = known.reference_region
    yield "`machine` is the default machine type of that size. Prices are USD per hour for one node in"
    yield f"`{region}`: list price without disk, dated in the catalogue.\n"
    yield "| gpu | memory | GPUs per node | machine | on demand | spot |\n|---|---|---|---|---|---|"
    for gpu in known.machines.accelerators:
        memory = f"{catalog.GPUS[gpu].memory_gib} GiB"
        for count in known.machines.gpu_counts(gpu):
            machine = known.machines.having(gpu, count)[0]
            prices = [known.prices.machine(region, machine, spot=spot) for spot in (False, True)]
            on_demand, spot = ("unknown" if price is None else f"{price.usd:.2f}" for price in prices)
            yield f"| `{gpu}` | {memory} | {count} | `{machine.type}` | {on_demand} | {spot} |"
    for withdrawn in known.machines.withdrawn_gpus.values():
        yield f"\n`{withdrawn.name}`: {withdrawn.reason}. Use `{withdrawn.successor}`."


@dataclass(frozen=True, kw_only=True)
class Column:
    """A cloud with one of its autoscalers."""

    cloud: str
    autoscaler: str


def columns() -> Iterator[Column]:
    """Every cloud with each of its autoscalers, its default first."""
    for cloud in catalog.clouds():
        for autoscaler in catalog.of(cloud).choices.autoscalers:
            yield Column(cloud=cloud, autoscaler=autoscaler)


def support() -> Iterator[tuple[str, list[bool]]]:
    """Each setting of the comparison, and for each of the columns whether it is supported there."""
    for title, sections in SUPPORT_CASES.items():
        yield title, [supports(column, sections) for column in columns()]
    for title, pool in _SUPPORT["reserved"].items():
        yield title, [_reserves(column, pool) for column in columns()]


def supports(column: Column, sections: Sections) -> bool:
    """Whether the smallest stack with these sections is accepted there."""
    try:
        _load(column, sections)
    except SettingsError:
        return False
    return True


def _reserves(column: Column, pool: Mapping[str, Any]) -> bool:
    known = catalog.of(column.cloud)
    zones = catalog.gpu_zones(column.cloud, known.reference_region, _GPU) or known.regions[known.reference_region]
    days = _DAYS if pool["capacity"] == "capacity-block" else {}
    asked = ({"name": name, "zone": zones[0], **days} for name in _RESERVATIONS)
    return any(supports(column, {"gpuPools": {**pool, "reservation": reservation}}) for reservation in asked)


def _load(column: Column, sections: Sections) -> None:
    known = catalog.of(column.cloud)
    region = known.reference_region
    pool: dict[str, Any] = {"name": "gpu", "gpu": _GPU, "maxNodes": 1, **sections.get("gpuPools", {})}
    config: dict[str, object] = {
        **sections,
        "cloud": column.cloud,
        "region": region,
        "network": {
            "authorizedNetworks": [{"name": "office", "cidr": "203.0.113.0/24"}],
            **sections.get("network", {}),
        },
        "autoscaling": {"autoscaler": column.autoscaler, **sections.get("autoscaling", {})},
        "gpuPools": [{"gpusPerNode": known.machines.gpu_counts(pool["gpu"])[0], **pool}],
    }
    if "cpuPools" in sections:
        config["cpuPools"] = [{"name": "cpu", "maxNodes": 1, **sections["cpuPools"]}]
    if sections.get("network", {}).get("privateEndpoint"):
        # A private endpoint needs no authorized networks.
        config["network"] = sections["network"]
    example = known.account.example
    account = region if example in known.regions else example
    load(config, stack="example", project=account)


def render_project() -> str:
    """Pulumi.yaml with the keys of a stack file below ``config``: the engine knows no others.

    Lists and mappings have no ``type``: the engine would stop at the first wrong one, before the program reports all.
    """
    head = PROJECT.read_text(encoding="utf-8").partition("\nconfig:\n")[0]
    lines = [head, "config:"]
    keys = {**StackFile.model_fields}
    for others in (OwnStackFile, ExistingStackFile):
        keys |= {name: field for name, field in others.model_fields.items() if name not in keys}
    for name, field in keys.items():
        kind = type_name(field.annotation).split()[0]
        intro, empty = {"list": ("List: ", "[]"), "mapping": ("Mapping: ", "{}")}.get(kind, ("", '""'))
        default = None if field.is_required() else field.get_default(call_default_factory=True)
        # An empty mapping is not the same as none where the file may leave it out.
        empty = '""' if name in StackFile.model_fields and not field.is_required() and default is None else empty
        lines += [f"  {field.alias or name}:", *(["    type: string"] if not intro else [])]
        lines.append(f"    description: {json.dumps(f'{intro}{field.description}', ensure_ascii=False)}")
        lines.append(f"    default: {default if isinstance(default, str) else empty}")
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> int:
    """Write the documents, or with ``--check`` compare them and return 1 if one is out of date."""
    texts = {
        TARGET: render(),
        OWN_TARGET: render_own(),
        PROJECT: render_project(),
        json_schema.TARGET: json_schema.render(),
    }
    return write_or_check(texts, arguments, "components.settings.docs")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
