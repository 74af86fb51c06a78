"""How own machines and nodes are declared: resources of the provider plugin in ``packages/machines``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Protocol, cast

import pulumi

from components.resources import CustomResource, Inputs
from facts.catalog import OWN_MACHINES

(PLUGIN,) = {*OWN_MACHINES.values()}


class _Declare(Protocol):
    def __call__(
        self,
        token: str,
        name: str,
        inputs: Inputs,
        opts: pulumi.ResourceOptions,
        *,
        outputs: Sequence[str] = (),
    ) -> CustomResource: ...


declare: Final = cast(_Declare, CustomResource)


class MachinesProvider(pulumi.ProviderResource):
    """How the plugin logs in to machines or to a cluster: ``inputs`` are ``user``, ``port``, ``jumpHost``,
    ``skipUnreachable`` and the secret ``privateKey`` (without it: the SSH agent); or ``context`` and the secret
    ``kubeconfig``."""

    def __init__(self, name: str, inputs: dict[str, Any], opts: pulumi.ResourceOptions) -> None:
        super().__init__(PLUGIN, name, inputs, opts)
