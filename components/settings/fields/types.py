"""Shared by all sections of a stack file: the syntax of names, labels, taints and ranges, and the context of a check.

A check returns its value or raises.
Sources: https://kubernetes.io/docs/concepts/overview/working-with-objects/names/ and …/labels/ (read 2026-11-20).
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import (
    AfterValidator,
    AllowInfNan,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    Strict,
    StrictFloat,
    StrictInt,
    StrictStr,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError
from typing_extensions import Self

from facts import catalog
from facts.catalog import CloudCatalog, Machine
from facts.concepts.kubernetes import GPU_RESOURCE, OPERAND_LABELS
from facts.concepts.kubernetes import Taint as NodeTaint

_RFC1035: Final = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_LABEL_NAME: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_LABEL_VALUE: Final = re.compile(rf"({_LABEL_NAME.pattern})?")
_DOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_RESOURCE_LABEL: Final = re.compile(r"[a-z][-_a-z0-9]{0,62}")
_RESOURCE_LABEL_VALUE: Final = re.compile(r"[-_a-z0-9]{0,63}")
# https://github.com/distribution/reference/blob/v0.6.0/reference.go: a registry is what has a dot or a port in it.
_REGISTRY: Final = r"(?:localhost|\[[0-9A-Fa-f:]+\]|[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+|[A-Za-z0-9-]+(?=:\d))(?::\d+)?/"
_PART_OF_IMAGE: Final = r"[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*"
_CONTAINER_IMAGE: Final = re.compile(
    rf"(?:{_REGISTRY})?{_PART_OF_IMAGE}(?:/{_PART_OF_IMAGE})*(?::\w[\w.-]{{0,127}})?(?:@[a-z0-9+._-]+:[0-9a-f]{{32,}})?"
)

# Keys of Kubernetes, NVIDIA and this project: only their owners set them.
RESERVED_DOMAINS: Final = ("kubernetes.io", "k8s.io", GPU_RESOURCE.split("/")[0], "gpucluster.dev")


NO_ZONE: Final = "none"
"""The value of ``zones`` for nodes without a zone."""


class NotValidYet(Exception):
    """A key was read whose value is not valid: what depends on it can be checked only once it is corrected."""


class Section(BaseModel):
    """A mapping in the stack file: camelCase keys, frozen; unknown keys and type coercion are refused.

    A section with problems is kept in the context's ``valid_part``, without the keys that are not valid: reading one of
    those raises ``NotValidYet``.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, validate_by_alias=True)

    if not TYPE_CHECKING:  # else any attribute would seem to exist

        def __getattr__(self, name: str) -> Any:
            if name in type(self).model_fields:
                raise NotValidYet(name)
            return super().__getattr__(name)

    @property
    def complete(self) -> bool:
        """Whether all keys are valid, in the sections within it too."""
        values = vars(self)
        inner = [each for value in values.values() for each in (value if isinstance(value, tuple) else (value,))]
        return values.keys() >= type(self).model_fields.keys() and all(
            each.complete for each in inner if isinstance(each, Section)
        )

    @field_validator("*", mode="before")
    @classmethod
    def _note(cls, value: object, info: ValidationInfo) -> object:
        context(info).valid_part.note(info.data)
        return value

    @model_validator(mode="wrap")
    @classmethod
    def _keep(cls, value: Any, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo) -> Self:
        part = context(info).valid_part
        part.begin()
        try:
            section = handler(value)
        except ValidationError:
            part.end(value, _without_invalid(cls, value, part))
            raise
        part.end(value, section)
        return section


class ValidPart:
    """What is valid of a stack file while it is read: its sections, by the mappings that they are made of."""

    def __init__(self) -> None:
        self._read: list[Mapping[str, Any]] = []  # of each section that is being read, the innermost last
        self._sections: dict[int, tuple[object, Section]] = {}  # with the mapping, whose id is its own while it lives

    def begin(self) -> None:
        """A section begins."""
        self._read.append({})

    def note(self, data: Mapping[str, Any]) -> None:
        """The valid keys of the section so far; pydantic adds to them."""
        if self._read:
            self._read[-1] = data

    @property
    def read(self) -> Mapping[str, Any]:
        """The valid keys of the section that is being read."""
        return self._read[-1]

    def end(self, written: object, section: Section) -> None:
        """A section ends."""
        self._read.pop()
        self._sections[id(written)] = (written, section)

    def of(self, written: object) -> Any:
        """The valid part of a mapping, or of each mapping in a list; ``None`` if it has none."""
        if isinstance(written, list):
            parts = [self.of(each) for each in written]
            return None if None in parts or not parts else tuple(parts)
        return self._sections.get(id(written), (None, None))[1]


def _without_invalid(cls: type[Section], written: Any, part: ValidPart) -> Any:
    keys = written if isinstance(written, Mapping) else {}
    values = dict(part.read)
    for name, key in cls.model_fields.items():
        if name not in values and (inner := part.of(keys.get(key.alias or name))) is not None:
            # A list may be written as its only item.
            values[name] = (inner,) if isinstance(key.default, tuple) and not isinstance(inner, tuple) else inner
    section = cls.model_construct({name for name, key in cls.model_fields.items() if (key.alias or name) in keys})
    vars(section).clear()
    vars(section).update(values)
    return section


@dataclass(frozen=True)
class ValidationContext:
    """The cloud and its catalogue, the region and the stack's zones there; ``None`` and ``()`` while not valid."""

    cloud: str | None
    catalog: CloudCatalog | None
    region: str | None
    zones: tuple[str, ...]
    valid_part: ValidPart = field(default_factory=ValidPart, compare=False)

    @classmethod
    def of(cls, raw: Mapping[str, object]) -> ValidationContext:
        """Read the place from unchecked values. Their own checks report what is wrong with them."""
        cloud, region, zones = raw.get("cloud"), raw.get("region"), raw.get("zones")
        if not isinstance(cloud, str) or cloud not in catalog.clouds():
            return cls(None, None, None, ())
        known = catalog.of(cloud).regions.get(region, ()) if isinstance(region, str) else ()
        nowhere = catalog.of(cloud).outside_zones(region) if known and isinstance(region, str) else None
        written = [nowhere] if zones == NO_ZONE else zones if isinstance(zones, list) else []
        chosen = tuple(zone for zone in written if isinstance(zone, str) and zone in (*known, nowhere))
        return cls(cloud, catalog.of(cloud), str(region) if known else None, chosen or known)

    def zones_with(self, machine: Machine) -> tuple[str, ...]:
        """The stack's zones that have the machine; all of them where no list is known."""
        listed = self.catalog.machine_zones(machine) if self.catalog else None
        if listed is None or (self.zones == (self.outside_zones,) and set(listed) & set(self.region_zones)):
            return self.zones
        return tuple(zone for zone in self.zones if zone in listed)

    @property
    def region_zones(self) -> tuple[str, ...]:
        """All zones of the region."""
        return self.catalog.regions[self.region] if self.catalog and self.region else ()

    @property
    def outside_zones(self) -> str | None:
        """The cloud's name for nodes in no zone of the region; ``None`` where it has none."""
        return self.catalog.outside_zones(self.region) if self.catalog and self.region else None


def context(info: ValidationInfo) -> ValidationContext:
    """The context of a validation; an empty one if there is none."""
    return info.context if isinstance(info.context, ValidationContext) else ValidationContext(None, None, None, ())


def _zones(value: object, info: ValidationInfo) -> object:
    """``none``: no zone; the cloud chooses."""
    where = context(info)
    if value != NO_ZONE or where.catalog is None or where.region is None:
        return () if value == NO_ZONE else value
    if where.outside_zones is None:
        raise wrong(f"every node on {where.cloud} is in a zone", "Leave zones out, or list zones")
    return (where.outside_zones,)


def wrong(message: str, remedy: str) -> PydanticCustomError:
    """An error that becomes a ``Problem`` at the key being validated."""
    # A fixed template, because a message may contain braces.
    return PydanticCustomError("problem", "{message}", {"message": message, "remedy": remedy})


def matching(pattern: re.Pattern[str], message: str, remedy: str) -> AfterValidator:
    """Accepts a text that ``pattern`` matches as a whole; the ``message`` comes after the text in quotes."""

    def check(text: str) -> str:
        if not pattern.fullmatch(text):
            raise wrong(f"'{text}' {message}", remedy)
        return text

    return AfterValidator(check)


def some(message: str, remedy: str) -> AfterValidator:
    """Accepts a list that is not empty."""

    def check(entries: Sequence[Any]) -> Sequence[Any]:
        if not entries:
            raise wrong(message, remedy)
        return entries

    return AfterValidator(check)


def once(message: str, remedy: str, key: Callable[[Any], object] = lambda entry: entry) -> AfterValidator:
    """Accepts a list in which no two entries have the same ``key``.

    In ``message``, ``{0}`` is the second of two such entries and ``{1}`` the whole list.
    """

    def check(entries: Sequence[Any]) -> Sequence[Any]:
        keys = set[object]()
        for entry in entries:
            if key(entry) in keys:
                raise wrong(message.format(entry, ", ".join(map(str, entries))), remedy)
            keys.add(key(entry))
        return entries

    return AfterValidator(check)


def rfc1035(name: str) -> str:
    """A DNS label (RFC 1035): the form of cluster and pool names."""
    if len(name) > 63 or not _RFC1035.fullmatch(name):
        near = re.sub(r"[^a-z0-9-]+", "-", name.lower()).strip("-").lstrip("0123456789-")[:63].rstrip("-")
        example = near or "gpu"
        raise wrong(
            f"'{name}' is not a valid name: lower-case letters, digits and '-', a letter first",
            f"Write for example '{example}'",
        )
    return name


def reserved_domain(key: str) -> str | None:
    """The reserved domain that a label or taint key is in."""
    domain = key.split("/")[0] if "/" in key else ""
    return next((d for d in RESERVED_DOMAINS if domain == d or domain.endswith("." + d)), None)


def label_key(key: str) -> str:
    """A key of a node label or a taint, outside the reserved domains."""
    domain, _, name = key.rpartition("/")
    if not _LABEL_NAME.fullmatch(name) or (domain and not _DOMAIN.fullmatch(domain)):
        raise wrong(f"'{key}' is not a valid key", "Name it for example 'team' or 'example.com/team'")
    if reserved := reserved_domain(key):
        raise wrong(
            f"'{key}' is in the reserved domain {reserved}, which the cluster itself uses",
            f"Name it in a domain of your own, such as 'example.com/{name}'",
        )
    return key


def gpu_label_key(key: str) -> str:
    """A key of a GPU node's label: also ``nvidia.com/gpu``, by which many workloads select their nodes, and those by
    which a node keeps parts of the GPU Operator away."""
    of_operator = key.startswith(OPERAND_LABELS) and _LABEL_NAME.fullmatch(key.rpartition("/")[2])
    return key if key == GPU_RESOURCE or of_operator else label_key(key)


def resource_label_key(key: str) -> str:
    """A key of a label on cloud resources, in the alphabet that every cloud accepts."""
    if not _RESOURCE_LABEL.fullmatch(key):
        raise wrong(
            f"'{key}' is not a valid label: lower-case letters, digits, '-' and '_', a letter first, at most 63",
            f"Name it for example '{_as_label(key)}'",
        )
    return key


def resource_label_value(value: str) -> str:
    """A value of a label on cloud resources."""
    if not _RESOURCE_LABEL_VALUE.fullmatch(value):
        raise wrong(
            f"'{value}' is not a valid label value: lower-case letters, digits, '-' and '_', at most 63",
            f"Write for example '{re.sub(r'[^a-z0-9_-]+', '-', value.lower())[:63]}'",
        )
    return value


def _tags(tags: dict[str, str], info: ValidationInfo) -> dict[str, str]:
    """Tags in the cloud's own grammar. Keys must differ in more than case: IAM and Azure ignore case."""
    where = context(info)
    if where.catalog is None or not tags:
        return tags
    grammar = where.catalog.labels.tags
    if grammar is None:
        raise wrong(
            f"resources on {where.cloud} have labels, in lower case; its tags do not appear on the bill",
            f"Leave it out and write labels: {{{', '.join(f'{_as_label(key)}: …' for key in tags)}}}",
        )
    for key, value in tags.items():
        if (problem := grammar.key_problem(key, joins=info.data.get("existing_cluster") is not None)) is not None:
            raise wrong(f"'{key}' {problem}", "Write another key, such as CostCenter")
        if not grammar.value.fullmatch(value):
            raise wrong(
                f"'{value}' is not a valid value of '{key}': {grammar.allowed}", "Leave out the other characters"
            )
    labels = info.data.get("labels") or {}
    lower = [key.lower() for key in (*labels, *tags)]
    if twice := next((key for key in (*labels, *tags) if lower.count(key.lower()) > 1), None):
        raise wrong(f"'{twice}' is written twice (case is ignored, and labels count as tags)", "Write each key once")
    if len(lower) > grammar.most:
        raise wrong(f"there are {len(lower)} labels and tags, but a resource may have {grammar.most}", "Remove some")
    return tags


def _as_label(key: str) -> str:
    return re.sub(r"[^a-z0-9_-]+", "-", key.lower()).lstrip("0123456789-_")[:63] or "team"


def cidr(text: str) -> str:
    """An IPv4 range, written with its first address and its prefix length."""
    try:
        network = ipaddress.IPv4Network(text, strict=False)
    except ValueError:
        raise wrong(f"'{text}' is not an IPv4 range", "Write for example 203.0.113.0/24") from None
    if "/" not in text:
        raise wrong(f"'{text}' has no prefix length", f"Write {network} for this one address")
    if str(network.network_address) != text.split("/")[0]:
        raise wrong(f"'{text}' is an address inside a range", f"Write the range itself: {network}")
    return str(network)


PoolName = Annotated[StrictStr, AfterValidator(rfc1035)]
LabelKey = Annotated[StrictStr, AfterValidator(label_key)]
LabelValue = Annotated[
    StrictStr,
    matching(
        _LABEL_VALUE,
        "is not a valid value: at most 63 letters, digits, '-', '_' and '.', ends alphanumeric",
        "Shorten it or leave out the other characters",
    ),
]
"""A value of a node label or a taint; may be empty."""
ContainerImage = Annotated[
    StrictStr,
    Field(min_length=1),
    matching(
        _CONTAINER_IMAGE,
        "is no container image: a registry, a path of lower-case letters, digits, '.', '_' and '-', a tag or digest",
        "Write for example ghcr.io/team/server:1.2",
    ),
]
NodeLabels = dict[LabelKey, LabelValue]
GpuNodeLabels = dict[Annotated[StrictStr, AfterValidator(gpu_label_key)], LabelValue]
ResourceLabels = dict[
    Annotated[StrictStr, AfterValidator(resource_label_key)],
    Annotated[StrictStr, AfterValidator(resource_label_value)],
]
ResourceTags = Annotated[dict[StrictStr, StrictStr], AfterValidator(_tags)]
RawInputs = dict[StrictStr, Any]
Cidr = Annotated[StrictStr, AfterValidator(cidr)]
DiskGb = Annotated[StrictInt, Field(ge=20, le=65536)]


class TaintSetting(Section):
    """A node taint."""

    key: LabelKey = Field(description="key, outside the reserved domains")
    value: LabelValue = Field(default="", description="value; may be empty")
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] = Field(
        description="effect on pods that do not tolerate it; NoExecute also ends running ones (not with Karpenter)"
    )

    def node_taint(self) -> NodeTaint:
        """The Kubernetes taint."""
        return NodeTaint(self.key, self.value, self.effect)


def _listed(value: object) -> object:
    return [value] if isinstance(value, int) and not isinstance(value, bool) else value


def _listed_text(value: object) -> object:
    return [value] if isinstance(value, str) else value


Zones = Annotated[
    tuple[StrictStr, ...], BeforeValidator(_zones, json_schema_input_type=Literal["none"] | tuple[str, ...])
]
# Kubernetes keeps one taint per key and effect.
Taints = Annotated[
    tuple[TaintSetting, ...],
    once(
        "the taint {0.key}:{0.effect} is listed twice",
        "Remove one of the two",
        lambda taint: (taint.key, taint.effect),
    ),
]
Sizes = Annotated[tuple[StrictInt, ...], BeforeValidator(_listed, json_schema_input_type=int | tuple[int, ...])]
MachineTypes = Annotated[
    tuple[StrictStr, ...], BeforeValidator(_listed_text, json_schema_input_type=str | tuple[str, ...])
]
Minutes = Annotated[StrictInt, Field(ge=1, le=1440)]
_Finite = Annotated[StrictFloat, AllowInfNan(False)]
Usd = Annotated[_Finite | StrictInt, Field(ge=0)]
Ceiling = Annotated[_Finite | StrictInt, Field(gt=0)]
Flag = Annotated[bool, Strict()]
