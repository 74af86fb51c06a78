"""A real S3 server on loopback, whose buckets moto keeps: programs reach it by ``AWS_ENDPOINT_URL``."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from botocore.awsrequest import AWSPreparedRequest
from werkzeug.serving import make_server
from werkzeug.wrappers import Request, Response

from rehearsal.providers.eks.aws_api import backend

REGION = "us-east-1"
_S3 = f"https://s3.{REGION}.amazonaws.com"


def _app(environ: Any, start: Any) -> Any:
    asked = Request(environ)
    headers = {key: value for key, value in asked.headers.items() if key.lower() != "host"}
    request = AWSPreparedRequest(
        asked.method, f"{_S3}{asked.full_path.rstrip('?')}", headers, asked.get_data(), stream_output=False
    )
    answered = backend.asked_of_moto(request)
    assert answered is not None, asked.full_path
    status, response_headers, body = answered
    of_hop = ("content-length", "transfer-encoding")
    forwarded = {key: value for key, value in response_headers.items() if key.lower() not in of_hop}
    return Response(body, status, forwarded)(environ, start)


@contextmanager
def object_store() -> Iterator[dict[str, str]]:
    """The server while it is needed; the environment by which a program finds it."""
    backend.forget()
    server = make_server("127.0.0.1", 0, _app, threaded=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.server_port}",
            "AWS_ACCESS_KEY_ID": "simulated",
            "AWS_SECRET_ACCESS_KEY": "simulated",
            "AWS_DEFAULT_REGION": REGION,
            "AWS_EC2_METADATA_DISABLED": "true",
        }
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
        backend.forget()
