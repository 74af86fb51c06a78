"""What answers a request: a function for what moto lacks, else moto. Requests take turns, from wherever they come.

moto keeps an account in module-level dictionaries. One rehearsal has one account, so it stays there; a new account
starts by emptying them.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, Literal

from rehearsal.providers.eks.authorization.identity import Right
from rehearsal.providers.eks.aws_api import wire
from rehearsal.providers.eks.aws_api.gaps import GAPS
from rehearsal.providers.eks.aws_api.gaps.reads import GapError, GapRequest
from rehearsal.providers.eks.cloud import READS, Account, Answer
from rehearsal.tools import cache
from rehearsal.tools.progress import ToolsError

if TYPE_CHECKING:
    from werkzeug.wrappers import Response


def answer_in_process(account: Account, service: str, operation: str, request: Any) -> Answer | None:
    """The administrator's request, which botocore is about to send; ``None`` if it is not simulated."""
    with account.store.held():
        if (service, operation) in GAPS:
            from moto.core.request import normalize_request

            return answer(account, wire.read(normalize_request(request)))
        return _by_moto(account, service, operation, request)


def answer(
    account: Account, call: wire.Call, refusal: Callable[[Iterable[Right]], str] = lambda _: ""
) -> Answer | None:
    """The answer to one authorised call; ``refusal`` evaluates further permissions that the call turns out to need."""
    there = replace(account, region=call.region)
    with account.store.held():
        gap = GAPS.get((call.service, call.operation))
        if gap is not None:
            try:
                output = gap(GapRequest(there, call.params, refusal))
            except GapError as error:
                return _sent(call.error(error.code, error.message))
            if output is not None:
                return _sent(call.answer(output))
        with there.client(call.service) as client:
            address = client.meta.endpoint_url
        return _by_moto(account, call.service, call.operation, wire.forward(call, address))


def _by_moto(account: Account, service: str, operation: str, request: Any) -> Answer | None:
    response = asked_of_moto(request)
    if response is not None and not operation.startswith(READS):
        account.wrote(service)
    return response


def _sent(response: Response) -> Answer:
    return response.status_code, dict(response.headers), response.get_data()


# Machine types are the same for as long as moto is imported, and it takes seconds to write all of them down.
_CONSTANT: Final = "DescribeInstanceTypes"
_ANSWER: Final = "answer"
_written: Final[dict[tuple[str, str], Answer]] = {}
_owners: Final[dict[str, str]] = {}
"""VPC → the account that shares it."""


def forget() -> None:
    """Empty moto, for a new account; costs nothing while moto has not been imported."""
    _owners.clear()
    if "moto.core.base_backend" in sys.modules:
        from moto.core.base_backend import BackendDict

        # A reset makes everything anew before it is dropped: here a default VPC in each region that was used.
        if "moto.ec2.models" in sys.modules:
            from moto.ec2.models import ec2_backends

            ec2_backends.clear()
        BackendDict.reset()


def regions(account_id: str) -> tuple[str, ...]:
    """The regions in which an account has used any service; ``aws`` stands for services without regions."""
    if "moto.core.base_backend" not in sys.modules:
        return ()
    from moto.core.base_backend import BackendDict

    services: Any = BackendDict
    used = [each for each in services._instances if account_id in each]
    return tuple(dict.fromkeys(region for each in used for region in each[account_id]))


@contextmanager
def ids_of_the_next(kind: Literal["vpc", "subnet"], id: str) -> Iterator[None]:
    """Within this context a new VPC or subnet gets this id, which a stack file names."""
    from moto.ec2.models import subnets, vpcs

    module, name = {"vpc": (vpcs, "random_vpc_id"), "subnet": (subnets, "random_subnet_id")}[kind]
    before = getattr(module, name)
    setattr(module, name, lambda: id)
    try:
        yield
    finally:
        setattr(module, name, before)


def share(vpc: str, owner: str) -> None:
    """Make a VPC and its subnets those of the account ``owner``, shared with this one.

    https://docs.aws.amazon.com/vpc/latest/userguide/vpc-sharing.html
    """
    _owners[vpc] = owner


def _owner(network: Any) -> str:
    return _owners.get(getattr(network, "vpc_id", network.id), str(network.ec2_backend.account_id))


def asked_of_moto(request: Any) -> Answer | None:
    """moto's answer to an ``AWSPreparedRequest``: status, headers and body; ``None`` for what it does not know."""
    body = _text(request.body)
    if f"Action={_CONSTANT}&" not in f"{body}&":
        return _asked(request)
    # Of all types the answer has 6 MB: 6 s of a core, in which no other request is answered.
    everything = "InstanceType.1=" not in body
    response = _written.get((request.url, body)) or (_kept(request) if everything else None)
    if response is None:
        response = _asked(request)
        if everything and response is not None and response[0] == 200:
            _keep(request, response)
    if response is not None and response[0] == 200:
        _written[request.url, body] = response
    return response


def _keep(request: Any, response: Answer) -> None:
    _, headers, body = response
    described = json.dumps({key: str(value) for key, value in headers.items()}).encode()
    # A cache that nobody may write to, or that another process has just filled.
    with suppress(OSError, ToolsError), cache.new_folder(_place(request)) as folder:
        (folder / _ANSWER).write_bytes(described + b"\n" + body)


def _kept(request: Any) -> Answer | None:
    """What an earlier process kept beside the tools."""
    with suppress(OSError):
        headers, _, body = (_place(request) / _ANSWER).read_bytes().partition(b"\n")
        return 200, json.loads(headers), body
    return None


def _place(request: Any) -> Path:
    asked = json.dumps([version("moto"), request.url, _text(request.body)])
    return cache.root() / f"instance-types-{hashlib.sha256(asked.encode()).hexdigest()[:16]}"


def _asked(request: Any) -> Answer | None:
    try:
        response = _stubber().process_request(request)
    except NotImplementedError:
        return None
    if response is None:
        return None
    status, headers, body = response
    # moto's own words for a service that it does not have at all.
    if status == 404 and body == "Not yet implemented":
        return None
    return status, headers, body.encode() if isinstance(body, str) else body


def _text(body: Any) -> str:
    return body.decode(errors="replace") if isinstance(body, bytes) else body if isinstance(body, str) else ""


@lru_cache(maxsize=1)
def _stubber() -> Any:
    # Hundreds of images that no node here boots.
    os.environ.setdefault("MOTO_EC2_LOAD_DEFAULT_AMIS", "false")
    from moto.core import responses
    from moto.core import utils as core
    from moto.core.botocore_stubber import BotocoreStubber
    from moto.ec2.models.subnets import Subnet
    from moto.ec2.models.vpcs import VPC
    from moto.ec2.responses import subnets
    from moto.eks import utils
    from moto.iam.models import SERVICE_NAME_CONVERSION
    from moto.kms import models as kms

    for network in (Subnet, VPC):
        network.owner_id = property(_owner)  # pyright: ignore[reportAttributeAccessIssue]
    # AWS chooses a zone for a subnet that names none, maybe that of another one; here it is the last, in every run:
    # https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateSubnet.html
    subnets.random = SimpleNamespace(choice=lambda zones: zones[-1])  # pyright: ignore[reportPrivateImportUsage]
    # https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/service-linked-roles-spot-instance-requests.html
    SERVICE_NAME_CONVERSION.setdefault("spot", "EC2Spot")
    # For each cluster and node group a new session, which reads a megabyte, only to list AWS's partitions.
    utils.Session = lru_cache(maxsize=1)(utils.Session)  # pyright: ignore[reportPrivateImportUsage]
    # For each request the names of a service's methods, hundreds of them, which never change.
    names = lru_cache(maxsize=None)(core.method_names_from_class)
    responses.method_names_from_class = names  # pyright: ignore[reportPrivateImportUsage]
    # Each key that encrypts gets one of RSA as well, which only keys that sign need: a fifth of a second of a core.
    generate = kms.generate_private_key  # pyright: ignore[reportPrivateImportUsage]
    made = lru_cache(maxsize=1)(generate)

    def private_key(spec: str) -> Any:
        return made(spec) if spec == "SYMMETRIC_DEFAULT" else generate(spec)

    kms.generate_private_key = private_key  # pyright: ignore[reportPrivateImportUsage]
    return BotocoreStubber()
