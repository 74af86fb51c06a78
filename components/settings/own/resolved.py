"""What a stack file without a cloud's machines becomes, and the checks that all such files have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import ValidationError

from components.settings.fields import ValidationContext
from components.settings.limits.keys import without_refused
from components.settings.own.existing_sections import ExistingStackFile
from components.settings.own.sections import MachineSetting, OwnStackFile
from components.settings.problems import Problem, invalid
from facts import catalog
from facts.concepts.pool import ADMIN_POOL_NAME, Pool

File = TypeVar("File", OwnStackFile, ExistingStackFile)


@dataclass(frozen=True, kw_only=True)
class OwnMachines:
    """The machines of a stack: the ``file`` says how they are reached and equipped, ``machines`` are by their pool's
    name.

    ``driver`` is the branch of NVIDIA's driver by pool; pools whose machines have one already are not in it.
    ``kernel_modules`` are its kernel modules, ``open`` or ``proprietary``, by pool; else the GPUs decide.
    """

    file: OwnStackFile
    machines: Mapping[str, tuple[MachineSetting, ...]]
    driver: Mapping[str, str]
    kernel_modules: Mapping[str, str]

    @property
    def control_planes(self) -> tuple[MachineSetting, ...]:
        """The machines with a control plane, the one of ``kubeadm init`` first."""
        return self.machines[ADMIN_POOL_NAME]


@dataclass(frozen=True, kw_only=True)
class ExistingNodes:
    """The nodes of a cluster that somebody else made.

    By the name of their pool: ``machines`` (names) or ``selectors`` (labels). A pool in neither is scaled by somebody
    else. ``context`` is that of the kubeconfig, ``None`` its current one.
    """

    context: str | None
    machines: Mapping[str, tuple[str, ...]]
    selectors: Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, kw_only=True)
class Resolved:
    """A valid file with its pools. ``version`` of Kubernetes: ``None`` if the cluster has one already. ``network``: the
    keys of that section of a cloud's stack file."""

    file: OwnStackFile | ExistingStackFile
    version: str | None
    network: Mapping[str, Any]
    admin_pool: Pool
    gpu_pools: tuple[Pool, ...]
    cpu_pools: tuple[Pool, ...]
    own: OwnMachines | ExistingNodes


def valid(
    raw: Mapping[str, Any], model: type[File], *checks: Callable[[File], Iterator[Problem]]
) -> File | list[Problem]:
    """The file's sections, or all its problems; ``checks`` find those of several keys together."""
    cloud = str(raw["cloud"])
    cleaned, problems = without_refused(_own_keys(raw))
    try:
        file = model.model_validate(cleaned, context=ValidationContext(cloud, catalog.of(cloud), None, ()))
    except ValidationError as error:
        return [*problems, *invalid(error, model, cleaned)]
    problems += [problem for check in (_names_apart, *checks) for problem in check(file)]
    return problems or file


def _own_keys(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Without the secret, and without the value that Pulumi.yaml gives every stack."""
    secret = catalog.OWN_SECRETS[str(raw["cloud"])]
    return {key: value for key, value in raw.items() if key != secret and (key, value) != ("availability", "zonal")}


def _names_apart(file: OwnStackFile | ExistingStackFile) -> Iterator[Problem]:
    """No two pools have one name."""
    owners = {ADMIN_POOL_NAME: "adminPool"}
    names = [(f"gpuPools[{i}]", f"{pool.name}-{pool.gpus_per_node}") for i, pool in enumerate(file.gpu_pools)]
    names += [(f"cpuPools[{i}]", pool.name) for i, pool in enumerate(file.cpu_pools)]
    for path, name in names:
        if name in owners:
            message = f"two pools would be named '{name}': this one and {owners[name]}"
            yield Problem(f"{path}.name", message, "Choose another name: each resulting pool needs a unique name")
        owners.setdefault(name, path)
