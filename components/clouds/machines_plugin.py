"""What own machines and existing clusters share: the provider plugin of ``packages/machines``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi

from components.clouds.deployed import Deployed
from components.resources import CustomResource, Inputs, ObjectToken
from facts.catalog import OWN_MACHINES

(PLUGIN,) = {*OWN_MACHINES.values()}


def declare(
    kind: str, name: str, inputs: Inputs, opts: pulumi.ResourceOptions, *, outputs: Sequence[str] = ()
) -> CustomResource:
    """A resource of the plugin, of the type ``kind``."""
    return CustomResource(_token(kind), name, inputs, opts, outputs=outputs)


def deployed_outputs(kind: str, deployed: Deployed) -> Mapping[str, Mapping[str, Any]]:
    """Of each resource of the plugin that the last update left, of the type ``kind``, by their URNs."""
    return deployed.of_type(_token(kind))


def _token(kind: str) -> ObjectToken:
    return ObjectToken(f"{PLUGIN}:index:{kind}")


class MachinesProvider(pulumi.ProviderResource):
    """How the plugin logs in to machines or to a cluster: ``inputs`` are ``user``, ``port``, ``jumpHost``,
    ``skipUnreachable``, ``controlPlanes`` if there are several, and the secret ``privateKey`` (without it: the SSH
    agent); or ``context`` and the secret ``kubeconfig``."""

    def __init__(self, name: str, inputs: dict[str, Any], opts: pulumi.ResourceOptions) -> None:
        super().__init__(PLUGIN, name, inputs, opts)
