"""Another Pulumi program: its folder, its own stack file, its Python environment and the plugins it may start.

Nothing in the folder is changed. What keeps such a program from running is reported in words.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from rehearsal.engine.engine import CommandResult, has_secure_values, user_passphrase
from rehearsal.engine.stack import StackError
from rehearsal.tools.modules import HELM, OF_AUTOSCALER, REHEARSAL, Module

GATE: Final = "gate.json"
"""The gate's configuration, in the program's folder; without one, ``policies/config/default.json`` applies."""

_CAUSES: Final[Mapping[str, str]] = {
    r"No module named '([^'.]+)": "the program imports '{0}', which its Python environment ({where}) does not have:"
    " add it to requirements.txt and run `pulumi install` in {folder}",
    r"Missing required configuration variable '([^']+)'": "the program needs the configuration value '{0}', which"
    " {file} does not have: add it to the file, or name another stack with STACK=",
    r"No such file or directory: '([^'/]+)'": "the program needs '{0}', which is neither a file in {folder} nor a"
    " command on PATH",
    r"KeyError: '([A-Z][A-Z0-9_]+)'": "the program reads the environment variable '{0}', which a rehearsal does not"
    " pass on: take the value from {file}",
    r"((?:component|function|method) [^ ]+ is not simulated)": "{0}: a rehearsal cannot answer for it; a component"
    " package such as pulumi-eks starts a provider of its own, so declare its resources, or take the value from {file}",
}
"""What the engine or Python says → what it means. https://www.pulumi.com/docs/iac/concepts/config/ has the second."""


@dataclass(frozen=True)
class ForeignProgram:
    """One stack of another Pulumi program, in Python.

    ``environment`` is the folder of its virtual environment; without one of its own it runs in that of the rehearsal.
    ``packages``: plugin → version, of all Pulumi packages that are installed there. ``file`` need not exist.
    """

    folder: Path
    stack: str
    file: Path
    environment: Path
    packages: Mapping[str, str]
    passphrase: str | None

    @property
    def name(self) -> str:
        """What the report calls it."""
        return f"{self.folder.name}-{self.stack}"

    @property
    def plugins(self) -> tuple[str, ...]:
        """The clouds' plugins that it may start, first those that its stack file configures."""
        from facts import catalog

        config = (yaml.safe_load(self.file.read_text()) or {}).get("config") if self.file.is_file() else None
        configured = {str(key).partition(":")[0] for key in config or ()}
        installed = set(catalog.PLUGINS.values()) & set(self.packages)
        return tuple(sorted(installed, key=lambda plugin: (plugin not in configured, plugin)))

    @property
    def tools(self) -> tuple[Module, ...]:
        """The upstream programs that its rehearsal runs, with those of each autoscaler that it may install."""
        from facts import catalog

        clouds = [catalog.of(cloud) for cloud, plugin in catalog.PLUGINS.items() if plugin in self.packages]
        scalers = {each for cloud in clouds for each in cloud.choices.autoscalers}
        own = [module for name, modules in OF_AUTOSCALER.items() if name in scalers for module in modules]
        return (*REHEARSAL, HELM, *(module for module in own if module is not HELM))

    def cause(self, messages: Iterable[str]) -> str:
        """Why the program cannot run, if the engine's messages show a cause that is known; else empty."""
        text = "\n".join(messages)
        for pattern, words in _CAUSES.items():
            if match := re.search(pattern, text):
                return words.format(*match.groups(), where=self.environment, folder=self.folder, file=self.file.name)
        return ""

    def failure(self, result: CommandResult) -> str:
        """Which update of the program failed, and why."""
        return f"`pulumi up` of {self.folder} failed: {self.cause(result.outcome.errors) or result.reason}"


def open_program(folder: Path, stack: str) -> ForeignProgram:
    """Look at a program's folder. Raises ``StackError``: it cannot be rehearsed, and why."""
    folder = folder.resolve()
    project = folder / "Pulumi.yaml"
    if not project.is_file():
        raise StackError(f"{folder} has no Pulumi.yaml: name the folder of a Pulumi program")
    try:
        content = yaml.safe_load(project.read_text())
    except yaml.YAMLError as error:
        raise StackError(f"{project} is not valid YAML: {error}") from error
    runtime, options = _runtime(content if isinstance(content, dict) else {})
    if runtime != "python":
        raise StackError(f"{project} has the runtime {runtime}: only programs in Python can be rehearsed")
    places = folder / str(content.get("stackConfigDir") or "")
    file, passphrase = places / f"Pulumi.{stack}.yaml", user_passphrase()
    stacks = sorted(each.name.removeprefix("Pulumi.").removesuffix(".yaml") for each in places.glob("Pulumi.*.yaml"))
    if stacks and stack not in stacks:
        raise StackError(f"{folder} has no stack {stack!r}: write STACK= and one of {', '.join(stacks)}")
    if stacks and has_secure_values(file) and passphrase is None:
        raise StackError(
            f"{file} has encrypted values, which only a passphrase decrypts offline: set PULUMI_CONFIG_PASSPHRASE, or"
            " rehearse another stack that has no secrets"
        )
    environment = _environment(folder, options)
    return ForeignProgram(folder, stack, file, environment, _packages(environment), passphrase)


def _runtime(content: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    runtime = content.get("runtime")
    if isinstance(runtime, dict):
        return str(runtime.get("name")), runtime.get("options") or {}
    return str(runtime), {}


def _environment(folder: Path, options: Mapping[str, Any]) -> Path:
    """https://www.pulumi.com/docs/iac/languages-sdks/python/ has the toolchains; uv's default is ``.venv``."""
    named = options.get("virtualenv") or (".venv" if options.get("toolchain") == "uv" else None)
    if options.get("toolchain") == "poetry":
        raise StackError(f"{folder}: the toolchain poetry is not supported; use pip or uv, with a virtualenv option")
    if named is None:
        return Path(sys.prefix)
    environment = folder / str(named)
    if not (environment / "bin" / "python").exists():
        raise StackError(
            f"{folder / 'Pulumi.yaml'} names {named}, which does not exist: run `pulumi install` in {folder}"
        )
    return environment


def _packages(environment: Path) -> Mapping[str, str]:
    """The plugins of installed packages, as the engine's Python host reads them."""
    files = environment.glob("lib/python*/site-packages/*/pulumi-plugin.json")
    plugins = [json.loads(file.read_text()) for file in files]
    return {
        each["name"]: each["version"].removeprefix("v")
        for each in plugins
        if each.get("resource") and "version" in each
    }
