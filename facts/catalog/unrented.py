"""What the components ask of any cloud, where nothing is rented: no account, no region, no machine types, no prices."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from facts.catalog.account import CloudAccount, CredentialPlugin
from facts.catalog.choices import Choices
from facts.catalog.cloud import CloudCatalog
from facts.catalog.labels import Labels
from facts.catalog.machines import Machines
from facts.catalog.model import Machine, Price, Resources
from facts.catalog.nodes import CloudNodes
from facts.catalog.prices import Prices
from facts.catalog.raw import Raw, RawInputs
from facts.catalog.tags import RegistryName

_NOTHING: Final = Price(usd=0.0, dated="", source="")


def unrented(
    name: str, *, channels: tuple[str, ...], default_ranges: Mapping[str, str | None], pod_addresses: int
) -> CloudCatalog:
    """The catalogue of ``name``, with what it has of its own."""
    return CloudCatalog(
        name=name,
        account=CloudAccount(
            key="",
            example="",
            form=re.compile(""),
            credential_plugin=CredentialPlugin(command=""),
            people=("user:ann", "group:research"),
            registry_name=RegistryName(instead="write a registry's address in the images of your jobs"),
            quotas=lambda *_: (),
            quota_page="",
        ),
        machines=Machines(cloud=name),
        prices=Prices(cloud=name, control_plane=_NOTHING, nat=lambda *_: _NOTHING),
        nodes=CloudNodes(
            cloud=name,
            images=("ubuntu",),
            allocatable=_allocatable,
            pod_addresses=pod_addresses,
            spot_notice_seconds=0,
        ),
        labels=Labels(cloud=name),
        choices=Choices(
            cloud=name,
            autoscalers=("none",),
            channels=channels,
            default_ranges=default_ranges,
            reserved_addresses=0,
            max_name_length=63,
            raw=RawInputs(cluster=Raw(token="", owned={}), pool=Raw(token="", owned={})),
        ),
    )


def _allocatable(machine: Machine) -> Resources:
    raise LookupError(f"{machine.type}: own machines have no types")
