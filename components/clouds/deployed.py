"""What the stack's last update deployed: of rights to keys, of which an update takes none away.

What a key has encrypted stays under it when the stack file names another key: objects of a bucket, volumes, Secrets.
So a right to a key stays as long as the stack: the program declares each again that is deployed. The first one has the
purpose as its name; a further one has its key in the name, in Pulumi and in the cloud. With a new name in Pulumi alone
two resources would be one thing in the cloud, which Pulumi would create and then delete.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

import grpc
import pulumi
from google.protobuf import struct_pb2
from pulumi.runtime import rpc, settings
from pulumi.runtime.proto import resource_pb2

_RESOURCES: Final = "pulumi:pulumi:readStackResourceOutputs"
# A state in a folder has a second file, which is empty for a moment each time that the engine writes the state:
# https://github.com/google/go-cloud/blob/v0.37.0/blob/fileblob/attrs.go
_BEING_WRITTEN: Final = "failed to load checkpoint: EOF"
_TRIES: Final = 10
_PAUSE_SECONDS: Final = 0.1
_DIGITS: Final = 8
_FURTHER: Final = re.compile(rf"(?:-[0-9a-f]{{{_DIGITS}}})?")


@dataclass(frozen=True, kw_only=True)
class KeyRight:
    """A right to the key ``key``: ``suffix`` ends its name, and ``options`` are those of its resource."""

    key: str
    suffix: str
    options: pulumi.ResourceOptions


class Deployed:
    """The resources in the stack's state, as the last update left them; none before the first one.

    The engine answers this function about any stack, also about the one that it updates
    (https://github.com/pulumi/pulumi/blob/v3.259.0/pkg/resource/deploy/builtins.go). It is called past the SDK's
    ``invoke``, which would decode every output of every resource: 2 s for a thousand of them. Keys are compared
    without regard to case where the cloud's ids are ``caseless``.

    Raises:
        pulumi.RunError: the engine does not answer it.
    """

    def __init__(self, *, caseless: bool = False) -> None:
        self._caseless = caseless
        arguments = struct_pb2.Struct()
        arguments["stackName"] = _stack_name()
        request = resource_pb2.ResourceInvokeRequest(tok=_RESOURCES, args=arguments)
        self._resources: Mapping[str, Any] = getattr(_answer(request), "return")["outputs"].fields

    def outputs(self, token: str, name: str) -> Mapping[str, Any]:
        """The outputs of the resource called ``name``; empty if there is none."""
        return self.beginning(token, name).get("", {})

    def names(self, token: str, parent: str = "") -> frozenset[str]:
        """The names of the resources of a type, with ``parent`` of those in a component of that type."""
        chain = f"{parent}${token}" if parent else token
        urns = (urn.split("::", 3)[2:] for urn in self._resources)
        return frozenset(name for types, name in urns if types.endswith(chain) and types.split("$")[-1] == token)

    def beginning(self, token: str, start: str) -> Mapping[str, Mapping[str, Any]]:
        """The outputs of the resources whose names begin with ``start``, by the rest of their names."""
        return {name.removeprefix(start): outputs for name, outputs in self._of(token, start)}

    def of_type(self, token: str) -> Mapping[str, Mapping[str, Any]]:
        """The outputs of the resources of a type, by their URNs."""
        return {
            urn: _outputs(each)
            for urn, each in self._resources.items()
            if each.struct_value.fields["type"].string_value == token
        }

    def inside(self, component: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Name and outputs of each resource in components of that type, at any depth."""
        for urn, resource in self._resources.items():
            types, name = urn.split("::", 3)[2:]
            if component in types.split("$")[:-1]:
                yield name, _outputs(resource)

    def ends(self, token: str, start: str, output: str) -> Mapping[str, str]:
        """Of the resources whose names begin with ``start``: the rest of the name → the value of ``output``."""
        return {
            name: str(outputs[output]) for name, outputs in self.beginning(token, start).items() if output in outputs
        }

    def key_rights(self, token: str, name: str, input: str, current: str | None) -> list[KeyRight]:
        """The right to the ``current`` key, and every deployed one called ``name`` or ``name-<digits of its key>``;
        ``input`` is its input with the key.

        A deployed right stays as it was made: how its key is written is not compared.
        """
        deployed = {end: key for end, key in self.ends(token, name, input).items() if _FURTHER.fullmatch(end)}
        as_made = pulumi.ResourceOptions(ignore_changes=[input])
        rights = [KeyRight(key=key, suffix=suffix, options=as_made) for suffix, key in deployed.items()]
        if current is not None and self._known_by(current) not in map(self._known_by, deployed.values()):
            digest = hashlib.sha256(self._known_by(current).encode()).hexdigest()
            suffix = f"-{digest[:_DIGITS]}" if "" in deployed else ""
            rights.append(KeyRight(key=current, suffix=suffix, options=pulumi.ResourceOptions()))
        return rights

    def _known_by(self, key: str) -> str:
        return key.lower() if self._caseless else key

    def _of(self, token: str, start: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Name and outputs of each resource of a type whose name begins with ``start``."""
        for urn, resource in self._resources.items():
            name, fields = urn.rpartition("::")[2], resource.struct_value.fields
            if name.startswith(start) and fields["type"].string_value == token:
                yield name, _outputs(resource)


def _outputs(resource: Any) -> Mapping[str, Any]:
    outputs: Mapping[str, Any] = rpc.deserialize_properties(resource.struct_value.fields["outputs"].struct_value)
    return outputs


def _answer(request: resource_pb2.ResourceInvokeRequest) -> resource_pb2.ResourceInvokeResponse:
    """The engine's answer, asked again while the engine writes what it reads."""
    monitor: Any = settings.get_monitor()
    for again in range(_TRIES - 1, -1, -1):
        try:
            return cast("resource_pb2.ResourceInvokeResponse", monitor.Invoke(request))
        except grpc.RpcError as error:
            if not again or _BEING_WRITTEN not in str(error):
                raise pulumi.RunError(f"the state of the stack cannot be read: {error}") from error
        time.sleep(_PAUSE_SECONDS)
    raise AssertionError


def _stack_name() -> str:
    """The stack as its backend finds it: one that Pulumi does not host has no organizations, and an old one of those
    no projects (https://www.pulumi.com/docs/iac/concepts/state-and-backends/#using-a-diy-backend)."""
    organization, stack = pulumi.get_organization(), pulumi.get_stack()
    return stack if organization == "organization" else f"{organization}/{pulumi.get_project()}/{stack}"
