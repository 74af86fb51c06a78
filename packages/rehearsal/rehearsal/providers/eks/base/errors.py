"""Errors in AWS's words, so that users can search for what a rehearsal prints."""

from __future__ import annotations

from typing import Final

from rehearsal.providers.account_limits import Refusals, Shortage
from rehearsal.providers.base import ProviderError


class AwsError(ProviderError):
    """An answer of an AWS API as the provider prints it; ``code`` is the API's (``ResourceInUseException``)."""

    def __init__(self, service: str, operation: str, code: str, message: str) -> None:
        super().__init__(f"operation error {service}: {operation}, api error {code}: {message}")
        self.code = code


def not_found(error: AwsError) -> bool:
    """Whether the API says that something does not exist (``InvalidVpcID.NotFound``, ``NoSuchEntity`` …)."""
    return "NotFound" in error.code or "NoSuch" in error.code or "NonExistent" in error.code


def forbidden(user: str, service: str, operation: str, resource: str) -> AwsError:
    """The user (an ARN) lacks the permission.

    https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot_access-denied.html; EC2's code is another:
    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
    """
    code = "UnauthorizedOperation" if service == "ec2" else "AccessDeniedException"
    message = f"User: {user} is not authorized to perform: {service}:{operation} on resource: {resource}"
    return AwsError(service, operation, code, message)


def _quota(short: Shortage) -> str:
    """https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html"""
    if short.spot:
        return f"MaxSpotInstanceCountExceeded: Max spot instance count exceeded ({short.name}: {short.limit})"
    return (
        "VcpuLimitExceeded: You have requested more vCPU capacity than your current vCPU limit of "
        f"{short.limit} allows for the instance bucket that the specified instance type belongs to. Please visit "
        f"http://aws.amazon.com/contact-us/ec2-request to request an adjustment to this limit. ({short.name})"
    )


REFUSALS: Final = Refusals(
    quota=_quota,
    # https://docs.aws.amazon.com/eks/latest/APIReference/API_Issue.html
    at_once=lambda short: (
        f"NodeCreationFailure: AsgInstanceLaunchFailures: Could not launch instances. {_quota(short)}"
    ),
    no_reservation=lambda id: (
        f"InvalidCapacityReservationId.NotFound: The capacity reservation ID '{id}' does not exist"
    ),
    full_reservation=lambda id: (
        "ReservationCapacityExceeded: The requested reservation does not have sufficient compatible and available "
        f"capacity for this request. ({id})"
    ),
)
