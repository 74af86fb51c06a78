"""The provider that the engine starts for programs in other languages: it declares a component from its inputs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import pulumi
from pulumi.errors import InputPropertiesError
from pulumi.provider import ConstructResult, Provider

from components.gpu_cluster import GpuCluster, GpuClusterArgs
from components.gpu_pools import GpuPools, GpuPoolsArgs, not_plain, share_joined
from components.package.schema import GPU_CLUSTER, GPU_POOLS, package_schema
from components.settings import Problem, Settings, SettingsError, of_running_stack
from components.settings.limits import joining
from facts import catalog

_OTHERS: Final = Problem(
    joining.KEY, "GpuCluster makes a cluster of its own", "Declare GpuPools for pools on a cluster that is there"
)


class PackageProvider(Provider):
    """Constructs ``GpuCluster`` and ``GpuPools``. Problems of their inputs are reported all at once, each with the path
    of its key."""

    def __init__(self) -> None:
        schema = package_schema()
        super().__init__(schema["version"], json.dumps(schema))
        self._names = set[str]()
        self._joined = dict[tuple[str, str], str]()

    def construct(
        self,
        name: str,
        resource_type: str,
        inputs: pulumi.Inputs,
        options: pulumi.ResourceOptions | None = None,
    ) -> ConstructResult:
        """Declare the component. Raises InputPropertiesError with all problems."""
        declare = {GPU_CLUSTER: self._cluster, GPU_POOLS: self._pools}.get(resource_type)
        if declare is None:
            raise ValueError(f"{resource_type} is not in this package, only {GPU_CLUSTER} and {GPU_POOLS}")
        try:
            component = declare(name, inputs, options)
        except (SettingsError, pulumi.RunError) as error:
            raise InputPropertiesError(str(error), []) from None
        return ConstructResult(component.urn, dict(component.outputs))

    def _cluster(self, name: str, inputs: pulumi.Inputs, options: pulumi.ResourceOptions | None) -> GpuCluster:
        self._names.add(name)
        if len(self._names) > 1:
            names = ", ".join(sorted(self._names))
            raise pulumi.RunError(f"A stack has one GpuCluster, this one has {names}. Write a stack for each.")
        if inputs.get(joining.KEY):
            raise SettingsError([_OTHERS], stack=pulumi.get_stack())
        return GpuCluster(name, GpuClusterArgs(settings=settings_of(inputs)), options)

    def _pools(self, name: str, inputs: pulumi.Inputs, options: pulumi.ResourceOptions | None) -> GpuPools:
        share_joined(self._joined)
        return GpuPools(name, GpuPoolsArgs.of(_integers(inputs)), options)


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
