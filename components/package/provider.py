"""The provider that the engine starts for programs in other languages: it declares ``GpuCluster`` from its inputs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pulumi
from pulumi.errors import InputPropertiesError
from pulumi.provider import ConstructResult, Provider

from components.gpu_cluster import GpuCluster, GpuClusterArgs
from components.gpu_pools import not_plain
from components.package.schema import GPU_CLUSTER, package_schema
from components.settings import Problem, Settings, SettingsError, of_running_stack
from facts import catalog


class PackageProvider(Provider):
    """Constructs ``GpuCluster``. Problems of its inputs are reported all at once, each with the path of its key."""

    def __init__(self) -> None:
        schema = package_schema()
        super().__init__(schema["version"], json.dumps(schema))
        self._names = set[str]()

    def construct(
        self,
        name: str,
        resource_type: str,
        inputs: pulumi.Inputs,
        options: pulumi.ResourceOptions | None = None,
    ) -> ConstructResult:
        """Declare the component. Raises InputPropertiesError with all problems."""
        if resource_type != GPU_CLUSTER:
            raise ValueError(f"{resource_type} is not in this package, only {GPU_CLUSTER}")
        self._names.add(name)
        if len(self._names) > 1:
            names = ", ".join(sorted(self._names))
            raise InputPropertiesError(f"A stack has one GpuCluster, this one has {names}. Write a stack for each.", [])
        try:
            settings = settings_of(inputs)
        except SettingsError as error:
            raise InputPropertiesError(str(error), []) from None
        cluster = GpuCluster(name, GpuClusterArgs(settings=settings), options)
        return ConstructResult(cluster.urn, dict(cluster.outputs))


def settings_of(inputs: Mapping[str, Any]) -> Settings:
    """Settings of the component's inputs, with the stack's name and account. Raises SettingsError with all problems."""
    if problems := list(not_plain("", inputs)):
        raise SettingsError(problems, stack=pulumi.get_stack())
    if inputs.get("cloud") in catalog.OWN_MACHINES:
        problem = Problem("cloud", "only the program itself supports it", "Follow docs/own-machines.md")
        raise SettingsError([problem], stack=pulumi.get_stack())
    return of_running_stack(_integers(inputs))


def _integers(value: Any) -> Any:
    """The same value with whole numbers as ``int``: the engine sends every number as a floating-point number."""
    if isinstance(value, Mapping):
        return {key: _integers(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_integers(inner) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
