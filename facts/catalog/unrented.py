"""What the components ask of any cloud, where nothing is rented: no account, no region, no machine types, no prices."""

from __future__ import annotations

import re
from typing import Any, Final

from facts.catalog.cloud import CloudCatalog, CredentialPlugin
from facts.catalog.machines import Machines
from facts.catalog.model import Machine, Price, Resources
from facts.catalog.prices import Prices
from facts.catalog.raw import Raw, RawInputs
from facts.catalog.tags import RegistryName

_NOTHING: Final = Price(usd=0.0, dated="", source="")


def unrented(name: str, **facts: Any) -> CloudCatalog:
    """The catalogue of ``name``, with the ``facts`` of ``CloudCatalog`` that it has of its own."""
    return CloudCatalog(
        name=name,
        account_key="",
        account_example="",
        account_form=re.compile(""),
        credential_plugin=CredentialPlugin(command=""),
        images=("ubuntu",),
        autoscalers=("none",),
        people=("user:ann", "group:research"),
        default_admin_machine="",
        default_cpu_machine="",
        registry_name=RegistryName(instead="write a registry's address in the images of your jobs"),
        raw=RawInputs(cluster=Raw(token="", owned={}), pool=Raw(token="", owned={})),
        max_name_length=63,
        reserved_addresses=0,
        reference_region="",
        machines=Machines(cloud=name),
        prices=Prices(cloud=name, control_plane=_NOTHING, nat=lambda *_: _NOTHING),
        allocatable=_allocatable,
        system_pods=(),
        quotas=lambda *_: (),
        quota_page="",
        spot_notice_seconds=0,
        **facts,
    )


def _allocatable(machine: Machine) -> Resources:
    raise LookupError(f"{machine.type}: own machines have no types")
