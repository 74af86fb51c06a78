"""What answers a request: a function for what moto lacks, else moto. Requests take turns, from wherever they come."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rehearsal.providers.eks.authorization.identity import Right
from rehearsal.providers.eks.aws_api import moto_backend, wire
from rehearsal.providers.eks.aws_api.gaps import GAPS
from rehearsal.providers.eks.aws_api.gaps.gap import GapError, GapRequest
from rehearsal.providers.eks.base.account import READS, Account, Answer

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
                return _answered(call.error(error.code, error.message))
            if output is not None:
                return _answered(call.answer(output))
        with there.client(call.service) as client:
            address = client.meta.endpoint_url
        return _by_moto(account, call.service, call.operation, wire.forward(call, address))


def _by_moto(account: Account, service: str, operation: str, request: Any) -> Answer | None:
    response = moto_backend.answer(request)
    if response is not None and not operation.startswith(READS):
        account.wrote(service)
    return response


def _answered(response: Response) -> Answer:
    return response.status_code, dict(response.headers), response.get_data()
