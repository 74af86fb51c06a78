"""Checks of all stack files without a cloud's machines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from pydantic.alias_generators import to_snake

from components.settings.fields.answers import Refused
from components.settings.fields.problems import Problem
from components.settings.sections.existing_cluster import ExistingStackFile
from components.settings.sections.own_machines import OwnStackFile
from facts.concepts.pool import ADMIN_POOL_NAME

_MADE_BY_CLOUD: Final = "a cloud makes it, own machines have none"
MADE_BY_CLOUDS: Final[tuple[Refused, ...]] = (
    Refused(
        keys=("workloads.registry",),
        message=_MADE_BY_CLOUD,
        remedy="Leave it out, and name a registry in the images of your jobs",
    ),
    Refused(
        keys=("workloads.pullFrom",),
        message=_MADE_BY_CLOUD,
        remedy="Leave it out, and name a registry in the images of your jobs; a pull secret gives access to it",
    ),
    Refused(
        keys=("workloads.checkpoints",),
        message=_MADE_BY_CLOUD,
        remedy="Leave it out; jobs can save to a volume, or to a bucket elsewhere with a key in a Kubernetes secret",
    ),
    Refused(
        keys=("workloads.sharedVolume",),
        message=_MADE_BY_CLOUD,
        remedy="Leave it out, and use an NFS server of your own: a PersistentVolume with nfs: {server, path}",
    ),
)
"""Workloads that a cloud makes, and own machines have nothing for."""


def of_clouds(file: OwnStackFile | ExistingStackFile, rows: Sequence[Refused]) -> Iterator[Problem]:
    """What the section ``workloads``, which a cloud's stack has too, does not have without a cloud."""
    for row in rows:
        for key in row.keys:
            section, _, name = key.rpartition(".")
            if section == "workloads" and to_snake(name) in file.workloads.model_fields_set:
                yield Problem(key, row.message, row.remedy)


def names_apart(file: OwnStackFile | ExistingStackFile) -> Iterator[Problem]:
    """No two pools have one name."""
    owners = {ADMIN_POOL_NAME: "adminPool"}
    names = [(f"gpuPools[{i}]", f"{pool.name}-{pool.gpus_per_node}") for i, pool in enumerate(file.gpu_pools)]
    names += [(f"cpuPools[{i}]", pool.name) for i, pool in enumerate(file.cpu_pools)]
    for path, name in names:
        if name in owners:
            message = f"two pools would be named '{name}': this one and {owners[name]}"
            yield Problem(f"{path}.name", message, "Choose another name: each resulting pool needs a unique name")
        owners.setdefault(name, path)
