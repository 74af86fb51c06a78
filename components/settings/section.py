"""What every part of a stack file has in common: camelCase keys, nothing unknown, nothing coerced, frozen."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, Strict, StrictInt, StrictStr
from pydantic.alias_generators import to_camel

from components.settings import syntax
from policies.rules.model import Taint as NodeTaint


class Section(BaseModel):
    """A mapping in the stack file."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, validate_by_alias=True)


Capacity = Literal["spot", "on-demand", "spot-with-fallback"]

PoolName = Annotated[StrictStr, AfterValidator(syntax.rfc1035)]
NodeLabels = dict[
    Annotated[StrictStr, AfterValidator(syntax.label_key)], Annotated[StrictStr, AfterValidator(syntax.label_value)]
]
GpuNodeLabels = dict[
    Annotated[StrictStr, AfterValidator(syntax.gpu_label_key)], Annotated[StrictStr, AfterValidator(syntax.label_value)]
]
ResourceLabels = dict[
    Annotated[StrictStr, AfterValidator(syntax.resource_label_key)],
    Annotated[StrictStr, AfterValidator(syntax.resource_label_value)],
]
Cidr = Annotated[StrictStr, AfterValidator(syntax.cidr)]
DiskGb = Annotated[StrictInt, Field(ge=20, le=65536)]


class TaintSetting(Section):
    """A taint as a stack file writes it."""

    key: Annotated[StrictStr, AfterValidator(syntax.label_key)] = Field(description="outside the reserved domains")
    value: Annotated[StrictStr, AfterValidator(syntax.label_value)] = Field(default="", description="may be empty")
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] = Field(description="what happens to other pods")

    def node_taint(self) -> NodeTaint:
        """The same in Kubernetes' words."""
        return NodeTaint(self.key, self.value, self.effect)


def distinct_taints(taints: tuple[TaintSetting, ...]) -> tuple[TaintSetting, ...]:
    """Kubernetes keeps one taint per key and effect."""
    seen: set[tuple[str, str]] = set()
    for taint in taints:
        if (taint.key, taint.effect) in seen:
            raise syntax.wrong(f"the taint {taint.key}:{taint.effect} is there twice", "Remove one of the two")
        seen.add((taint.key, taint.effect))
    return taints


def _listed(value: object) -> object:
    return [value] if isinstance(value, int) and not isinstance(value, bool) else value


def _listed_text(value: object) -> object:
    return [value] if isinstance(value, str) else value


Taints = Annotated[tuple[TaintSetting, ...], AfterValidator(distinct_taints)]
Sizes = Annotated[tuple[StrictInt, ...], BeforeValidator(_listed)]
MachineTypes = Annotated[tuple[StrictStr, ...], BeforeValidator(_listed_text)]
Minutes = Annotated[StrictInt, Field(ge=1, le=1440)]
Flag = Annotated[bool, Strict()]
