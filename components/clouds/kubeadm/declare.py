"""How machines are declared: resources of the provider plugin in ``packages/machines``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Protocol, cast

import pulumi

from components.resources import CustomResource, Inputs
from facts.catalog import OWN_MACHINES

PLUGIN: Final = OWN_MACHINES["kubeadm"]


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
    """How the plugin logs in to the machines: ``inputs`` are ``user``, ``port``, ``jumpHost``, ``skipUnreachable`` and
    the secret ``privateKey`` (without it: the SSH agent)."""

    def __init__(self, name: str, inputs: dict[str, Any], opts: pulumi.ResourceOptions) -> None:
        super().__init__(PLUGIN, name, inputs, opts)
