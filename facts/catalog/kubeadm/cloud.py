"""Own machines in the catalogue: what the components ask of any cloud, where nothing is rented and nothing scales."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from facts.catalog.cloud import CloudCatalog, CredentialPlugin
from facts.catalog.kubeadm.packages import MINORS
from facts.catalog.machines import Machines
from facts.catalog.model import Machine, Price, Quota, Resources
from facts.catalog.prices import Prices, Source
from facts.catalog.raw import Raw, RawInputs
from facts.catalog.tags import RegistryName
from facts.concepts.pool import Pool

_NOTHING: Final = Source(url="", dated="")


def _allocatable(machine: Machine) -> Resources:
    raise LookupError(f"{machine.type}: own machines have no types")


def _quotas(region: str, pools: Sequence[Pool], gateways: int) -> tuple[Quota, ...]:
    return ()


def _nat(nodes: int, gateways: int) -> Price:
    return _NOTHING.price(0.0)


CATALOG: Final = CloudCatalog(
    name="kubeadm",
    account_key="",
    account_example="",
    credential_plugin=CredentialPlugin(command=""),
    images=("ubuntu",),
    autoscalers=("none",),
    people=("user:ann", "group:research"),
    channels=MINORS,
    default_admin_machine="",
    default_cpu_machine="",
    default_ranges={"node_cidr": "", "pod_cidr": "10.244.0.0/16", "service_cidr": "10.96.0.0/16"},
    registry_name=RegistryName(instead="write a registry's address in the images of your jobs"),
    raw=RawInputs(cluster=Raw(token="", owned={}), pool=Raw(token="", owned={})),
    max_name_length=63,
    pod_addresses_per_node=256,
    reserved_addresses=0,
    reference_region="",
    withdrawn_gpus={},
    machines=Machines(cloud="kubeadm"),
    prices=Prices(cloud="kubeadm", machines=_NOTHING, disks=_NOTHING, control_plane=_NOTHING.price(0.0), nat=_nat),
    allocatable=_allocatable,
    changes={},
    system_pods=(),
    quotas=_quotas,
    quota_page="",
    spot_notice_seconds=0,
)
