"""An account of AWS for a test: moto, and answers of a test's own, which botocore's models have checked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

import boto3
from botocore.exceptions import ClientError
from botocore.validate import validate_parameters
from moto import mock_aws

REGION = "us-west-2"
Answer = Mapping[str, Any] | Exception | Callable[[Mapping[str, Any]], Mapping[str, Any]]


class Sent(NamedTuple):
    service: str
    operation: str
    parameters: Mapping[str, Any]


def refusal(code: str, operation: str = "Operation", message: str = "no") -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": message}}, operation)


class FakeAws:
    """``answers``: ``service.Operation`` → what is answered in moto's place. ``sent``: all requests, in their order."""

    def __init__(self, answers: Mapping[str, Answer]) -> None:
        self.answers, self.sent = answers, list[Sent]()

    @property
    def session(self) -> FakeAws:
        """What stands for boto3's session."""
        return self

    def client(self, service: str, **options: Any) -> Any:
        """A client, as the session has it."""
        assert options in ({}, {"region_name": REGION})
        return _client(service)

    def note(self, params: Mapping[str, Any], model: Any, **others: Any) -> None:
        self.sent.append(Sent(str(model.service_model.service_name), str(model.name), params))

    def answer(self, model: Any, **others: Any) -> tuple[Any, Any] | None:
        answer = self.answers.get(f"{model.service_model.service_name}.{model.name}")
        if answer is None:
            return None
        if isinstance(answer, Exception):
            raise answer
        parsed = dict(answer(self.sent[-1].parameters) if callable(answer) else answer)
        # The vendor's model judges what a test makes up.
        validate_parameters(parsed, model.output_shape)
        return type("Response", (), {"status_code": 200, "headers": {}})(), parsed


_current: list[FakeAws] = []


@cache
def _client(service: str) -> Any:
    """One for all tests: botocore reads a service's model for seconds."""
    client = _session().client(service, region_name=REGION)
    client.meta.events.register("provide-client-params.*", lambda **sent: _current[-1].note(**sent))
    client.meta.events.register("before-call.*", lambda **sent: _current[-1].answer(**sent))
    return client


@cache
def _session() -> Any:
    return boto3.Session(aws_access_key_id="testing", aws_secret_access_key="testing", region_name=REGION)


@contextmanager
def aws(answers: Mapping[str, Answer] | None = None) -> Iterator[FakeAws]:
    with mock_aws():
        _current.append(FakeAws(answers or {}))
        try:
            yield _current[-1]
        finally:
            _current.pop()
