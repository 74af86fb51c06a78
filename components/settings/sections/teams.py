"""``teams``: namespaces with a GPU quota."""

from __future__ import annotations

import re
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field, StrictInt, StrictStr

from components.settings.fields.namespaces import Namespace, own_namespace
from components.settings.fields.types import Section, matching, once, wrong
from facts.concepts.kubernetes import DEFAULT_NAMESPACE, quantity

Priority = Literal["low", "normal", "high"]

# https://docs.nvidia.com/datacenter/tesla/mig-user-guide/#supported-mig-profiles, as the device plugin's resources end:
# https://github.com/NVIDIA/k8s-device-plugin#configuration-option-details
_SLICE: Final = re.compile(r"[1-9]g\.\d{1,3}gb(\.[a-z.]+)?")
_LEAST_MEMORY: Final = 2**20
"""Bytes; less is a number without its unit."""


def _name(name: str) -> str:
    if name == DEFAULT_NAMESPACE:
        raise wrong(
            f"the namespace '{name}' is shared by everyone", "Write a namespace of the team's own, such as 'research'"
        )
    return own_namespace(name)


def _memory(text: str) -> str:
    try:
        amount = quantity(text)
    except (ValueError, ArithmeticError):
        amount = quantity("0")
    number = re.match(r"\d+(\.\d+)?", text)
    remedy = f"Write {number[0]}Gi, or another unit" if number else "Write for example 512Gi"
    if amount <= 0:
        raise wrong(f"'{text}' is not an amount of memory", remedy)
    if amount < _LEAST_MEMORY:
        raise wrong(f"'{text}' is {amount.normalize():f} bytes, with which no pod starts", remedy)
    return text


Slices = dict[
    Annotated[StrictStr, matching(_SLICE, "is not a MIG profile", "Write for example 1g.10gb")],
    Annotated[StrictInt, Field(ge=0)],
]


class Team(Section):
    """A namespace with a resource quota. Its members are developers of the namespace in `access`."""

    name: Annotated[StrictStr, AfterValidator(_name)] = Field(
        description="namespace of the team. It is created if missing. When the team is removed it stays, with its "
        "quotas and queue"
    )
    gpus: Annotated[StrictInt, Field(ge=0)] = Field(
        description="maximum GPUs that its pods may request at once (of shared or partitioned GPUs: shares or slices)"
    )
    mig_slices: Slices = Field(
        default_factory=dict,
        description="maximum slices of each MIG profile, such as `{1g.10gb: 4}`, if your own device plugin advertises "
        "profiles by name",
    )
    cpus: Annotated[StrictInt, Field(ge=1)] | None = Field(
        default=None, description="maximum CPUs. A pod without a request counts as 100m. Default: no limit"
    )
    memory: Annotated[StrictStr, AfterValidator(_memory)] | None = Field(
        default=None,
        description="maximum memory, such as `512Gi`. A pod without a request counts as 256Mi. Default: no limit",
    )
    priority: Priority = Field(
        default="normal",
        description="highest priority of its pods. Pods with `priorityClassName: gpucluster-high` get the next free "
        "node first, pods with `gpucluster-low` (required in a low team) last. None of these preempts a running pod",
    )


PoolTeams = Annotated[
    tuple[Namespace, ...], once("the team '{0}' is listed twice", "Write each team once, such as [research, vision]")
]
POOL_TEAMS: Final = (
    "teams whose pods alone may use the pool. It gets a label and a taint `gpucluster.dev/teams`, and admission "
    "refuses pods of other namespaces that tolerate it. Default: all namespaces"
)

Teams = Annotated[
    tuple[Team, ...],
    once("the team '{0.name}' is listed twice", "Write each team once, with its whole quota", lambda team: team.name),
]
