"""Custom resources registered by type token and property name, as the providers' schemas spell them.

The SDK's classes are not used: the first one from ``pulumi_gcp.container`` or ``.compute`` executes 200,000 lines of
generated declarations, about 3 s of CPU in every preview (docs/adr/0002-resources-by-token.md). Instead of
the classes, ``tests/components/test_provider_schema.py`` checks every property, at any depth, against the SDK.
"""

from __future__ import annotations

import functools
import hashlib
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, NewType, cast

import pulumi
import yaml
from typing_extensions import TypeVar

from facts.catalog.pins import OCI, pinned, pinned_chart
from facts.catalog.plugins import plugin_version

Inputs = Mapping[str, Any]
"""Property name (camelCase, as in the provider's schema) to value or ``Output``."""

ObjectToken = NewType("ObjectToken", str)
"""The type token of an object inside a cluster."""

Outputs = TypeVar("Outputs", bound=Mapping[str, Any], default=Mapping[str, Any], covariant=True)
"""Output property → its ``Output``: a ``TypedDict`` of the cloud's schema, or any."""

# The provider's default is 10 minutes per object (https://github.com/pulumi/pulumi-kubernetes/pull/802); draining and
# deleting a node may take longer.
_CLOUD_RESOURCES_GO = "60m"
# libyaml's, where PyYAML was built with it: it takes 1 ms for what the other takes 30.
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_HELM_RELEASE = ObjectToken("kubernetes:helm.sh/v3:Release")
_NAMESPACE_PATCH = ObjectToken("kubernetes:core/v1:NamespacePatch")


@dataclass(frozen=True, kw_only=True)
class Chart:
    """A chart's repository, name and version: ``repository`` is an address (``https://`` or ``oci://``).

    Its pods have ``install_seconds`` to become ready.
    """

    repository: str
    name: str
    version: str
    namespace: str
    install_seconds: int = 900

    @property
    def where(self) -> dict[str, Any]:
        """The release's inputs, except its values."""
        registry = self.repository.startswith(OCI)
        return {
            "chart": f"{self.repository}/{self.name}" if registry else self.name,
            **({} if registry else {"repositoryOpts": {"repo": self.repository}}),
            "version": self.version,
            "name": self.name,
            "namespace": self.namespace,
            "timeout": self.install_seconds,
        }


class CustomResource(pulumi.CustomResource, Generic[Outputs]):
    """One resource of a provider plugin; ``outputs`` names the properties to read back besides the inputs.

    The plugin's version is that of the SDK in ``requirements.txt``, through ``make schemas``.

    A type checker accepts only objects inside a cluster: a cloud's resources use that cloud's ``declare``
    (``components/clouds``), which checks the inputs of each resource type.
    """

    def __init__(
        self,
        token: ObjectToken,
        name: str,
        inputs: Inputs,
        opts: pulumi.ResourceOptions,
        *,
        outputs: Sequence[str] = (),
    ) -> None:
        plugin = pulumi.ResourceOptions(version=plugin_version(token.partition(":")[0]))
        properties = {**dict.fromkeys(outputs), **inputs}
        super().__init__(token, name, properties, pulumi.ResourceOptions.merge(plugin, opts))

    @property
    def outputs(self) -> Outputs:
        """Its output properties: the inputs, and those that were named as ``outputs``."""
        return cast("Outputs", vars(self))


class KubernetesProvider(pulumi.ProviderResource):
    """The explicit provider of the objects inside one cluster; ``kubeconfig`` is secret.

    ``identity`` tells the cluster from others: the CA of its control plane, or, where somebody else may renew that, its
    name. Without an identifier the provider treats a new address as a new cluster, and replaces every object:
    https://github.com/pulumi/pulumi-kubernetes/blob/master/provider/pkg/provider/provider.go (``DiffConfig``)
    ConfigMaps change in place, so that the pools of a protected stack, which allows no replacement, can change:
    https://www.pulumi.com/registry/packages/kubernetes/api-docs/provider/#enableconfigmapmutable_python
    """

    def __init__(
        self, name: str, kubeconfig: pulumi.Output[str], identity: pulumi.Output[str], opts: pulumi.ResourceOptions
    ) -> None:
        plugin = pulumi.ResourceOptions(version=plugin_version("kubernetes"))
        inputs = {
            "kubeconfig": kubeconfig,
            "clusterIdentifier": identity.apply(identifier),
            "enableConfigMapMutable": "true",
        }
        super().__init__("kubernetes", name, inputs, pulumi.ResourceOptions.merge(plugin, opts))


def identifier(identity: str) -> str:
    """The provider's ``clusterIdentifier``."""
    return hashlib.sha256(identity.encode()).hexdigest()


@dataclass(frozen=True, kw_only=True)
class ClusterObjects:
    """Declares objects inside one cluster through its ``provider``; ``cluster`` is the cluster's own resource, ``None``
    for a cluster that outlives the stack. ``declared``: name of the resource → manifest, of all so far."""

    provider: pulumi.ProviderResource
    cluster: pulumi.Resource | None
    declared: dict[str, Inputs] = field(default_factory=dict)

    def declare(
        self,
        name: str,
        manifest: Inputs,
        parent: pulumi.Resource,
        *after: pulumi.Resource,
        owns_cloud_resources: bool = False,
        retained: bool = False,
        as_made: Sequence[str] = (),
        renamed_from: str | None = None,
    ) -> CustomResource:
        """An object from its manifest; changes of the properties ``as_made`` (paths) are ignored after its creation.
        ``renamed_from`` is the resource's name in earlier versions of the program.

        It is deleted with the cluster, without a call to its API server, unless it ``owns_cloud_resources`` (nodes,
        load balancers, volumes) that would be left behind. A ``retained`` object remains in the cluster when it is no
        longer declared.
        """
        options = self._options(parent, after, owns_cloud_resources, retained)
        options.ignore_changes = list(as_made)
        manifest = pinned(manifest)
        self.declared[name] = manifest
        options.aliases = [] if renamed_from is None else [pulumi.Alias(name=renamed_from)]
        return CustomResource(object_token(manifest), name, manifest, options)

    def namespace(
        self,
        namespace: str,
        parent: pulumi.Resource,
        *,
        name: str | None = None,
        retained: bool = False,
        labels: Mapping[str, str] | None = None,
        existing: bool = False,
    ) -> CustomResource:
        """A namespace; the resource is called ``namespace-<namespace>`` unless it has another ``name``.

        An ``existing`` one is patched. In a cluster that outlives the stack a ``retained`` one may be there already,
        from somebody else or from before: it is patched too, which creates it if it is not there
        (https://www.pulumi.com/registry/packages/kubernetes/how-to-guides/managing-resources-with-server-side-apply/).
        """
        metadata = {"name": namespace, **({"labels": dict(labels)} if labels else {})}
        manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
        resource_name = name or f"namespace-{namespace}"
        if existing or (retained and self.cluster is None):
            options = self._options(parent, (), False, retained)
            return CustomResource(_NAMESPACE_PATCH, resource_name, manifest, options)
        return self.declare(resource_name, manifest, parent, retained=retained)

    def helm_release(
        self, name: str, inputs: Inputs, parent: pulumi.Resource, *after: pulumi.Resource
    ) -> CustomResource:
        """A Helm chart, installed by the provider.

        https://www.pulumi.com/registry/packages/kubernetes/api-docs/helm/v3/release/
        """
        chart = pinned_chart(inputs["chart"], inputs["version"])
        inputs = {**inputs, "chart": chart, **({"values": pinned(inputs["values"])} if "values" in inputs else {})}
        return CustomResource(_HELM_RELEASE, name, inputs, self._options(parent, after, False))

    def _options(
        self,
        parent: pulumi.Resource,
        after: Sequence[pulumi.Resource],
        owns_cloud_resources: bool,
        retained: bool = False,
    ) -> pulumi.ResourceOptions:
        return pulumi.ResourceOptions(
            parent=parent,
            provider=self.provider,
            deleted_with=None if owns_cloud_resources else self.cluster,
            custom_timeouts=pulumi.CustomTimeouts(delete=_CLOUD_RESOURCES_GO) if owns_cloud_resources else None,
            depends_on=list(after),
            retain_on_delete=retained or None,
        )


def object_token(manifest: Inputs) -> ObjectToken:
    """The type token of an object inside a cluster, from its ``apiVersion`` and ``kind``."""
    api_version = manifest["apiVersion"]
    group_version = api_version if "/" in api_version else f"core/{api_version}"
    return ObjectToken(f"kubernetes:{group_version}:{manifest['kind']}")


def documents(file: Path, /, **values: object) -> list[Any]:
    """The YAML documents of a file. ``${name}`` in a text stands for the text ``name`` of ``values``; a text that is
    nothing else stands for the value itself, of any type."""
    return [_filled(each, values) for each in _parsed(file)]


@functools.cache
def _parsed(file: Path) -> list[Any]:
    """A file of the program, which only ``_filled`` sees: it makes mappings and lists of its own."""
    return list(yaml.load_all(file.read_text(encoding="utf-8"), _LOADER))


def _filled(part: Any, values: Mapping[str, object]) -> Any:
    if isinstance(part, dict):
        return {_filled(key, values): _filled(value, values) for key, value in part.items()}
    if isinstance(part, list):
        return [_filled(each, values) for each in part]
    if not isinstance(part, str) or "${" not in part:
        return part
    name = part[2:-1]
    whole = part == f"${{{name}}}" and "${" not in name
    return values[name] if whole else string.Template(part).substitute(values)
