"""``python worker.py PROJECT FD``: runs the program in the folder ``PROJECT`` for the other end of the pipe ``FD``.

It is a process of its own because an older version's packages have the names of today's. Only the recorder is today's.
"""

from __future__ import annotations

import gc
import os
import runpy
import sys
import threading
import traceback
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[4]
sys.path[0] = str(ROOT)

from google.protobuf import empty_pb2  # noqa: E402
from pulumi import RunError  # noqa: E402
from pulumi.runtime import mocks, rpc  # noqa: E402
from pulumi.runtime.proto import provider_pb2, resource_pb2  # noqa: E402

from tests import recorder  # noqa: E402


class PipeMonitor(recorder.Monitor):
    """Hands every request to the other end of the pipe, one after another."""

    def __init__(self, pipe: Connection) -> None:
        super().__init__(_NoMocks())
        self._pipe, self._lock = pipe, threading.Lock()

    def RegisterResource(self, request: Any) -> Any:
        urn = self.make_urn(request.parent, request.type, request.name)
        if request.type == "pulumi:pulumi:Stack":
            return resource_pb2.RegisterResourceResponse(urn=urn)
        aliases = [self._alias(request, each) for each in request.aliases]
        id, outputs = self._ask("register", recorder.registration_of(urn, request), aliases)
        return resource_pb2.RegisterResourceResponse(urn=urn, id=id, object=_marshal(outputs))

    def ReadResource(self, request: Any) -> Any:
        urn = self.make_urn(request.parent, request.type, request.name)
        outputs = self._ask("read", request.type, request.name, request.id, recorder.reveal(request.properties)[0])
        return resource_pb2.ReadResourceResponse(urn=urn, properties=_marshal(outputs))

    def Invoke(self, request: Any) -> Any:
        result, failure = self._ask("invoke", request.tok, recorder.reveal(request.args)[0])
        failures = [provider_pb2.CheckFailure(property="", reason=failure)] if failure else []
        return resource_pb2.ResourceInvokeResponse(**{"failures": failures, "return": _marshal(result)})

    def RegisterResourceOutputs(self, request: Any) -> Any:
        self._ask("outputs", request.urn, *recorder.reveal(request.outputs))
        return empty_pb2.Empty()

    def _alias(self, request: Any, alias: Any) -> str:
        """The URN that a resource had: what an alias does not name is as today."""
        if alias.urn:
            return str(alias.urn)
        spec = alias.spec
        parent = "" if spec.noParent else spec.parentUrn or request.parent
        return self.make_urn(parent, spec.type or request.type, spec.name or request.name)

    def _ask(self, *question: Any) -> Any:
        with self._lock:
            self._pipe.send(question)
            answer, refusal = self._pipe.recv()
        if refusal:
            raise RuntimeError(refusal)
        return answer


class _NoMocks(mocks.Mocks):
    """Never asked: ``PipeMonitor`` answers everything."""

    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str, dict[str, Any]]:
        raise AssertionError(args.typ)

    def call(self, args: mocks.MockCallArgs) -> tuple[dict[str, Any], None]:
        raise AssertionError(args.token)


def _marshal(properties: dict[str, Any]) -> Any:
    return recorder.at_once(rpc.serialize_properties(properties, {}))


def main(project: Path, pipe: Connection) -> None:
    """Answer requests, ``run`` and ``load``, until the pipe ends."""
    sys.path[0] = str(project)
    os.chdir(project)
    gc.set_threshold(100_000, 20, 100)  # as in tests/plugin.py
    while True:
        try:
            request, *arguments = pipe.recv()
        except EOFError:
            return
        pipe.send(("end", run(pipe, *arguments)) if request == "run" else load(*arguments))


def run(pipe: Connection, stack: str, config: dict[str, str], secrets: list[str]) -> str:
    """Run the program; returns its own words why it refused or where it failed, or an empty text."""
    from components.settings import SettingsError

    try:
        recorder.run_on(
            PipeMonitor(pipe),
            lambda: void(runpy.run_path("__main__.py", run_name="__main__")),
            project="gpucluster",
            stack=stack,
            config=config,
            secrets=secrets,
        )
    except (RunError, SettingsError) as error:
        return str(error)
    except BaseException:
        return traceback.format_exc()
    return ""


def void(_: object) -> None:
    """A program returns nothing."""


def load(config: dict[str, Any], stack: str, account: str) -> str:
    """Read settings; returns what is refused, or an empty text."""
    from components.settings import SettingsError
    from components.settings.read import load

    try:
        load(config, stack=stack, project=account)
    except SettingsError as error:
        return str(error)
    return ""


if __name__ == "__main__":
    main(Path(sys.argv[1]), Connection(int(sys.argv[2])))
