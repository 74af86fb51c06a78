"""What every simulated resource uses: clients of the in-process AWS, the machines' simulation, the catalogue;
EC2's capacity, as tests and scenarios set it; and errors in AWS's words, so that users can search for what a rehearsal
prints.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache, partial
from io import BytesIO
from typing import Any, Final, Literal

from rehearsal.providers.account_limits import Refusals, Shortage
from rehearsal.providers.base import ProviderError
from rehearsal.providers.cloud import SimulatedCloud
from rehearsal.providers.eks.system import addon_namespace

Market = Literal["spot", "on-demand"]
ANY: Final = "*"


@dataclass(frozen=True)
class CapacityReservation:
    """An On-Demand Capacity Reservation of ``count`` instances; ``block``: a Capacity Block for ML."""

    id: str
    instance_type: str
    zone: str
    count: int
    block: bool = False


@dataclass(frozen=True)
class ScheduledEvent:
    """What EC2 has announced to do with an instance (``code``, such as ``instance-reboot``) on a day."""

    code: str
    not_before: datetime


@dataclass
class Supply:
    """Switches of one account; thread-safe, as each change replaces what others may be reading."""

    announced: dict[str, ScheduledEvent] = field(default_factory=dict)
    """Instance (id) → a scheduled event that its status shows; nothing else happens."""
    placement_groups: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Name → a placement group, as EC2 describes it."""
    placed: dict[str, str] = field(default_factory=dict)
    """Instance (id) → the placement group that it started in."""
    _dry: frozenset[tuple[str, str, str]] = frozenset()
    _reservations: Mapping[str, CapacityReservation] = field(default_factory=dict)
    _used_up: frozenset[str] = frozenset()

    def exhaust(self, zone: str = ANY, instance_type: str = ANY, market: str = ANY) -> None:
        """Exhaust the capacity for new instances of the type in the zone and market."""
        self._dry |= {(zone, instance_type, market)}

    def refill(self) -> None:
        """Restore all capacity, including that of reservations."""
        self._dry, self._used_up = frozenset(), frozenset()

    def is_dry(self, zone: str, instance_type: str, market: Market) -> bool:
        """Whether a new instance would fail for want of capacity."""
        offering = (zone, instance_type, market)
        return any(all(a in (ANY, b) for a, b in zip(dry, offering, strict=True)) for dry in self._dry)

    def reserve(self, reservation: CapacityReservation) -> None:
        """Add a reservation, or change the one of that id."""
        self._reservations = {**self._reservations, reservation.id: reservation}

    def reservation(self, id: str) -> CapacityReservation | None:
        """The reservation of that id."""
        return next((each for each in self.reservations() if each.id == id), None)

    def use_up(self, id: str) -> None:
        """Exhaust the reservation: no further machine can start in it, as when others use it or it has ended."""
        self._used_up |= {id}

    def reservations(self) -> tuple[CapacityReservation, ...]:
        """All of them."""
        used_up = self._used_up
        return tuple(replace(each, count=0) if each.id in used_up else each for each in self._reservations.values())


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


Answer = tuple[int, dict[str, Any], bytes]
"""Status, headers and body."""

ACCOUNT_ID: Final = "123456789012"
ADDON: Final = "aws:eks/addon:Addon"
POD_IDENTITY: Final = "aws:eks/podIdentityAssociation:PodIdentityAssociation"
ADMINISTRATOR: Final = "simulated"
"""The access key and the secret of the user who runs the program, with every permission."""

READS: Final = ("Describe", "Get", "List")
"""Prefixes of the names of read-only requests."""
_LOOK_SECONDS: Final = 0.5
_making_client = threading.Lock()
_asked: Final[ContextVar[Account]] = ContextVar("account")


@dataclass(frozen=True, kw_only=True)
class Account(SimulatedCloud):
    """One simulated AWS account in one region, whose records are in memory, as moto's state is.

    ``answers`` is AWS: an account's request (service, operation, as botocore sends it) → the answer, ``None`` if the
    request is not simulated. ``patience`` is how many seconds a resource waits for others that are made at the same
    time, where AWS waits many minutes. ``cancelled`` ends such a wait.
    """

    region: str
    answers: Callable[[Account, str, str, Any], Answer | None]
    patience: float = 60.0
    cancelled: threading.Event = field(default_factory=threading.Event)
    id: str = ACCOUNT_ID
    partition: str = "aws"
    supply: Supply = field(default_factory=Supply)
    _writes: Counter[str] = field(default_factory=Counter, repr=False, compare=False)

    @contextmanager
    def client(self, service: str) -> Iterator[Any]:
        """A boto3 client (``ec2``, ``eks``, ``autoscaling`` …) whose requests this account answers inside the context.

        Each request is one step and takes its turn. botocore's own exceptions (``ParamValidationError``,
        ``ClientError``) come through.
        """
        with _making_client:
            client = _client(service, self.region)
        before = _asked.set(self)
        try:
            yield client
        finally:
            _asked.reset(before)

    def call(self, service: str, operation: str, **params: Any) -> dict[str, Any]:
        """One request (``CreateVpc``) without the parameters that are ``None``; raises :class:`AwsError`."""
        from botocore.exceptions import ClientError, ParamValidationError

        method = _method_name(operation)
        sent = {key: value for key, value in params.items() if value is not None}
        try:
            with self.client(service) as client:
                answer: dict[str, Any] = getattr(client, method)(**sent)
        except ClientError as error:
            details = error.response["Error"]
            raise AwsError(service, operation, details.get("Code", "?"), details.get("Message", "?")) from error
        except ParamValidationError as error:
            raise AwsError(service, operation, "ValidationError", str(error)) from error
        return answer

    def look_up(self, service: str, operation: str, key: str, **params: Any) -> Any:
        """What ``call`` answers at ``key``; ``None`` if AWS refuses the request, as of what does not exist."""
        try:
            return self.call(service, operation, **params)[key]
        except AwsError:
            return None

    def instances(self, **params: Any) -> list[dict[str, Any]]:
        """EC2's instances, as ``DescribeInstances`` answers it, from all pages."""
        instances: list[dict[str, Any]] = []
        page: dict[str, Any] = {"NextToken": None}
        while "NextToken" in page:
            page = self.call("ec2", "DescribeInstances", NextToken=page["NextToken"], **params)
            instances += [each for reservation in page["Reservations"] for each in reservation["Instances"]]
        return instances

    def until(self, condition: Callable[[], bool]) -> bool:
        """Wait for something that is made at the same time; ``False`` when patience has run out."""
        deadline = time.monotonic() + self.patience
        while not condition():
            if time.monotonic() >= deadline or self.cancelled.wait(_LOOK_SECONDS):
                return False
        return True

    def arn(self, service: str, resource: str, *, everywhere: bool = False) -> str:
        """An ARN in this account; ``everywhere`` for services without a region."""
        return f"arn:{self.partition}:{service}:{'' if everywhere else self.region}:{self.id}:{resource}"

    def wrote(self, service: str) -> None:
        """Note a request that may have changed what a service of AWS holds."""
        with self.store.held():
            self._writes[service] += 1

    def writes(self, service: str) -> int:
        """How many such requests there were: what was read of the service is stale when this has grown."""
        with self.store.held():
            return self._writes[service]

    def pod_identity(self, cluster: str, namespace: str, service_account: str) -> str | None:
        """ARN of the role that EKS Pod Identity gives a service account's pods, or ``None``."""
        association_inputs = {"clusterName": cluster, "namespace": namespace, "serviceAccount": service_account}
        for record in self.store.all(POD_IDENTITY):
            if association_inputs.items() <= record.inputs.items():
                return str(record.inputs["roleArn"])
        for record in self.store.all(ADDON):
            # An add-on's associations are for service accounts of its own namespace.
            if record.inputs["clusterName"] == cluster and addon_namespace(record.inputs["addonName"]) == namespace:
                for association in record.inputs.get("podIdentityAssociations") or []:
                    if association["serviceAccount"] == service_account:
                        return str(association["roleArn"])
        return None


@lru_cache(maxsize=1)
def _session() -> Any:
    from boto3.session import Session
    from botocore.session import get_session

    # Not credentials: nothing leaves the process, but a request has to be signed with something.
    return Session(aws_access_key_id=ADMINISTRATOR, aws_secret_access_key=ADMINISTRATOR, botocore_session=get_session())


@lru_cache(maxsize=64)
def _client(service: str, region: str) -> Any:
    """Made once in a process, as it takes longer than most requests; whose request it sends is ``_asked``."""
    from botocore.config import Config

    # Otherwise put together twice for each request, which takes longer than signing it, and nobody reads it.
    client = _session().client(service, region_name=region, config=Config(user_agent="rehearsal"))
    client.meta.events.register("before-send", partial(_answer, service))
    return client


@lru_cache(maxsize=512)
def _method_name(operation: str) -> str:
    from botocore import xform_name

    return str(xform_name(operation))


def _answer(service: str, request: Any, event_name: str, **_: Any) -> Any:
    """AWS's answer instead of a network request; a request that is not simulated is an error."""
    from botocore.awsrequest import AWSResponse

    account, operation = _asked.get(), event_name.rpartition(".")[2]
    answer = account.answers(account, service, operation, request)
    if answer is None:
        raise ProviderError(f"aws: the request {service}:{operation} is not simulated")
    status, headers, body = answer
    return AWSResponse(request.url, status, headers, _Body(body))


class _Body(BytesIO):
    """A response's body as botocore reads one."""

    def stream(self, **_: Any) -> Iterator[bytes]:
        yield self.read()


def maker(account: Account) -> str:
    """The ARN of the user who runs the program."""
    return account.arn("iam", f"user/{ADMINISTRATOR}", everywhere=True)
