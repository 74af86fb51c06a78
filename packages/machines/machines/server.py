# ruff: noqa: N802 - the methods' names are the protocol's
"""The engine's gRPC protocol in front of the ``MachineResources``, and the process that the engine starts.

``pulumi.provider.experimental`` (3.272) would be shorter, but it adds a Python traceback to every error, cannot return
unknown values in a preview, has no partial state of a failed create, and gives ``delete`` no inputs.

The plugin reports that it takes no secrets: the engine then sends plain values, and itself marks every output secret
whose input was (https://github.com/pulumi/pulumi/blob/sdk/v3.200.0/sdk/go/common/resource/plugin/provider_plugin.go,
annotateSecrets).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import stat
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final, NoReturn

import grpc
from google.protobuf.empty_pb2 import Empty
from google.protobuf.struct_pb2 import Struct
from pulumi.runtime.proto import engine_pb2, engine_pb2_grpc, plugin_pb2, provider_pb2, provider_pb2_grpc, status_pb2

from machines import NAME, VERSION
from machines.callers import CallersUnknown, LocalCallers, OwnUserOnlyAsync, StrangerError, require_known_callers
from machines.differences import ResourceDiff
from machines.errors import OperationError, Problem
from machines.resources import SECRETS, MachineResources
from machines.wire import Properties, marshal, unmarshal

_OPTIONS: Final = (("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1))
_NOT_CONFIGURATION: Final = ("version", "pluginDownloadURL", "__internal")
_KINDS: Final = provider_pb2.PropertyDiff


class _Servicer(provider_pb2_grpc.ResourceProviderServicer):
    """Translates calls; ``engine`` is the engine's address for log lines, empty for none.

    A connection has the keys that it was configured with, and no others.
    """

    def __init__(self, callers: LocalCallers, engine: str = "") -> None:
        self._callers = callers
        self._configured: dict[int, MachineResources] = {}
        self._channel = grpc.aio.insecure_channel(engine) if engine else None

    def cancel(self) -> None:
        """Start no further phase on any connection."""
        for resources in self._configured.values():
            resources.cancel()

    async def close(self) -> None:
        """End the sessions of all connections."""
        for resources in self._configured.values():
            await resources.close()

    async def Handshake(self, request: Any, context: Any) -> provider_pb2.ProviderHandshakeResponse:
        return provider_pb2.ProviderHandshakeResponse()

    async def GetPluginInfo(self, request: Any, context: Any) -> plugin_pb2.PluginInfo:
        return plugin_pb2.PluginInfo(version=VERSION)

    async def GetSchema(self, request: Any, context: Any) -> provider_pb2.GetSchemaResponse:
        return provider_pb2.GetSchemaResponse(schema=json.dumps({"name": NAME, "version": VERSION}))

    async def CheckConfig(self, request: provider_pb2.CheckRequest, context: Any) -> provider_pb2.CheckResponse:
        async with self._errors(context):
            failures = MachineResources.check_config(_configuration(request.news))
            inputs = marshal(unmarshal(request.news), ("privateKey", "kubeconfig"))
            return provider_pb2.CheckResponse(inputs=inputs, failures=_failures(failures))

    async def DiffConfig(self, request: provider_pb2.DiffRequest, context: Any) -> provider_pb2.DiffResponse:
        async with self._errors(context):
            olds, news = _configuration(request.old_inputs), _configuration(request.news)
            changes = {key for key in {*olds, *news} if olds.get(key) != news.get(key)}
            return _diff_response(ResourceDiff(frozenset(changes)), olds, news)

    async def Configure(self, request: provider_pb2.ConfigureRequest, context: Any) -> provider_pb2.ConfigureResponse:
        async with self._errors(context):
            connection = self._callers.connection(context.peer())
            resources = self._configured.setdefault(connection, MachineResources())
            resources.configure(_configuration(request.args))
            return provider_pb2.ConfigureResponse(supportsPreview=True)

    async def Check(self, request: provider_pb2.CheckRequest, context: Any) -> provider_pb2.CheckResponse:
        async with self._errors(context):
            inputs, failures = await self._resources(context).check(
                request.type, unmarshal(request.news), self._log(request.urn)
            )
            return provider_pb2.CheckResponse(inputs=marshal(inputs), failures=_failures(failures))

    async def Diff(self, request: provider_pb2.DiffRequest, context: Any) -> provider_pb2.DiffResponse:
        async with self._errors(context):
            olds, news = unmarshal(request.old_inputs), unmarshal(request.news)
            diff = self._resources(context).diff(request.type, olds, unmarshal(request.olds), news)
            return _diff_response(diff, olds, news, frozenset(request.ignoreChanges))

    async def Create(self, request: provider_pb2.CreateRequest, context: Any) -> provider_pb2.CreateResponse:
        inputs = unmarshal(request.properties)
        async with self._errors(context, request.type, inputs):
            if request.preview:
                state = self._resources(context).preview(request.type, {}, inputs)
                return provider_pb2.CreateResponse(properties=marshal(state, SECRETS))
            name, state = await self._resources(context).create(request.type, inputs, self._log(request.urn))
            return provider_pb2.CreateResponse(id=name, properties=marshal(state, SECRETS))

    async def Read(self, request: provider_pb2.ReadRequest, context: Any) -> provider_pb2.ReadResponse:
        async with self._errors(context):
            inputs, state = unmarshal(request.inputs), unmarshal(request.properties)
            if not inputs:
                raise OperationError(
                    "a machine cannot be imported: declare it, `pulumi up` continues what it finds there"
                )
            state = await self._resources(context).read(request.type, inputs, state, self._log(request.urn))
            return provider_pb2.ReadResponse(id=request.id, properties=marshal(state, SECRETS), inputs=request.inputs)

    async def Update(self, request: provider_pb2.UpdateRequest, context: Any) -> provider_pb2.UpdateResponse:
        olds, inputs = unmarshal(request.olds), unmarshal(request.news)
        async with self._errors(context, request.type, inputs, request.id):
            if request.preview:
                state = self._resources(context).preview(request.type, olds, inputs)
            else:
                state = await self._resources(context).update(request.type, olds, inputs, self._log(request.urn))
            return provider_pb2.UpdateResponse(properties=marshal(state, SECRETS))

    async def Delete(self, request: provider_pb2.DeleteRequest, context: Any) -> Empty:
        async with self._errors(context):
            inputs, state = unmarshal(request.old_inputs), unmarshal(request.properties)
            await self._resources(context).delete(request.type, inputs or state, state, self._log(request.urn))
            return Empty()

    async def Cancel(self, request: Any, context: Any) -> Empty:
        async with self._errors(context):
            self._resources(context).cancel()
            return Empty()

    def _resources(self, context: Any) -> MachineResources:
        """Those of this connection. Raises ``OperationError`` before it was configured."""
        with contextlib.suppress(StrangerError, KeyError):
            return self._configured[self._callers.connection(context.peer())]
        raise OperationError("this connection has not configured the provider; run the command again")

    def _log(self, urn: str) -> EngineLog:
        return EngineLog(self._channel, urn)

    @contextlib.asynccontextmanager
    async def _errors(
        self, context: Any, resource_type: str = "", inputs: Properties | None = None, name: str = ""
    ) -> AsyncIterator[None]:
        """End the call with a sentence for the user; with ``inputs``, what was begun stays in the state."""
        try:
            yield
        except OperationError as error:
            await _abort(context, error, inputs, name)
        except asyncio.CancelledError:
            raise
        except Exception as error:
            # Its text may hold what a script was given, a token for instance; only its kind and place are told.
            frame = error.__traceback__
            while frame is not None and frame.tb_next is not None:
                frame = frame.tb_next
            place = f"{Path(frame.tb_frame.f_code.co_filename).name}:{frame.tb_lineno}" if frame else "?"
            await context.abort(
                grpc.StatusCode.INTERNAL, f"{NAME} has a defect: {type(error).__name__} at {place} ({resource_type})"
            )


class EngineLog:
    """Lines for the user about one resource."""

    def __init__(self, channel: Any, urn: str) -> None:
        self._stub: Any = engine_pb2_grpc.EngineStub(channel) if channel is not None else None
        self._urn = urn

    async def progress(self, message: str) -> None:
        """A line beside the resource while it is worked on; lost afterwards."""
        await self._send(engine_pb2.INFO, message, ephemeral=True)

    async def warning(self, message: str) -> None:
        """A line that stays."""
        await self._send(engine_pb2.WARNING, message, ephemeral=False)

    async def _send(self, severity: Any, message: str, *, ephemeral: bool) -> None:
        if self._stub is not None:
            request = engine_pb2.LogRequest(severity=severity, message=message, urn=self._urn, ephemeral=ephemeral)
            await self._stub.Log(request)


async def _abort(context: Any, error: OperationError, inputs: Properties | None, name: str) -> NoReturn:
    """A code other than UNKNOWN and INTERNAL says that the state is known."""
    code = grpc.StatusCode.FAILED_PRECONDITION
    if error.begun and inputs is not None:
        details = provider_pb2.ErrorResourceInitFailed(
            id=name or str(inputs["machine"]["name"] if "machine" in inputs else inputs["pool"]),
            properties=marshal({**inputs, **error.state}, SECRETS),
            inputs=marshal(inputs),
            reasons=[str(error)],
        )
        status = status_pb2.Status(code=code.value[0], message=str(error))
        status.details.add().Pack(details)
        context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
    await context.abort(code, str(error))
    raise AssertionError("abort raises")


def _configuration(struct: Struct) -> Properties:
    """The provider's settings; the SDK sends every value that is no string as JSON text."""
    return {key: _parsed(key, value) for key, value in unmarshal(struct).items() if key not in _NOT_CONFIGURATION}


def _parsed(key: str, value: Any) -> Any:
    if key in ("port", "jumpHost", "skipUnreachable", "controlPlanes") and isinstance(value, str):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _failures(problems: list[Problem]) -> list[provider_pb2.CheckFailure]:
    return [provider_pb2.CheckFailure(property=problem.where, reason=problem.text) for problem in problems]


def _diff_response(
    diff: ResourceDiff, olds: Properties, news: Properties, ignored: frozenset[str] = frozenset()
) -> provider_pb2.DiffResponse:
    response = provider_pb2.DiffResponse(
        changes=provider_pb2.DiffResponse.DIFF_NONE, deleteBeforeReplace=True, hasDetailedDiff=True
    )
    for path in sorted({*diff.changes, *diff.replaces} - ignored):
        response.changes = provider_pb2.DiffResponse.DIFF_SOME
        key, replace = path.partition(".")[0], path in diff.replaces
        kind = _KINDS.UPDATE_REPLACE if replace else _KINDS.UPDATE
        if key not in olds and key in news:
            kind = _KINDS.ADD_REPLACE if replace else _KINDS.ADD
        elif key in olds and key not in news:
            kind = _KINDS.DELETE_REPLACE if replace else _KINDS.DELETE
        response.detailedDiff[path].kind = kind
        response.detailedDiff[path].inputDiff = key in news or key in olds
        if key not in response.diffs:
            response.diffs.append(key)
        if replace:
            response.replaces.append(path)
    return response


async def serve(engine: str) -> None:
    """Serve until the engine ends: it closes the standard input, or interrupts; a killed engine closes it as well."""
    callers = LocalCallers()
    servicer = _Servicer(callers, engine)
    server = grpc.aio.server(options=_OPTIONS, interceptors=(OwnUserOnlyAsync(callers),))
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(servicer, server)
    callers.port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    print(callers.port, flush=True)  # noqa: T201 - the engine reads it
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ended.set)
    if stat.S_ISFIFO(os.fstat(0).st_mode):
        loop.add_reader(0, lambda: None if os.read(0, 4096) else (loop.remove_reader(0), ended.set()))
    await ended.wait()
    servicer.cancel()
    await server.stop(grace=4)  # the engine kills after 5
    await servicer.close()


def main() -> None:
    """``pulumi-resource-gpucluster-machines ENGINE_ADDRESS``: started by the engine, never by hand."""
    arguments = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    if not arguments:
        sys.exit(f"{NAME}: the Pulumi engine starts this program; run `pulumi up` in the project's folder")
    try:
        require_known_callers(NAME)
    except CallersUnknown as error:
        sys.exit(str(error))
    asyncio.run(serve(arguments[0]))
