# ruff: noqa: N802 - the methods' names are the protocol's
"""The engine's gRPC protocol in front of any ``Provider``, and the executables that the engine starts as its plugins.

The provider reports that it takes no secrets: it then sends plain values and itself marks every output
secret whose input was, as it does for any provider that knows nothing of secrets
(https://github.com/pulumi/pulumi/blob/v3.200.0/sdk/go/common/resource/plugin/provider_plugin.go, annotateSecrets).

The executables print the rehearsal's port and end with the engine. They are laid out as the engine's plugin cache, so
that with ``PULUMI_HOME`` set to the directory above, the engine uses them without a warning. An executable of the same
name on PATH wins, with one: that is how another plugin replaces a simulated one
(https://github.com/pulumi/pulumi/blob/v3.200.0/sdk/go/common/workspace/plugins.go, getPluginInfoAndPath).
"""

from __future__ import annotations

import json
import logging
import os
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NoReturn, Protocol

import grpc
from google.protobuf.empty_pb2 import Empty
from google.protobuf.struct_pb2 import Struct
from grpc import ServicerContext
from pulumi.runtime.proto import plugin_pb2, provider_pb2_grpc, status_pb2
from pulumi.runtime.proto import provider_pb2 as pb

from machines.callers import CallersUnknown, LocalCallers, OwnUserOnly, StrangerError, require_known_callers
from rehearsal.providers.base import CallContext, CheckFailure, Diff, Previous, Properties, Provider, ProviderError
from rehearsal.providers.differences import MISSING, covers, lookup, parse_path
from rehearsal.providers.marshal import marshal, unmarshal

_CALLS_AT_ONCE: Final = 128
"""Threads: the engine runs up to ``--parallel`` operations (4 per CPU by default) and some only wait."""

_INSTANCES: Final = 256
"""Plugin processes remembered; the engine never says that one has ended."""

_NOT_CONFIGURATION: Final = ("version", "pluginDownloadURL", "__internal")
_OPTIONS: Final = (("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1))
_log = logging.getLogger(__name__)


class _Named(Protocol):
    """What every request about one resource has."""

    urn: str
    type: str
    name: str


@dataclass
class _Instance:
    """What one plugin process is to the engine: a provider and its configuration."""

    provider: Provider
    default: Provider | None
    config: Properties = field(default_factory=dict)

    def of(self, type: str) -> Provider:
        """The provider that answers for a resource type: the default for one that is not simulated, if there is one."""
        return self.provider if self.default is None or self.provider.knows(type) else self.default


class _Servicer(provider_pb2_grpc.ResourceProviderServicer):
    """Translates calls. One plugin process is one connection, and starts with a handshake."""

    def __init__(
        self, provider: Provider, callers: LocalCallers, log_file: Path | None, default: Provider | None
    ) -> None:
        self._provider = provider
        self._callers = callers
        self._default = default
        self._log_file = log_file
        self._instances: OrderedDict[int, _Instance] = OrderedDict()
        self._lock = threading.Lock()

    def Handshake(self, request: pb.ProviderHandshakeRequest, context: ServicerContext) -> pb.ProviderHandshakeResponse:
        with self._errors("the handshake", context):
            instance = _Instance(self._provider.instance(), self._default)
            connection = self._callers.connection(context.peer())
            with self._lock:
                self._instances[connection] = instance
                while len(self._instances) > _INSTANCES:
                    self._instances.popitem(last=False)
            return pb.ProviderHandshakeResponse()

    def Attach(self, request: plugin_pb2.PluginAttach, context: ServicerContext) -> Empty:
        return Empty()

    def GetPluginInfo(self, request: Empty, context: ServicerContext) -> plugin_pb2.PluginInfo:
        return plugin_pb2.PluginInfo(version=self._provider.version)

    def GetSchema(self, request: pb.GetSchemaRequest, context: ServicerContext) -> pb.GetSchemaResponse:
        schema = {"name": self._provider.name, "version": self._provider.version}
        return pb.GetSchemaResponse(schema=json.dumps(schema))

    def CheckConfig(self, request: pb.CheckRequest, context: ServicerContext) -> pb.CheckResponse:
        with self._errors("the check of the provider's configuration", context):
            failures = self._instance(context).provider.check_config(_configuration(request.news))
            return pb.CheckResponse(inputs=request.news, failures=_failures(failures))

    def DiffConfig(self, request: pb.DiffRequest, context: ServicerContext) -> pb.DiffResponse:
        with self._errors("the diff of the provider's configuration", context):
            olds, news = _configuration(request.old_inputs), _configuration(request.news)
            diff = self._instance(context).provider.diff_config(olds, news)
            return _diff_response(diff, olds, news, tuple(request.ignoreChanges))

    def Configure(self, request: pb.ConfigureRequest, context: ServicerContext) -> pb.ConfigureResponse:
        with self._errors("configuration", context):
            instance = self._instance(context)
            instance.config = _configuration(request.args)
            instance.provider.configure(instance.config)
            return pb.ConfigureResponse(supportsPreview=True)

    def Check(self, request: pb.CheckRequest, context: ServicerContext) -> pb.CheckResponse:
        with self._errors(f"check of {request.urn}", context):
            instance = self._instance(context)
            call = _request(request, instance, random_seed=request.randomSeed)
            inputs, failures = instance.of(request.type).check(call, unmarshal(request.olds), unmarshal(request.news))
            return pb.CheckResponse(inputs=marshal(inputs), failures=_failures(failures))

    def Diff(self, request: pb.DiffRequest, context: ServicerContext) -> pb.DiffResponse:
        with self._errors(f"diff of {request.urn}", context):
            instance = self._instance(context)
            old_inputs, news = unmarshal(request.old_inputs), unmarshal(request.news)
            ignored = tuple(request.ignoreChanges)
            previous = Previous(old_inputs, unmarshal(request.olds))
            diff = instance.of(request.type).diff(_request(request, instance), request.id, previous, news, ignored)
            return _diff_response(diff, old_inputs, news, ignored)

    def Create(self, request: pb.CreateRequest, context: ServicerContext) -> pb.CreateResponse:
        with self._errors(f"create of {request.urn}", context, request.type):
            instance = self._instance(context)
            call = _request(request, instance, preview=request.preview)
            created = instance.of(request.type).create(call, unmarshal(request.properties), request.timeout)
            return pb.CreateResponse(id=created.id, properties=self._outputs(request.type, created.state))

    def Read(self, request: pb.ReadRequest, context: ServicerContext) -> pb.ReadResponse:
        with self._errors(f"read of {request.urn}", context, request.type):
            instance = self._instance(context)
            inputs, state = unmarshal(request.inputs), unmarshal(request.properties)
            resource = instance.of(request.type).read(_request(request, instance), request.id, inputs, state)
            if not resource.id:
                return pb.ReadResponse()
            known = inputs if resource.inputs is None else resource.inputs
            return pb.ReadResponse(
                id=resource.id, properties=self._outputs(request.type, resource.state), inputs=marshal(known)
            )

    def Update(self, request: pb.UpdateRequest, context: ServicerContext) -> pb.UpdateResponse:
        with self._errors(f"update of {request.urn}", context, request.type):
            instance = self._instance(context)
            call = _request(request, instance, preview=request.preview)
            previous = Previous(unmarshal(request.old_inputs), unmarshal(request.olds))
            state = instance.of(request.type).update(
                call, request.id, previous, unmarshal(request.news), request.timeout
            )
            return pb.UpdateResponse(properties=self._outputs(request.type, state))

    def Delete(self, request: pb.DeleteRequest, context: ServicerContext) -> Empty:
        with self._errors(f"delete of {request.urn}", context):
            instance = self._instance(context)
            inputs, state = unmarshal(request.old_inputs), unmarshal(request.properties)
            instance.of(request.type).delete(_request(request, instance), request.id, inputs, state, request.timeout)
            return Empty()

    def Invoke(self, request: pb.InvokeRequest, context: ServicerContext) -> pb.InvokeResponse:
        with self._errors(f"function {request.tok}", context):
            result = self._instance(context).provider.invoke(request.tok, unmarshal(request.args))
            response = pb.InvokeResponse()
            getattr(response, "return").CopyFrom(marshal(result))
            return response

    def Call(self, request: pb.CallRequest, context: ServicerContext) -> pb.CallResponse:
        with self._errors(f"method {request.tok}", context):
            raise ProviderError(f"{self._provider.name}: method {request.tok} is not simulated")

    def Construct(self, request: pb.ConstructRequest, context: ServicerContext) -> pb.ConstructResponse:
        with self._errors(f"component {request.name}", context):
            raise ProviderError(f"{self._provider.name}: component {request.type} is not simulated")

    def Cancel(self, request: Empty, context: ServicerContext) -> Empty:
        with self._errors("the cancellation", context):
            self._instance(context).provider.cancel()
            return Empty()

    def _instance(self, context: ServicerContext) -> _Instance:
        """The instance behind this connection."""
        with self._lock, suppress(StrangerError, KeyError):
            connection = self._callers.connection(context.peer())
            self._instances.move_to_end(connection)
            return self._instances[connection]
        raise ProviderError(f"{self._provider.name}: the engine's connection was lost; run the command again")

    def _outputs(self, resource_type: str, state: Properties) -> Struct:
        return marshal(state, self._provider.secret_outputs.get(resource_type, ()))

    @contextmanager
    def _errors(self, action: str, context: ServicerContext, resource_type: str = "") -> Iterator[None]:
        """End the call with the provider's error, or with a readable one where the provider has a defect."""
        try:
            yield
        except ProviderError as error:
            self._abort(context, error, resource_type)
        except Exception as error:
            _log.exception("%s: %s failed", self._provider.name, action)
            see = f"; the traceback is in {self._log_file}" if self._log_file else ""
            context.abort(
                grpc.StatusCode.INTERNAL,
                f"the simulated {self._provider.name} provider has a defect: "
                f"{action} raised {type(error).__name__}: {error}{see}",
            )

    def _abort(self, context: ServicerContext, error: ProviderError, resource_type: str) -> NoReturn:
        """Raise ``error`` at the engine; a code other than UNKNOWN and INTERNAL says that the state is known."""
        code = grpc.StatusCode.FAILED_PRECONDITION
        if error.partial is not None:
            details = pb.ErrorResourceInitFailed(
                id=error.partial.id,
                properties=self._outputs(resource_type, error.partial.state),
                inputs=None if error.partial.inputs is None else marshal(error.partial.inputs),
                reasons=[str(error)],
            )
            status = status_pb2.Status(code=code.value[0], message=str(error))
            status.details.add().Pack(details)
            context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
        context.abort(code, str(error))


def _configuration(struct: Struct) -> Properties:
    return {key: value for key, value in unmarshal(struct).items() if key not in _NOT_CONFIGURATION}


def _request(message: _Named, instance: _Instance, **more: Any) -> CallContext:
    return CallContext(urn=message.urn, type=message.type, name=message.name, config=instance.config, **more)


def _failures(failures: list[CheckFailure]) -> list[pb.CheckFailure]:
    return [pb.CheckFailure(property=failure.property, reason=failure.reason) for failure in failures]


def _diff_response(diff: Diff, olds: Properties, news: Properties, ignored: tuple[str, ...]) -> pb.DiffResponse:
    """The engine's form of ``diff``, without the changes that the program ignores."""
    patterns = [parse_path(pattern) for pattern in ignored]
    response = pb.DiffResponse(
        changes=pb.DiffResponse.DIFF_NONE,
        deleteBeforeReplace=diff.delete_before_replace,
        hasDetailedDiff=True,
    )
    for text in sorted({*diff.changes, *diff.replaces}):
        path = parse_path(text)
        if any(covers(pattern, path) for pattern in patterns):
            continue
        replace = text in diff.replaces
        kind = _change(lookup(olds, path) is not MISSING, lookup(news, path) is not MISSING, replace)
        response.changes = pb.DiffResponse.DIFF_SOME
        response.detailedDiff[text].kind = kind
        response.detailedDiff[text].inputDiff = True
        if str(path[0]) not in response.diffs:
            response.diffs.append(str(path[0]))
        if replace:
            response.replaces.append(text)
    return response


def _change(before: bool, after: bool, replace: bool) -> pb.PropertyDiff.Kind.ValueType:
    kinds = pb.PropertyDiff
    if after and not before:
        return kinds.ADD_REPLACE if replace else kinds.ADD
    if before and not after:
        return kinds.DELETE_REPLACE if replace else kinds.DELETE
    return kinds.UPDATE_REPLACE if replace else kinds.UPDATE


@dataclass(frozen=True)
class Server:
    """A provider being served on ``127.0.0.1:port`` to this process's user alone."""

    port: int
    _server: grpc.Server

    def stop(self, grace: float = 1.0) -> None:
        """Refuse new calls, give those under way ``grace`` seconds, and free the port."""
        self._server.stop(grace).wait()


def serve(
    provider: Provider,
    log_file: Path | None = None,
    default: Provider | None = None,
    interceptors: Sequence[grpc.ServerInterceptor] = (),
) -> Server:
    """Serve ``provider`` on a free port until ``stop``. ``log_file`` is named in the error of an unforeseen exception.

    ``default`` answers for resource types that ``provider`` does not know; without one they are errors.

    Any number of plugin processes of this user may use the server, one after another or at once; each has its own
    ``provider.instance()`` and configuration. Raises ``OSError`` if no port is free, or if this machine does not tell
    users apart.
    """
    try:
        require_known_callers(f"the simulated {provider.name} provider")
    except CallersUnknown as error:
        raise OSError(str(error)) from error
    workers, callers = ThreadPoolExecutor(_CALLS_AT_ONCE, f"{provider.name}-provider"), LocalCallers()
    server = grpc.server(workers, interceptors=[OwnUserOnly(callers), *interceptors], options=_OPTIONS)
    servicer = _Servicer(provider, callers, log_file, default)
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(servicer, server)
    try:
        callers.port = server.add_insecure_port("127.0.0.1:0")
    except RuntimeError as error:
        raise OSError(f"the simulated {provider.name} provider found no free port: {error}") from error
    server.start()
    return Server(callers.port, server)


# The engine closes a plugin's standard input when it ends, in whichever way, and interrupts it before.
_SCRIPT: Final = """\
#!/bin/sh
if ! kill -0 {pid} 2>/dev/null; then
  echo "the rehearsal (process {pid}) that serves {name} is gone; start another" >&2
  exit 1
fi
echo {port}
exec cat
"""


def write_launchers(plugins: Path, ports: Mapping[Provider, int], pid: int | None = None) -> None:
    """Write a launcher per provider into ``plugins``, whose parent the engine must get as ``PULUMI_HOME``.

    ``pid`` (default: this process) is the process that serves; once it is gone the launchers refuse with a sentence.
    """
    for provider, port in ports.items():
        directory = plugins / f"resource-{provider.name}-v{provider.version}"
        directory.mkdir(parents=True, exist_ok=True)
        launcher = directory / f"pulumi-resource-{provider.name}"
        launcher.write_text(_SCRIPT.format(pid=pid or os.getpid(), name=provider.name, port=port))
        launcher.chmod(0o755)
