"""Which stack is meant: a name (``dev`` → ``Pulumi.dev.yaml``) or a path (``examples/gke-tips.yaml``)."""

from __future__ import annotations

import difflib
import re
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import yaml

from rehearsal.engine.engine import has_secure_values, user_passphrase
from rehearsal.tools.modules import HELM, KUBERNETES, OF_AUTOSCALER, PREVIEW, REHEARSAL

if TYPE_CHECKING:
    from components.settings import Settings
    from rehearsal.tools.modules import Module

ROOT: Final = Path(__file__).resolve().parents[4]
"""The checkout: the Pulumi project."""

_STACK_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,100}")


class StackError(Exception):
    """The stack cannot be used; the message says why and what to write instead."""


@dataclass(frozen=True)
class Stack:
    """A stack that exists and whose settings are valid. ``passphrase`` is the user's, if the user set one."""

    name: str
    file: Path
    settings: Settings
    passphrase: str | None

    @property
    def plugins(self) -> tuple[str, ...]:
        """The clouds' plugins that the stack needs; none on own machines."""
        from facts import catalog

        return () if self.own_machines else (catalog.PLUGINS[self.settings.cloud],)

    @property
    def own_machines(self) -> bool:
        """Whether nothing is rented."""
        return self.settings.own is not None

    @property
    def made_by_others(self) -> bool:
        """Whether the cluster is there before the stack: its secret is a kubeconfig."""
        from facts import catalog

        return catalog.OWN_SECRETS.get(self.settings.cloud) == "kubeconfig"

    @property
    def only_from_inside(self) -> bool:
        """Whether the control plane answers in the cluster's network alone; own machines are in ours."""
        return (
            not self.own_machines and self.settings.network.private_endpoint and not self.settings.network.dns_endpoint
        )

    @property
    def with_existing(self) -> Path | None:
        """The file, if it names something that must already exist: a cluster, a network, a key, a reservation, data."""
        settings = self.settings
        reserved = any(pool.scaling.reservation is not None for pool in settings.gpu_pools)
        named = settings.network.existing or settings.security.disk_key or settings.existing_cluster
        data = settings.workloads.pull_from or any(account.read or account.write for account in settings.identities)
        return self.file if named or reserved or data else None

    @property
    def tools(self) -> tuple[Module, ...]:
        """The upstream programs that a rehearsal of the stack runs; those of own machines are ``tools.modules.LAB``."""
        if self.own_machines:
            return (*PREVIEW, KUBERNETES)  # with kubectl, by which the program asks an existing cluster
        own = OF_AUTOSCALER.get(self.settings.autoscaler, ())
        workloads = self.settings.workloads
        charts = (HELM,) if workloads.tools and HELM not in own else ()
        return (*REHEARSAL, *own, *charts)


def resolve(argument: str, root: Path = ROOT) -> Stack:
    """Find, read and validate a stack. Raises ``StackError``, or ``SettingsError`` with all problems at once."""
    from components.settings import from_stack_file

    file = locate(argument, root)
    name = stack_name(file)
    if not _STACK_NAME.fullmatch(name):
        raise StackError(
            f"{file.name}: {name!r} is not a valid stack name; use letters, digits, '-', '_' and '.' in the file's name"
        )
    passphrase = user_passphrase()
    if has_secure_values(file) and passphrase is None:
        raise StackError(
            f"{file.name} holds encrypted values: set PULUMI_CONFIG_PASSPHRASE (or PULUMI_CONFIG_PASSPHRASE_FILE) to"
            " their passphrase"
        )
    return Stack(name, file, from_stack_file(file), passphrase)


def locate(argument: str, root: Path = ROOT) -> Path:
    """The stack file that ``argument`` means. Raises ``StackError`` with the stacks that there are."""
    if argument.endswith((".yaml", ".yml")) or "/" in argument:
        path = Path(argument)
        candidates = [path] if path.is_absolute() else [Path.cwd() / path, root / path]
    else:
        candidates = [root / f"Pulumi.{argument}.yaml"]
    for candidate in candidates:
        if candidate.is_file():
            return candidate.resolve()
    known = available(root)
    names = {Path(each).stem: each for each in reversed(known)}
    if near := difflib.get_close_matches(stack_name(Path(argument)), names, n=1):
        raise StackError(f"no stack {argument!r} ({candidates[-1]} does not exist): did you mean {names[near[0]]}?")
    listed = (textwrap.fill(each, 80, break_on_hyphens=False, break_long_words=False) for each in _grouped(known))
    raise StackError("\n".join([f"no stack {argument!r} ({candidates[-1]} does not exist).", *listed]))


def _grouped(known: Iterable[str]) -> Iterator[str]:
    """The stacks of the project, and the examples by their names alone."""
    examples = [each for each in known if "/" in each]
    yield f"Stacks: {', '.join(each for each in known if each not in examples)}."
    if examples:
        yield f"Examples, as {examples[0]}: {', '.join(Path(each).stem for each in examples)}."


def stack_name(file: Path) -> str:
    """``Pulumi.dev.yaml`` → ``dev``, ``gke-tips.yaml`` → ``gke-tips``."""
    return file.stem.removeprefix("Pulumi.")


def available(root: Path = ROOT) -> list[str]:
    """What ``STACK=`` can be: names of the project's stacks, paths of the examples.

    No other names, because zsh evaluates what is completed:
    https://github.com/fastapi/typer/blob/master/typer/_completion_shared.py
    """
    files = [*root.glob("Pulumi.*.yaml"), *(root / "examples").glob("*.yaml")]
    named = sorted((path for path in files if _STACK_NAME.fullmatch(stack_name(path))), key=lambda path: path.name)
    stacks = [stack_name(path) for path in named if path.parent == root]
    return stacks + [f"examples/{path.name}" for path in named if path.parent != root]


def without_protection(stack_file: Path) -> None:
    """Set ``security.deletionProtection: false``, as a user does before tearing a protected cluster down."""
    from components.settings import parsed

    content: dict[str, Any] = parsed(stack_file.read_text())
    content["config"].setdefault("gpucluster:security", {})["deletionProtection"] = False
    stack_file.write_text(yaml.safe_dump(content, sort_keys=False))
