"""AWS's protocols: an HTTP request as an operation with parameters, and answers and errors as HTTP again.

The formats are botocore's service models, read and written by moto's parsers and serialisers.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from moto.core.request import Request as HttpRequest
    from werkzeug.wrappers import Response

_CREDENTIAL: Final = re.compile(r"Credential=([^/]+)/\d{8}/([^/]+)/([^/]+)/aws4_request")
_DENIED: Final = {"ec2": "UnauthorizedOperation", "query": "AccessDenied"}
"""Protocol → code of a refusal for want of rights; ``AccessDeniedException`` in all others."""

_ERRORS_OF_QUERY: Final = ("sqs",)
"""Services of a JSON protocol whose errors keep the names of their former query protocol."""

# Services' models do not list the errors that all services have.
warnings.filterwarnings("ignore", r"Exception\(_ServiceError\) with code \w+ does not match an error shape")


class NotAwsError(Exception):
    """The request is none of AWS's: not signed, or for a service or operation that botocore does not know."""


class _ServiceError(Exception):
    """What moto's serialisers write as an error."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


@dataclass(frozen=True)
class Call:
    """One request. ``service`` is botocore's name of it, ``params`` are named as in its model."""

    service: str
    operation: str
    region: str
    access_key: str
    session_token: str = field(repr=False)
    params: Mapping[str, Any]
    protocol: str
    http: HttpRequest = field(repr=False, compare=False)

    def answer(self, result: Mapping[str, Any]) -> Response:
        """The response with ``result``, a structure of the operation's output."""
        return self._response(dict(result))

    def error(self, code: str, message: str, status: int | None = None) -> Response:
        """The response with one of the service's errors; ``status`` where the model has none for it."""
        response = self._response(_ServiceError(code, message))
        if status is not None:
            response.status_code = status
        if self.service in _ERRORS_OF_QUERY:
            response.headers["x-amzn-query-error"] = f"{code};Sender"
        return response

    def denied(self, message: str) -> Response:
        """The service's refusal for want of rights, or of credentials."""
        if self.service == "ec2":
            message = f"You are not authorized to perform this operation. {message}"
        code = "AccessDenied" if self.service in _ERRORS_OF_QUERY else _DENIED.get(self.protocol)
        return self.error(code or "AccessDeniedException", message, 400 if self.protocol == "json" else 403)

    def _response(self, result: Any) -> Response:
        from moto.core.serialize import SerializationContext, get_serializer_class
        from werkzeug.wrappers import Response

        model = _model(self.service)
        serialize = get_serializer_class(self.service, self.protocol)
        serialized = serialize(model.operation_model(self.operation), SerializationContext()).serialize(result)
        return Response(serialized["body"], serialized["status_code"], serialized["headers"])


def read(http: HttpRequest) -> Call:
    """The operation that a request asks for. Raises NotAwsError: it asks for none that botocore knows."""
    from botocore.exceptions import UnknownServiceError
    from moto.core.parse import PROTOCOL_PARSERS, RequestParserError
    from moto.core.request import determine_request_protocol
    from werkzeug.exceptions import NotFound

    # Before anything reads the form: afterwards there is no body to pass on.
    body = http.get_data()
    credential = _CREDENTIAL.search(http.headers.get("Authorization", ""))
    if credential is None:
        raise NotAwsError("the request is not signed with AWS's signature version 4")
    access_key, region, service = credential.groups()
    try:
        model = _model(service)
        protocol = determine_request_protocol(model, http.content_type)
        operation, path_params = _router(service, protocol).match(http)
        values = {
            "method": http.method,
            "values": http.values,
            "headers": http.headers,
            "body": body,
            "url_path": http.path,
            "url_params": path_params,
        }
        params = PROTOCOL_PARSERS[protocol](operation).parse(values)
    except (UnknownServiceError, NotFound, NotImplementedError, RequestParserError) as error:
        what = f"{http.method} {http.path} for {service}"
        raise NotAwsError(f"{what} is not a known operation: {error}") from error
    token = http.headers.get("X-Amz-Security-Token", "")
    return Call(service, str(operation.name), region, access_key, token, params, protocol, http)


def forward(call: Call, address: str) -> Any:
    """The request as botocore would send it, to the service's own ``address``."""
    from botocore.awsrequest import AWSPreparedRequest
    from botocore.compat import HTTPHeaders

    http = call.http
    query = f"?{http.query_string.decode()}" if http.query_string else ""
    headers = HTTPHeaders()
    for key, value in http.headers.items():
        headers[key] = value
    url = f"{address.rstrip('/')}{http.raw_path}{query}"
    return AWSPreparedRequest(http.method, url, headers, http.get_data(), False)


def _model(service: str) -> Any:
    from moto.core.utils import get_service_model

    return get_service_model(service)


@lru_cache(maxsize=32)
def _router(service: str, protocol: str) -> Any:
    from moto.core import routing

    routers = {"ec2": routing.QueryRouter, "query": routing.QueryRouter, "json": routing.JSONRouter}
    return routers.get(protocol, routing.RestRouter)(_model(service))
