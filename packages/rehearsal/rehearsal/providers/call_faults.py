"""Faults of the clouds' APIs: chosen calls of the engine fail, are late or stale, or end the engine.

The one place is in front of every simulated provider's gRPC methods. A call has the engine's name of its method and its
resource's URN; previews are never disturbed, and a planned fault happens once.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal, NoReturn

import grpc
from pulumi.runtime.proto import provider_pb2
from typing_extensions import override

from rehearsal.cluster.processes import kill_children

FaultKind = Literal["refused", "throttled", "slow", "lost answer", "killed before", "killed after", "stale"]
"""``lost answer``: the call took effect and the engine gets an error. ``killed``: SIGKILL to the engine."""

CALLS: Final = ("Create", "Read", "Update", "Delete")
_SLOW_SECONDS: Final = 3.0
_REFUSALS: Final = {
    "refused": "503 Service Unavailable: the service is currently unavailable",
    "throttled": "429 Too Many Requests: rate limit exceeded, try again later",
    "killed before": "connection refused",
    "killed after": "connection reset by peer",
    "lost answer": "connection reset by peer",
}
_Answer = Callable[[Any, grpc.ServicerContext], Any]


@dataclass(frozen=True)
class CallFault:
    """What happens to the next call of that method about that resource."""

    call: str
    urn: str
    kind: FaultKind


class CallFaults(grpc.ServerInterceptor):
    """Planned faults, and the calls that came. One for all providers of a sandbox; thread-safe.

    ``kill`` ends the engine at once, by default the ``pulumi`` that this process's parent started; false if none ran.
    """

    def __init__(self, kill: Callable[[], bool] | None = None) -> None:
        self._kill = kill or kill_engine
        self._lock, self._killing = threading.Lock(), threading.Lock()
        self._kills = 0
        self._planned: dict[tuple[str, str], CallFault] = {}
        self._injected: list[CallFault] = []
        self._ids: dict[str, str] = {}
        self._answers: dict[str, list[provider_pb2.ReadResponse]] = {}
        self._running = 0

    def plan(self, faults: Iterable[CallFault]) -> None:
        """These and no others from now on; what was injected and created before is forgotten."""
        with self._lock:
            self._ids.clear()
            self._planned = {(fault.call, fault.urn): fault for fault in faults}
            self._injected.clear()

    def report(self) -> dict[str, Any]:
        """``injected``: the faults that happened; ``ids``: URN → id of what the cloud has created;
        ``running``: calls that it still works on, for an engine that may be dead."""
        with self._lock:
            injected = [vars(fault) for fault in self._injected]
            return {"injected": injected, "ids": dict(self._ids), "running": self._running}

    @override
    def intercept_service(self, continuation: Callable[[Any], Any], handler_call_details: Any) -> Any:
        """Put the faults in front of the method."""
        handler, call = continuation(handler_call_details), handler_call_details.method.rpartition("/")[2]
        if handler is None or call not in CALLS:
            return handler
        return grpc.unary_unary_rpc_method_handler(
            lambda request, context: self._answer(call, handler.unary_unary, request, context),
            handler.request_deserializer,
            handler.response_serializer,
        )

    def _answer(self, call: str, answer: _Answer, request: Any, context: grpc.ServicerContext) -> Any:
        if getattr(request, "preview", False):
            return answer(request, context)
        with self._lock:
            fault = self._planned.pop((call, request.urn), None)
            self._running += 1
            kills = self._kills
        try:
            return self._with(fault, kills, call, answer, request, context)
        finally:
            with self._lock:
                self._running -= 1

    def _with(self, fault: CallFault | None, kills: int, call: str, answer: _Answer, request: Any, context: Any) -> Any:
        if fault is None:
            return self._answered(call, answer, request, context)
        kind, before = fault.kind, self._answers.get(request.urn, [])[:-1]
        if kind == "killed before":
            self._end_engine(fault, kills)
        elif kind != "killed after" and (before or kind != "stale"):
            self._count(fault)
        if kind in ("refused", "throttled", "killed before"):
            _abort(context, kind)
        if kind == "slow":
            time.sleep(_SLOW_SECONDS)
        response = self._answered(call, answer, request, context)
        if kind == "killed after":
            self._end_engine(fault, kills)
        if kind in ("lost answer", "killed after"):
            _abort(context, kind)
        return before[-1] if before and kind == "stale" else response

    def _answered(self, call: str, answer: _Answer, request: Any, context: Any) -> Any:
        response = answer(request, context)
        self._remember(call, request, response)
        return response

    def _count(self, fault: CallFault) -> None:
        with self._lock:
            self._injected.append(fault)

    def _end_engine(self, fault: CallFault, kills: int) -> None:
        """Kill the engine; where another fault did since the call came (then there were ``kills``), once is enough.

        The next engine, which recovers the stack, is not killed. If no engine runs, the fault is planned again.
        """
        with self._killing:
            if self._kills > kills:
                self._count(fault)
            elif self._kill():
                self._kills += 1
                self._count(fault)
            else:
                with self._lock:
                    self._planned[fault.call, fault.urn] = fault

    def _remember(self, call: str, request: Any, response: Any) -> None:
        with self._lock:
            if call == "Delete":
                self._ids.pop(request.urn, None)
                self._answers.pop(request.urn, None)
            elif call in ("Create", "Update"):
                id, inputs = (response.id, request.properties) if call == "Create" else (request.id, request.news)
                self._ids[request.urn] = id
                known = provider_pb2.ReadResponse(id=id, properties=response.properties, inputs=inputs)
                self._answers.setdefault(request.urn, []).append(known)


def _abort(context: grpc.ServicerContext, kind: str) -> NoReturn:
    context.abort(grpc.StatusCode.UNKNOWN, _REFUSALS[kind])


def kill_engine() -> bool:
    """End each ``pulumi`` that this process's parent started; false if none runs."""
    return kill_children(os.getppid(), "pulumi")
