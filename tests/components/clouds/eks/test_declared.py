"""What a cluster on EKS and its pools declare for one setting."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pytest

from facts.concepts.parts import Block, Upgrade
from tests.components import eks_specs
from tests.components.clouds.declared_inputs import Case, assert_declared, each_case
from tests.components.clouds.eks.test_cluster import CLUSTER, run_cluster
from tests.components.clouds.eks.test_pools import recording as recorded

BLOCK: Final[Mapping[str, Any]] = {
    "reservation": "cr-0123456789abcdef0",
    "block": Block(first="2099-03-01", last="2099-03-08"),
}
CASES: Final = {
    "only the written networks reach the control plane": [
        Case(
            inputs={
                "vpcConfig endpointPublicAccess": True,
                "vpcConfig endpointPrivateAccess": True,
                "vpcConfig publicAccessCidrs": ["203.0.113.0/24"],
            }
        ),
    ],
    "access is by entries alone": [
        Case(inputs={"accessConfig authenticationMode": "API", "bootstrapSelfManagedAddons": False}),
    ],
    "a written version stays": [
        Case(inputs={"version": "1.35", "upgradePolicy supportType": "STANDARD"}),
        Case(cluster={"version": "1.34"}, inputs={"version": "1.34", "upgradePolicy supportType": "EXTENDED"}),
        Case(cluster={"version": "1.33"}, inputs={"version": "1.33", "upgradePolicy supportType": "EXTENDED"}),
    ],
    "a protected cluster is protected in the cloud too": [
        Case(cluster={"deletion_protection": True}, inputs={"deletionProtection": True}),
        Case(cluster={"deletion_protection": False}, inputs={"deletionProtection": False}),
    ],
    "a group of a block says so in both places": [
        Case(
            eks_specs.gpu_pool(**BLOCK),
            of="template",
            inputs={
                "instanceMarketOptions": {"marketType": "capacity-block"},
                "capacityReservationSpecification": {
                    "capacityReservationTarget": {"capacityReservationId": "cr-0123456789abcdef0"}
                },
            },
        ),
        Case(eks_specs.gpu_pool(**BLOCK), inputs={"capacityType": "CAPACITY_BLOCK", "instanceTypes": ["g4dn.xlarge"]}),
        Case(eks_specs.gpu_pool(reservation="cr-0123456789abcdef0"), of="template", lacks=["instanceMarketOptions"]),
        Case(eks_specs.gpu_pool(reservation="cr-0123456789abcdef0"), inputs={"capacityType": "ON_DEMAND"}),
    ],
    "a group is spot or on demand": [
        Case(eks_specs.gpu_pool(capacity_type="spot"), inputs={"capacityType": "SPOT"}),
        Case(eks_specs.gpu_pool(capacity_type="on-demand"), inputs={"capacityType": "ON_DEMAND"}),
        Case(eks_specs.cpu_pool(capacity_type="spot"), inputs={"capacityType": "SPOT"}),
        Case(eks_specs.cpu_pool(capacity_type="on-demand"), inputs={"capacityType": "ON_DEMAND"}),
        Case(eks_specs.admin_pool(capacity_type="spot"), inputs={"capacityType": "SPOT"}),
        Case(eks_specs.admin_pool(capacity_type="on-demand"), inputs={"capacityType": "ON_DEMAND"}),
    ],
    "types are mixed in the order of the spec": [
        Case(
            eks_specs.gpu_pool(machine_types=("g4dn.xlarge", "g4dn.2xlarge", "g4dn.4xlarge")),
            inputs={"instanceTypes": ["g4dn.xlarge", "g4dn.2xlarge", "g4dn.4xlarge"]},
        ),
        Case(eks_specs.gpu_pool(), inputs={"instanceTypes": ["g4dn.xlarge"]}),
    ],
    "the image brings the driver": [
        Case(eks_specs.gpu_pool(image="al2023"), inputs={"amiType": "AL2023_x86_64_NVIDIA"}),
        Case(eks_specs.gpu_pool(image="bottlerocket"), inputs={"amiType": "BOTTLEROCKET_x86_64_NVIDIA"}),
    ],
    "a new version of the template reaches the group": [
        Case(eks_specs.gpu_pool(), inputs={"launchTemplate version": "1"}),
    ],
    "a reservation is named": [
        Case(
            eks_specs.gpu_pool(reservation="cr-0123456789abcdef0"),
            of="template",
            inputs={
                "capacityReservationSpecification": {
                    "capacityReservationTarget": {"capacityReservationId": "cr-0123456789abcdef0"}
                }
            },
        ),
        Case(eks_specs.gpu_pool(), of="template", lacks=["capacityReservationSpecification"]),
    ],
    "nodes follow the control plane's version": [
        Case(eks_specs.gpu_pool(), cluster={"version": "1.34"}, inputs={"version": "1.34"}),
    ],
    "nodes are upgraded as the pool says": [
        # No further quota is needed.
        Case(
            eks_specs.gpu_pool(upgrade=None),
            inputs={"updateConfig": {"maxUnavailable": 1, "updateStrategy": "MINIMAL"}},
        ),
        Case(
            eks_specs.gpu_pool(upgrade=Upgrade(max_unavailable=3)),
            inputs={"updateConfig": {"maxUnavailable": 3, "updateStrategy": "MINIMAL"}},
        ),
        Case(
            eks_specs.gpu_pool(upgrade=Upgrade(max_surge=0)),
            inputs={"updateConfig": {"maxUnavailable": 1, "updateStrategy": "MINIMAL"}},
        ),
    ],
    "nodes without GPUs have the plain image": [
        Case(eks_specs.cpu_pool(), inputs={"amiType": "AL2023_x86_64_STANDARD"}),
        Case(eks_specs.admin_pool(), inputs={"amiType": "AL2023_x86_64_STANDARD"}),
    ],
    "a CPU pool starts at its minimum": [
        Case(eks_specs.cpu_pool(min_nodes=0), inputs={"scalingConfig": {"minSize": 0, "maxSize": 3, "desiredSize": 0}}),
        Case(eks_specs.cpu_pool(min_nodes=2), inputs={"scalingConfig": {"minSize": 2, "maxSize": 3, "desiredSize": 2}}),
    ],
    "the admin pool never goes away": [
        Case(
            eks_specs.admin_pool(nodes=1, zones=eks_specs.THREE_ZONES),
            inputs={"scalingConfig": {"minSize": 3, "maxSize": 3, "desiredSize": 3}},
            lacks=["taints"],
        ),
        Case(
            eks_specs.admin_pool(nodes=2, zones=eks_specs.THREE_ZONES),
            inputs={"scalingConfig": {"minSize": 6, "maxSize": 6, "desiredSize": 6}},
        ),
        Case(
            eks_specs.admin_pool(nodes=1, max_nodes=20, zones=eks_specs.THREE_ZONES),
            inputs={"scalingConfig": {"minSize": 3, "maxSize": 20, "desiredSize": 3}},
        ),
    ],
    "a general group of several types is a setting": [
        Case(
            eks_specs.admin_pool(
                capacity_type="spot",
                machine_types=("m5.2xlarge", "m5a.2xlarge", "m4.2xlarge"),
                max_nodes=20,
                disk_gb=100,
            ),
            inputs={
                "capacityType": "SPOT",
                "instanceTypes": ["m5.2xlarge", "m5a.2xlarge", "m4.2xlarge"],
                "scalingConfig maxSize": 20,
            },
        ),
    ],
}


@pytest.mark.filterwarnings("ignore::DeprecationWarning:pulumi_aws")
@each_case(CASES)
def test_a_setting_becomes_these_inputs(case: Case) -> None:
    if case.pool is None:
        recording = run_cluster(**case.cluster)
        resource = recording.only(case.of or CLUSTER)
    else:
        recording = recorded(case.pool, **case.cluster)
        resource = recording.named(f"{case.pool.name}-pool{'-template' if case.of == 'template' else ''}")
    assert_declared(case, resource, recording)
