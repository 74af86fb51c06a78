"""A provider that keeps its resources in memory, to see what the server makes of each answer."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import ClassVar

from rehearsal.providers.base import (
    CallContext,
    CheckFailure,
    Created,
    Diff,
    Previous,
    Properties,
    Provider,
    ProviderError,
)
from rehearsal.providers.differences import differences, format_path


class MemoryProvider(Provider):
    """Resources of the type ``memory:index:Thing``; changing ``kind`` replaces one; ``fail`` says how to fail."""

    name = "memory"
    version = "1.2.3"
    secret_outputs: ClassVar[Mapping[str, tuple[str, ...]]] = {"memory:index:Thing": ("token", "nested.password")}

    def __init__(self, things: dict[str, Properties] | None = None) -> None:
        self.things: dict[str, Properties] = {} if things is None else things
        self.config: Properties = {}
        self.cancelled = threading.Event()

    def instance(self) -> MemoryProvider:
        return MemoryProvider(self.things)

    def configure(self, config: Properties) -> None:
        self.config = config

    def cancel(self) -> None:
        self.cancelled.set()

    def check(self, request: CallContext, olds: Properties, news: Properties) -> tuple[Properties, list[CheckFailure]]:
        if news.get("kind") == "refused":
            return news, [CheckFailure("kind", "refused is not a kind; write round")]
        return {"kind": "round", **news}, []

    def diff(self, request: CallContext, id: str, before: Previous, news: Properties, ignored: tuple[str, ...]) -> Diff:
        changes = tuple(format_path(path) for path in differences(before.inputs, news))
        return Diff(changes, tuple(path for path in changes if path == "kind"), delete_before_replace=True)

    def create(self, request: CallContext, inputs: Properties, timeout: float) -> Created:
        if inputs.get("fail") == "defect":
            raise KeyError("lost")
        secrets = {"token": "t0ken", "nested": {"password": "p", "user": "u"}}
        state = {**inputs, "prefix": self.config.get("prefix"), **secrets}
        if inputs.get("fail") == "half":
            raise ProviderError("made, but not ready", partial=Created(request.name, state))
        if inputs.get("fail"):
            raise ProviderError(f"{request.name}: fail is {inputs['fail']!r}; leave it out")
        if request.preview:
            return Created("", state)
        self.things[request.name] = state
        return Created(request.name, state)

    def read(self, request: CallContext, id: str, inputs: Properties, state: Properties) -> Created:
        return Created(id, self.things[id]) if id in self.things else Created("", {})

    def update(self, request: CallContext, id: str, before: Previous, news: Properties, timeout: float) -> Properties:
        state = {**before.state, **news}
        if not request.preview:
            self.things[id] = state
        return state

    def delete(self, request: CallContext, id: str, inputs: Properties, state: Properties, timeout: float) -> None:
        self.things.pop(id, None)

    def invoke(self, token: str, args: Properties) -> Properties:
        if token == "memory:index:count":
            return {"count": len(self.things)}
        return super().invoke(token, args)
