"""The rights of who runs ``pulumi up`` on a stack: create, read, change and delete what it declares, and no more.

``rights.csv`` has the actions of each type of resource, and when a stack declares the type.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from account.declared_rights import RightsTable
from components.settings import Settings
from facts.concepts.autoscaler import KARPENTERS
from facts.concepts.iam import literal

_CALLER: Final = "sts:GetCallerIdentity"
_PASS: Final = "iam:PassRole"
_SERVICE_ROLE: Final = "iam:CreateServiceLinkedRole"
_SERVICES: Final = (
    "autoscaling.amazonaws.com",
    "eks-nodegroup.amazonaws.com",
    "eks.amazonaws.com",
    "elasticfilesystem.amazonaws.com",
    "spot.amazonaws.com",
)
"""Services that make roles of their own, once in an account: https://docs.aws.amazon.com/eks/latest/userguide/using-service-linked-roles.html"""
PASSED_TO: Final = ("ec2.amazonaws.com", "eks.amazonaws.com", "pods.eks.amazonaws.com")
LARGEST: Final = 6144
"""Characters of a managed policy without blanks: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html"""
_SHORTEST: Final = 40
"""Characters of a cluster's name that are at the start of its roles' names, however long the rest is."""


_WHEN: Final[Mapping[str, Callable[[Settings], object]]] = {
    "always": lambda settings: True,
    "network": lambda settings: settings.network.existing is None,
    "existing-network": lambda settings: settings.network.existing is not None,
    "security-group": lambda settings: settings.network.existing is not None or settings.workloads.shared_volume,
    # Reserved machines have their place.
    "placement-group": lambda settings: any(
        pool.nodes.fabric is not None and pool.scaling.reservation is None for pool in settings.gpu_pools
    ),
    "own-key": lambda settings: settings.security.kms_key is None,
    "disk-key": lambda settings: settings.security.disk_key is not None,
    "karpenter": lambda settings: settings.autoscaler in KARPENTERS,
    "access-entry": lambda settings: settings.autoscaler in KARPENTERS or settings.access,
    "shared-volume": lambda settings: settings.workloads.shared_volume,
    "registry": lambda settings: settings.workloads.registry,
    "checkpoints": lambda settings: settings.workloads.checkpoints,
}


TABLE: Final = RightsTable(Path(__file__).with_name("rights.csv"), _WHEN)


def actions(settings: Settings) -> dict[str, tuple[str, ...]]:
    """Action → the types for which it is needed, sorted."""
    return dict(sorted({**TABLE.needed(settings), _CALLER: ("the caller's account",)}.items()))


def role_arns(settings: Settings, partition: str, account: str) -> str:
    """The pattern of the stack's roles."""
    path = literal(settings.security.role_path or "/")
    return f"arn:{partition}:iam::{account}:role{path}{settings.cluster_name[:_SHORTEST]}*"


def requests(
    settings: Settings, partition: str, account: str
) -> Iterator[tuple[tuple[str, ...], str, Mapping[str, str]]]:
    """Actions, an example of a resource on which the stack calls them, and values of condition keys that it sends.

    All but those on roles are on any resource. https://docs.aws.amazon.com/service-authorization/latest/reference/list_awsidentityandaccessmanagementiam.html
    """
    name = f"{settings.cluster_name[:_SHORTEST]}-nodes"
    path = settings.security.role_path or "/"
    role, profile = (f"arn:{partition}:iam::{account}:{kind}{path}{name}" for kind in ("role", "instance-profile"))
    boundary = settings.security.permissions_boundary
    of_iam = [action for action in actions(settings) if action.startswith("iam:")]
    on_profiles = tuple(action for action in of_iam if "InstanceProfile" in action and not action.endswith("ForRole"))
    others = (_PASS, _SERVICE_ROLE, *on_profiles)
    on_roles = tuple(action for action in of_iam if action not in others)
    yield tuple(action for action in actions(settings) if action not in of_iam), "*", {}
    yield on_roles, role, {} if boundary is None else {"iam:PermissionsBoundary": boundary}
    if on_profiles:
        yield on_profiles, profile, {}
    for service in PASSED_TO:
        yield (_PASS,), role, {"iam:PassedToService": service}
    own = f"arn:{partition}:iam::{account}:role/aws-service-role/eks.amazonaws.com/AWSServiceRoleForAmazonEKS"
    yield (_SERVICE_ROLE,), own, {"iam:AWSServiceName": "eks.amazonaws.com"}


def documents(settings: Settings, partition: str, account: str) -> list[dict[str, Any]]:
    """The rights as policy documents, each within the size of a managed policy."""
    packed: list[dict[str, Any]] = []
    for statement in _statements(settings, partition, account):
        if packed and _size(_document([*packed[-1]["Statement"], statement])) <= LARGEST:
            packed[-1]["Statement"].append(statement)
        else:
            packed.append(_document([statement]))
    return packed


def _document(statements: list[dict[str, Any]]) -> dict[str, Any]:
    return {"Version": "2012-10-17", "Statement": statements}


def _size(document: dict[str, Any]) -> int:
    return len(json.dumps(document, separators=(",", ":")))


def _statements(settings: Settings, partition: str, account: str) -> list[dict[str, Any]]:
    """Rights on roles are limited to those of the cluster, others to nothing.

    https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies.html
    """
    by_service: dict[str, list[str]] = {}
    for action in actions(settings):
        if action not in (_PASS, _SERVICE_ROLE):
            by_service.setdefault(action.partition(":")[0], []).append(action)
    roles = [role_arns(settings, partition, account), f"arn:{partition}:iam::{account}:instance-profile/*"]
    statements = [
        {
            "Sid": f"Allow{service.title().replace('-', '')}",
            "Effect": "Allow",
            "Action": named,
            "Resource": roles if service == "iam" else "*",
        }
        for service, named in by_service.items()
    ]
    statements += [
        {
            "Sid": "AllowPassingRoles",
            "Effect": "Allow",
            "Action": _PASS,
            "Resource": roles[0],
            "Condition": {"StringEquals": {"iam:PassedToService": [*PASSED_TO]}},
        },
        {
            "Sid": "AllowServiceLinkedRoles",
            "Effect": "Allow",
            "Action": _SERVICE_ROLE,
            "Resource": f"arn:{partition}:iam::{account}:role/aws-service-role/*",
            "Condition": {"StringEquals": {"iam:AWSServiceName": [*_SERVICES]}},
        },
    ]
    return statements
