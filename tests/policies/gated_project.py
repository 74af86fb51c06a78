"""A throwaway project for the real engine with the policy pack beside it, and providers that accept everything."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from rehearsal.providers.base import CheckFailure, Created, Diff, Properties, Provider, Request
from rehearsal.providers.server import serve
from tests.rehearsal.engine_project import Outcome, Project

ROOT = Path(__file__).resolve().parent.parent.parent


class Anything(Provider):
    """Accepts everything and makes nothing."""

    def __init__(self, name: str, version: str = "1.0.0") -> None:
        self.name = name
        self.version = version

    def instance(self) -> Anything:
        return Anything(self.name, self.version)

    def check(self, request: Request, olds: Properties, news: Properties) -> tuple[Properties, list[CheckFailure]]:
        return news, []

    def diff(
        self,
        request: Request,
        id: str,
        old_inputs: Properties,
        old_state: Properties,
        news: Properties,
        ignore_changes: tuple[str, ...],
    ) -> Diff:
        return Diff()

    def create(self, request: Request, inputs: Properties, timeout: float) -> Created:
        return Created("" if request.preview else request.name, inputs)

    def read(self, request: Request, id: str, inputs: Properties, state: Properties) -> Created:
        return Created(id, state)

    def update(
        self,
        request: Request,
        id: str,
        old_inputs: Properties,
        old_state: Properties,
        news: Properties,
        timeout: float,
    ) -> Properties:
        return news

    def delete(self, request: Request, id: str, inputs: Properties, state: Properties, timeout: float) -> None:
        return None


@contextmanager
def gated_project(directory: Path, program: str, providers: Mapping[str, str]) -> Iterator[Project]:
    """A project whose program finds these providers (name → version), and the pack in ``policies``."""
    plugins = [Anything(name, version) for name, version in providers.items()]
    servers = [serve(plugin) for plugin in plugins]
    # The pack names its virtual environment relative to itself, so it is tried beside one.
    for package in ("policies", "components"):
        shutil.copytree(ROOT / package, directory / package)
    (directory / ".venv").symlink_to(sys.prefix)
    ports: dict[Provider, int] = {plugin: server.port for plugin, server in zip(plugins, servers, strict=True)}
    try:
        yield Project.create(directory, program, ports)
    finally:
        for server in servers:
            server.stop()


def gated(project: Project, *command: str, config: str = "dev") -> Outcome:
    """A command of the engine with the gate, by the configuration of one of our stacks."""
    file = str(project.directory / "policies" / "config" / f"{config}.json")
    return project.run(*command, "--stack=test", "--policy-pack", "policies", "--policy-pack-config", file)
