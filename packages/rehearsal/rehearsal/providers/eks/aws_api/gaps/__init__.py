"""What moto lacks, or has wrong, for the controllers that run here: one function for each such request.

Each row has a test that fails when moto gets it right (tests/providers/eks/aws_api/test_moto.py); then it can go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rehearsal.providers.eks.aws_api.gaps import launch, reads
from rehearsal.providers.eks.aws_api.gaps.reads import Gap

GAPS: Final[Mapping[tuple[str, str], Gap]] = {
    ("ec2", "CreateFleet"): launch.create_fleet,
    ("ec2", "CreatePlacementGroup"): launch.create_placement_group,
    ("ec2", "DeletePlacementGroup"): launch.delete_placement_group,
    ("ec2", "DescribePlacementGroups"): launch.describe_placement_groups,
    ("ec2", "DescribeCapacityReservations"): reads.describe_capacity_reservations,
    ("ec2", "DescribeImages"): reads.describe_images,
    ("ec2", "DescribeInstanceStatus"): reads.describe_instance_status,
    ("ec2", "DescribeInstanceTypes"): reads.describe_instance_types,
    ("ec2", "DescribeInstances"): reads.describe_instances,
    ("ec2", "DescribeSpotPriceHistory"): reads.describe_spot_price_history,
    ("ec2", "RunInstances"): launch.run_instances,
    ("iam", "ListInstanceProfiles"): reads.list_instance_profiles,
    ("iam", "RemoveRoleFromInstanceProfile"): reads.remove_role_from_instance_profile,
    ("pricing", "GetProducts"): reads.get_products,
    ("sqs", "ReceiveMessage"): reads.receive_message,
    ("ssm", "GetParameter"): reads.get_parameter,
}
