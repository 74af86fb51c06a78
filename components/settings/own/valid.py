"""The checks that all stack files without a cloud's machines have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from pydantic import ValidationError

from components.settings.fields import ValidationContext
from components.settings.limits.keys import without_refused
from components.settings.own.existing_sections import ExistingStackFile
from components.settings.own.sections import OwnStackFile
from components.settings.problems import Problem, invalid
from facts import catalog
from facts.concepts.pool import ADMIN_POOL_NAME

File = TypeVar("File", OwnStackFile, ExistingStackFile)


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
