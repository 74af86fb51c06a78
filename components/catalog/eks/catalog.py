# ruff: noqa: D102 - CloudCatalog says what each method is for
"""EKS's side of the catalogue: its tables behind the words that all clouds share."""

from __future__ import annotations

from collections.abc import Mapping

from components.catalog.eks import gpus, machines, nodes, prices, zones
from components.catalog.model import Machine
from components.catalog.tables import TableCatalog


class EksCatalog(TableCatalog):
    """See ``CloudCatalog``."""

    def __init__(self) -> None:
        super().__init__(gpus=gpus, machines=machines, nodes=nodes, prices=prices, zones=zones)

    def spot_machines(self, gpu: str, count: int) -> tuple[Machine, ...]:
        return machines.spot_machines(gpu, count)

    def mixes_machines(self) -> bool:
        return True

    def images(self) -> tuple[str, ...]:
        return ("al2023", "bottlerocket")

    def autoscalers(self) -> tuple[str, ...]:
        return ("cluster-autoscaler", "karpenter")

    def addons(self) -> tuple[str, ...]:
        return ("ebs", "efs", "fsx", "load-balancer", "cloudwatch")

    def gpu_labels(self, gpu: str) -> Mapping[str, str]:
        return {gpus.LABEL: gpus.ACCELERATORS[gpu].name}

    def pool_per_zone(self, *, gpu: bool, spot: bool, autoscaler: str) -> bool:
        # A group over zones takes Spot capacity where it finds some, so what one zone lacks never reaches the
        # autoscaler, and its next choice cannot be another zone.
        return gpu and spot and autoscaler == "cluster-autoscaler"

    def default_ranges(self) -> Mapping[str, str | None]:
        return {"node_cidr": "10.0.0.0/16", "pod_cidr": None, "service_cidr": "172.20.0.0/16"}

    def kubernetes_versions(self) -> Mapping[str, str]:
        # https://docs.aws.amazon.com/eks/latest/userguide/kubernetes-versions.html (stored copies of 2026): 1.34 leaves
        # standard support on 2 December 2026, 1.35 on 27 March 2027, and extended support costs six times as much.
        return {"rapid": "1.36", "regular": "1.35", "stable": "1.35"}

    def default_cpu_machine(self) -> str:
        return "m6i.xlarge"

    def default_admin_machine(self) -> str:
        # 2 vCPUs with 16 GiB; AMD's r5a and r6a cost a tenth less but are missing in most regions.
        return "r6i.large"

    def reference_region(self) -> str:
        return "us-east-1"

    def account_key(self) -> str:
        return "aws:region"

    def account_example(self) -> str:
        return "us-west-2"

    def max_name_length(self) -> int:
        # https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateNodegroup.html (nodegroupName)
        return 63

    def pod_addresses_per_node(self) -> int:
        # Addresses come in blocks of 16 (/28): 250 pods, the most that EKS gives a node, need 16 blocks.
        # https://docs.aws.amazon.com/eks/latest/best-practices/prefix-mode-linux.html
        return 16 * nodes.ADDRESSES_PER_PREFIX

    def kept_addresses(self) -> int:
        # The first four and the last: https://docs.aws.amazon.com/vpc/latest/userguide/subnet-sizing.html
        return 5
