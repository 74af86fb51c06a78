"""A throwaway project for the real engine with the policy pack beside it, and providers that accept everything."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from facts.catalog.plugins import plugin_version
from packages.rehearsal.tests.engine_project import Project
from policies.bundle import bundle
from rehearsal.providers.base import CallContext, CheckFailure, Created, Diff, Previous, Properties, Provider
from rehearsal.providers.server import serve

_START: Final = """
import json, pulumi
import signal

signal.signal(signal.SIGINT, signal.SIG_DFL)
values = json.load(open("values.json"))

class Resource(pulumi.CustomResource):
    def __init__(self, type, name, props, opts=None):
        super().__init__(type, name, props, opts)

"""
BY_TOKEN: Final = """
for token, name, properties in values["resources"]:
    Resource(token, name, properties)
"""


class Anything(Provider):
    """Accepts everything and makes nothing."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.version = plugin_version(name)

    def instance(self) -> Anything:
        return Anything(self.name)

    def check(self, request: CallContext, olds: Properties, news: Properties) -> tuple[Properties, list[CheckFailure]]:
        return news, []

    def diff(self, request: CallContext, id: str, before: Previous, news: Properties, ignored: tuple[str, ...]) -> Diff:
        return Diff()

    def create(self, request: CallContext, inputs: Properties, timeout: float) -> Created:
        return Created("" if request.preview else request.name, inputs)

    def read(self, request: CallContext, id: str, inputs: Properties, state: Properties) -> Created:
        return Created(id, state)

    def update(self, request: CallContext, id: str, before: Previous, news: Properties, timeout: float) -> Properties:
        return news

    def delete(self, request: CallContext, id: str, inputs: Properties, state: Properties, timeout: float) -> None:
        return None


def built_pack(folder: Path) -> Path:
    """The pack in a folder of its own, with the virtual environment that it asks for."""
    bundle(folder)
    (folder / "venv").symlink_to(sys.prefix)
    return folder


@contextmanager
def gated_project(directory: Path, program: str, *providers: str | Provider) -> Iterator[Project]:
    """A project whose program finds these providers, and the built pack in ``policies``; a name means ``Anything``.

    The program starts with what ``values.json`` says as ``values``, and ``Resource``, which may be of any type.
    """
    plugins = [Anything(provider) if isinstance(provider, str) else provider for provider in providers]
    servers = [serve(plugin) for plugin in plugins]
    built_pack(directory / "policies")
    ports: dict[Provider, int] = {plugin: server.port for plugin, server in zip(plugins, servers, strict=True)}
    try:
        yield Project.create(directory, _START + program, ports)
    finally:
        for server in servers:
            server.stop()


def rewrite(project: Project, program: str, **values: Any) -> None:
    """Give the project another program, and what that reads."""
    (project.directory / "__main__.py").write_text(_START + program)
    project.write(**values)


def gated(project: Project, *command: str, config: Mapping[str, Any] | None = None, refused: bool = False) -> str:
    """A command of the engine with the gate, by ``config`` or the configuration of the stack ``dev``."""
    file = project.directory / "policies" / "policies" / "config" / "dev.json"
    if config is not None:
        file = project.directory / "own.json"
        file.write_text(json.dumps(config))
    gate = ("--stack=test", "--policy-pack", "policies", "--policy-pack-config", str(file))
    return project.run(*command, *gate, refused=refused)
