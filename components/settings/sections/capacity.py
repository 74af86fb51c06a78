"""``capacity``: a pool's capacity types in fallback order, and what each of them needs.

Each capacity type of an entry becomes a pool of its own (``expand``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Final, Literal, cast, get_args

from pydantic import BeforeValidator, Field, StrictInt, StrictStr, ValidationInfo, field_validator

from components.settings.fields import check
from components.settings.fields.problems import instead
from components.settings.fields.types import Section, ValidationContext, context, wrong
from components.settings.sections.maintenance import Date
from facts.concepts.parts import Block, CapacityType

CAPACITY_TYPES: Final[tuple[CapacityType, ...]] = get_args(CapacityType)
FALLBACK: Final = "spot-with-fallback"
"""Short for spot first, then on demand."""

DESCRIPTION: Final = (
    "capacity type, or a list in fallback order, which becomes a pool per type: {words}, where the cloud has it (see "
    "below). `spot-with-fallback` is short for `[spot, on-demand]`. Only pods that tolerate the cloud's spot taint, if "
    "it has one, run on spot nodes"
)

# Other names of a capacity type → its name here.
_ALSO_CALLED: Final[Mapping[str, CapacityType]] = {
    **dict.fromkeys(("flexstart", "flex", "dws", "dynamic-workload-scheduler"), "flex-start"),
    **dict.fromkeys(("block", "capacityblock", "capacity-blocks", "ml-capacity-block", "calendar"), "capacity-block"),
    **dict.fromkeys(("reservation", "odcr", "capacity-reservation"), "reserved"),
    **dict.fromkeys(("preemptible",), "spot"),
}


def _fallback_order(value: object) -> object:
    """One word, or a list of them, as a list of capacity types."""
    written = value if isinstance(value, list | tuple) else [value]
    words = [word for word in written if isinstance(word, str)]
    if len(words) < len(written):
        return value
    if not words:
        raise wrong("the list is empty", "Write for example spot, or [spot, on-demand]")
    for word in words:
        if word == FALLBACK and len(words) > 1:
            kept = ", ".join(dict.fromkeys(["spot", *(each for each in words if each != FALLBACK), "on-demand"]))
            raise wrong(f"'{FALLBACK}' cannot be part of a list", f"Write [{kept}]")
        if word not in (*CAPACITY_TYPES, FALLBACK):
            meant = _ALSO_CALLED.get(word.lower().replace("_", "-"))
            remedy = f"Write {meant}" if meant else instead(word, (*CAPACITY_TYPES, FALLBACK))
            raise wrong(f"'{word}' is not one of {', '.join((*CAPACITY_TYPES, FALLBACK))}", remedy)
    if len(set(words)) < len(words):
        raise wrong(f"a capacity type is listed twice: {', '.join(words)}", "Write each once")
    return ("spot", "on-demand") if words == [FALLBACK] else tuple(words)


FallbackOrder = Annotated[
    tuple[StrictStr, ...],
    BeforeValidator(
        _fallback_order, json_schema_input_type=CapacityType | Literal["spot-with-fallback"] | tuple[CapacityType, ...]
    ),
]


class Reservation(Section):
    """Reserved machines, billed whether they are used or not, so that they are part of the idle cost. With dates, the
    reservation is a capacity block."""

    name: StrictStr = Field(min_length=1, description="the cloud's name or ID of the reservation")
    zone: StrictStr | None = Field(default=None, description="zone of the reservation. Default: the pool's only zone")
    nodes: StrictInt | None = Field(default=None, ge=1, description="reserved machines, if fewer than `maxNodes`")
    first: Date | None = Field(default=None, description="first day of a capacity block, UTC, such as `'2027-03-01'`")
    last: Date | None = Field(default=None, validate_default=True, description="last day of a capacity block, UTC")

    @field_validator("zone")
    @classmethod
    def _zone(cls, value: str | None, info: ValidationInfo) -> str | None:
        where = context(info)
        if value is not None:
            check.zones_in_region((value,), where)
        return value

    @field_validator("last")
    @classmethod
    def _last(cls, value: str | None, info: ValidationInfo) -> str | None:
        first = info.data.get("first")
        if (value is None) != (first is None):
            raise wrong(
                "a capacity block has a first and a last day",
                f"Leave out {'first' if value is None else 'last'}, or write the other day, too",
            )
        if value is not None and first is not None and value < first:
            raise wrong(f"{value} is before {first}", "Write the first day first")
        return value

    @property
    def capacity_type(self) -> CapacityType:
        """The capacity type that uses it."""
        return "reserved" if self.block is None else "capacity-block"

    @property
    def block(self) -> Block | None:
        """The days of a capacity block; ``None`` for any other reservation."""
        return None if self.first is None or self.last is None else Block(first=self.first, last=self.last)


def _reservations(value: object) -> object:
    if value == "":
        raise wrong("is empty", "Write the reservation's name, or leave it out")
    each = value if isinstance(value, list | tuple) else [value]
    return [{"name": one} if isinstance(one, str) else one for one in each]


Reservations = Annotated[
    tuple[Reservation, ...],
    BeforeValidator(_reservations, json_schema_input_type=str | Reservation | tuple[str | Reservation, ...]),
]


class FlexStart(Section):
    """Flex-start (DWS): nodes start once capacity is available, and run for a limited time."""

    max_run_hours: StrictInt = Field(
        default=168, ge=1, le=168, description="hours after which the cloud reclaims a node, 1 to 168 (7 days)"
    )


def of_gpus(
    written: Sequence[str], reservations: Sequence[Reservation], flex: bool, where: ValidationContext
) -> tuple[CapacityType, ...]:
    """The capacity types of a GPU pool. With a reservation of machines, ``on-demand`` means ``reserved``."""
    capacity_types = cast(tuple[CapacityType, ...], tuple(written))
    if (
        capacity_types == ("on-demand",)
        and reservations
        and all(each.capacity_type == "reserved" for each in reservations)
    ):
        capacity_types = ("reserved",)
    for capacity_type in capacity_types:
        _supported_on(capacity_type, where)
    reserved = {each.capacity_type for each in reservations}
    if "capacity-block" in capacity_types and reserved == {"reserved"}:
        raise wrong("the reservation lacks the days of the capacity block", f"Write {_RESERVED['capacity-block']}")
    unused = next((each for each in reservations if each.capacity_type not in capacity_types), None)
    if unused is not None:
        types = list(dict.fromkeys(each.capacity_type for each in reservations))
        block = unused.capacity_type == "capacity-block"
        what = "a capacity block" if block else "reserved machines"
        word = "capacity-block" if block else "on-demand"
        raise wrong(
            f"capacity '{', '.join(written)}' cannot use the reservation, which is {what}",
            (f"Write capacity: {word}, or " if len(types) == 1 else "Write ")
            + f"capacity: [{', '.join([*types, 'spot'])}]"
            + ("" if _RESERVED.keys() & {*capacity_types} else ", or remove reservation"),
        )
    for capacity_type, example in _RESERVED.items():
        if capacity_type in capacity_types and capacity_type not in reserved:
            raise wrong(f"capacity '{capacity_type}' needs a reservation, and there is none", f"Write {example}")
    if flex and "flex-start" not in capacity_types:
        raise wrong(
            "flexStart has no effect without capacity flex-start", "Write capacity: flex-start, or remove flexStart"
        )
    return capacity_types


_RESERVED: Final[Mapping[CapacityType, str]] = {
    "reserved": "reservation: <its name or id>",
    "capacity-block": "reservation: {name: <its id>, first: '2027-03-01', last: '2027-03-08'}",
}


def of_cpus(written: Sequence[str]) -> tuple[CapacityType, ...]:
    """The capacity types of a pool without GPUs."""
    capacity_types = cast(tuple[CapacityType, ...], tuple(written))
    other = next(
        (capacity_type for capacity_type in capacity_types if capacity_type not in ("spot", "on-demand")), None
    )
    if other is not None:
        raise wrong(f"'{other}' is for GPU pools only", "Write spot, on-demand, or a list of both")
    return capacity_types


def _supported_on(capacity_type: CapacityType, where: ValidationContext) -> None:
    known = where.catalog
    if known is not None and capacity_type in known.choices.unsupported_capacity:
        has = [one for one in CAPACITY_TYPES if one not in known.choices.unsupported_capacity]
        why = known.choices.unsupported_capacity[capacity_type]
        raise wrong(
            f"{where.cloud} does not support capacity '{capacity_type}': {why}",
            f"Write one of {', '.join(has)}",
        )
