"""Google Kubernetes Engine in the catalogue. Where its tables in ``data`` come from:

- ``gpus.csv``, stored copies read 2026-11-20: names, https://cloud.google.com/compute/docs/gpus and the API's listing
  of 2026-08-10 (https://github.com/Cyclenerd/google-cloud-pricing-cost-calculator, ``tools/acceleratortypes.csv``);
  quotas, the enum ``Quota.metric`` of the Compute Engine API; families, see ``quotas``. Partitions (MIG):
  https://cloud.google.com/kubernetes-engine/docs/how-to/gpus-multi; of two sizes with one compute slice the table has
  the smaller, of which a GPU has more.
- ``machines.csv``: see ``machines``.
- ``zones.csv``, regions: the Compute Engine API's listing of 2026-08-17 (``tools/machinetyperegion.csv`` of
  https://github.com/Cyclenerd/google-cloud-pricing-cost-calculator). Their zones: its listing of 2023; those of the six
  regions added since are a, b and c, as others quote https://cloud.google.com/compute/docs/regions-zones
  (europe-west10: general knowledge).
- ``zones.csv``, GPUs: the API's listing of September 2025 (https://github.com/skypilot-org/skypilot-catalog,
  ``gcp/vms.csv``), made to agree with the regions of August 2026. Not known: the zone of the H100 in
  australia-southeast2 and of the B200 in europe-west1, and all of the RTX PRO 6000. Zones gain GPUs over time, so
  settings let a pool name its own zones.
- ``versions.csv``: 14 and 24 months from the Regular channel, the last ten in the channel ``extended`` alone
  (https://cloud.google.com/kubernetes-engine/versioning). 1.32 is dated in
  https://endoflife.date/api/v1/products/google-kubernetes-engine (read 2026-11-25), 1.33 is counted from its day in
  Regular. Google's dates are estimates (https://cloud.google.com/kubernetes-engine/docs/release-schedule); those of
  later versions were in no copy that was read.
- Prices: Google's SKU prices of 2026-07-30; a3-mega, a3-ultra and a4 in us-central1 as others read them on 2026-09-17
  (https://cloud.google.com/products/compute/gpus-pricing; of a4, which has no on-demand price, the one of Calendar
  Mode, its dearest; that page's a3-high is the SKUs' price too); those of GPUs attached to an N1 machine of September
  2025, which on demand in us-central1 agree with the cluster autoscaler's ``gce_price_info.go`` (read 2026-11-20).
  Disks are balanced persistent ones. Google may change a spot price every day; on-demand prices change rarely
  (https://cloud.google.com/spot-vms/pricing).
"""

from __future__ import annotations

import re
from typing import Final

from facts.catalog.cloud import CloudCatalog, CredentialPlugin
from facts.catalog.gke.changes import CHANGES
from facts.catalog.gke.machines import GkeMachines, is_custom
from facts.catalog.gke.nodes import GPU_NODE_PODS, SYSTEM_PODS, allocatable, disk_mib
from facts.catalog.gke.quotas import quotas
from facts.catalog.gke.raw import RAW
from facts.catalog.gke.rights import needed
from facts.catalog.model import Price, WithdrawnGpu
from facts.catalog.prices import Prices, Source
from facts.catalog.tags import RegistryName

_SKUS: Final = Source(
    url="https://cloud.google.com/compute/vm-instance-pricing (SKUs as of "
    "https://github.com/Cyclenerd/google-cloud-pricing-cost-calculator/commit/fd66b26ff84fee5cdd94f341ea89206e76c06b99)",
    dated="2026-07-30",
)
_GPUS: Final = Source(
    url="https://cloud.google.com/compute/gpus-pricing (SKUs as of "
    "https://github.com/skypilot-org/skypilot-catalog/commit/017e2502fb63c7a28757acd94002b2d6099d3e3d)",
    dated="2025-09-18",
)
# The day a reader noted the NAT prices; stored copies of Google's two pages, without a date, say the same.
_FEES_DATED: Final = "2026-10-16"
_CONTROL_PLANE: Final = Source(url="https://cloud.google.com/kubernetes-engine/pricing", dated=_FEES_DATED)
_NAT: Final = Source(
    url="https://cloud.google.com/nat/pricing "
    "(https://github.com/ChiefGyk3D/Clouds-Against-Humanity/wiki/Provider-GCP-Cost-Lesson)",
    dated=_FEES_DATED,
)
# Of BASIC_HDD: the page's example of Oregon, which costs as much as Iowa. In 2026 others note less
# (https://cloud.google.com/filestore/pricing), so it is an upper bound.
_VOLUME: Final = Source(url="https://cloud.google.com/filestore/pricing", dated=_FEES_DATED)
_VOLUME_USD_PER_HOUR: Final = 0.000274
_NAT_USD_PER_NODE: Final = 0.0014
_NAT_USD_ABOVE_32_NODES: Final = 0.044
_NAT_ADDRESS_USD: Final = 0.005
# E2, N1 and N2 in https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/cloudprovider/gce/gce_price_info.go
_CUSTOM_PREMIUM: Final = 1.05


def nat_price(nodes: int, gateways: int) -> Price:
    """Cloud NAT for ``nodes`` nodes with one address, without traffic; above 32 nodes the price no longer grows.

    One gateway serves all zones, however many are asked for.
    """
    gateway = _NAT_USD_PER_NODE * nodes if nodes <= 32 else _NAT_USD_ABOVE_32_NODES
    return _NAT.price(gateway + _NAT_ADDRESS_USD)


CATALOG: Final = CloudCatalog(
    name="gke",
    account_key="gcp:project",
    account_example="my-project",
    # Without the argument it takes the account of `gcloud auth login`, which may be another one or none:
    # https://github.com/kubernetes/cloud-provider-gcp/blob/master/cmd/gke-gcloud-auth-plugin/cred.go
    credential_plugin=CredentialPlugin(
        command="gke-gcloud-auth-plugin",
        arguments="--use_application_default_credentials",
        otherwise="gcloud has no active account here (gcloud auth login), only application-default credentials",
    ),
    images=("cos", "ubuntu"),
    autoscalers=("managed",),
    unsupported_capacity={
        # https://cloud.google.com/compute/docs/instances/future-reservations-overview
        "capacity-block": "Google sells machines for some days as reservations, by name: write reserved",
    },
    people=(
        "group:research@example.com",
        "user:ann@example.com",
        "serviceAccount:ci@my-project.iam.gserviceaccount.com",
    ),
    channels=("rapid", "regular", "stable", "extended"),
    dataplanes=("v2", "legacy"),
    location_policies=("any", "balanced"),
    gpu_metrics=True,
    default_admin_machine="e2-custom-2-10240",
    default_cpu_machine="e2-standard-4",
    default_ranges={"node_cidr": "10.0.0.0/20", "pod_cidr": "10.4.0.0/14", "service_cidr": "10.8.0.0/20"},
    existing_network="projects/<host project>/global/networks/<name>",
    # GKE's own error says so: https://github.com/pulumi/pulumi-gcp/issues/1510
    # https://cloud.google.com/artifact-registry/docs/repositories/repo-overview
    raw=RAW,
    registry_name=RegistryName(
        written=re.compile(
            r"projects/(?P<project>[^/]+)/locations/(?P<location>[^/]+)/repositories/(?P<repository>[^/]+)"
        ),
        example="projects/<project>/locations/<location>/repositories/<repository>",
    ),
    max_name_length=40,
    # A /24 at the default of 110 pods per node: https://cloud.google.com/kubernetes-engine/docs/how-to/flexible-pod-cidr
    pod_addresses_per_node=256,
    # Network, gateway, second-to-last and broadcast:
    # https://cloud.google.com/vpc/docs/subnets#unusable-ip-addresses-in-every-subnet
    reserved_addresses=4,
    reference_region="us-central1",
    withdrawn_gpus={
        "nvidia-k80": WithdrawnGpu(
            name="nvidia-k80",
            # https://github.com/GoogleCloudPlatform/magic-modules/pull/10309
            reason="Google withdrew the K80 on 1 May 2024 (https://cloud.google.com/compute/docs/eol/k80-eol)",
            successor="nvidia-t4",
        ),
    },
    machines=GkeMachines(cloud="gke"),
    prices=Prices(
        cloud="gke",
        machines=_SKUS,
        gpus=_GPUS,
        disks=_SKUS,
        # The free tier's monthly credit for one zonal cluster is not subtracted.
        control_plane=_CONTROL_PLANE.price(0.10),
        extended_support=_CONTROL_PLANE.price(0.60),
        nat=nat_price,
        volume=_VOLUME.price(_VOLUME_USD_PER_HOUR),
        billed_vcpus={"e2-micro": 0.25, "e2-small": 0.5, "e2-medium": 1.0},
        premium=lambda type: _CUSTOM_PREMIUM if is_custom(type) else 1.0,
    ),
    allocatable=allocatable,
    changes={"managed": CHANGES},
    system_pods=SYSTEM_PODS,
    gpu_node_pods=GPU_NODE_PODS,
    disk_mib=disk_mib,
    # Of 30 s the last 15 are for system pods; a pod's longer grace period has no effect:
    # https://cloud.google.com/kubernetes-engine/docs/concepts/spot-vms
    spot_notice_seconds=15,
    # The program's clusters send the logs of workloads: https://docs.cloud.google.com/kubernetes-engine/docs/how-to/view-logs
    log_command=(
        """gcloud logging read 'resource.type="k8s_container" resource.labels.cluster_name="{cluster}" """
        """resource.labels.namespace_name="{namespace}" resource.labels.pod_name=~"{pods}"' """
        "--freshness 30d --order asc --format 'value(textPayload,jsonPayload)'"
    ),
    # Of tier BASIC_HDD: https://cloud.google.com/filestore/docs/service-tiers
    volume_gib=(1024, 65433),
    quotas=quotas,
    quota_page="https://console.cloud.google.com/iam-admin/quotas",
    rights=needed,
)
