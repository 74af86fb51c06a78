"""Serves the package to this user's engine. ``pulumi.provider.main`` would serve it to every user of the machine."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence

import grpc
import grpc.aio
from pulumi.provider.server import ProviderServicer
from pulumi.runtime.proto import provider_pb2_grpc

from components.package.provider import PackageProvider
from components.package.schema import PACKAGE
from machines.callers import CallersUnknown, LocalCallers, OwnUserOnlyAsync, require_known_callers

_OPTIONS = (("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1))


async def _serve(arguments: Sequence[str], engine: str) -> None:
    callers = LocalCallers()
    server = grpc.aio.server(options=_OPTIONS, interceptors=(OwnUserOnlyAsync(callers),))
    servicer = ProviderServicer(PackageProvider(), [*arguments], engine_address=engine)
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(servicer, server)
    callers.port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    print(callers.port, flush=True)  # noqa: T201 - the engine reads it
    await server.wait_for_termination()


def main(arguments: Sequence[str]) -> None:
    """Serve until the engine ends this process. The first of ``arguments`` that is no flag is the engine's address."""
    try:
        require_known_callers(PACKAGE)
        asyncio.run(_serve(arguments, next(each for each in arguments if not each.startswith("-"))))
    except CallersUnknown as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        pass
