"""Where settings come from: the engine's configuration while the program runs, or a stack file read directly."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from components import catalog
from components.settings.loading import known_account_keys, load
from components.settings.problems import Problem, SettingsError, nearest
from components.settings.settings import Settings

NAMESPACE: Final = "gpucluster"


def from_pulumi() -> Settings:
    """The running stack's settings.

    Raises:
        pulumi.RunError: all problems; the engine prints the text without a traceback.
    """
    import pulumi
    from pulumi.runtime.config import CONFIG

    given: Mapping[str, Any] = CONFIG.get()
    own = {key.removeprefix(f"{NAMESPACE}:"): value for key, value in given.items() if key.startswith(f"{NAMESPACE}:")}
    secrets = [key for key in own if pulumi.runtime.is_config_secret(f"{NAMESPACE}:{key}")]
    try:
        return load(own, stack=pulumi.get_stack(), project=given.get(_account_key(own)), secrets=secrets)
    except SettingsError as error:
        raise pulumi.RunError(str(error)) from None


def from_stack_file(path: Path | str) -> Settings:
    """Settings of a stack file, without the engine: ``Pulumi.dev.yaml`` is stack ``dev``, ``examples/x.yaml`` is ``x``.

    Raises:
        SettingsError: the file cannot be read, or what is wrong with its settings.
    """
    file = Path(path)
    stack = file.stem.removeprefix("Pulumi.")
    config = _config(file, stack)
    own: dict[str, object] = {}
    secrets, found = [], []
    for key, value in config.items():
        namespace, colon, name = str(key).partition(":")
        if _holds_secret(value):
            secrets += [name] if namespace == NAMESPACE else []
            found += [_encrypted_account(str(key))] if str(key) in known_account_keys() else []
        elif namespace == NAMESPACE and colon:
            own[name] = value
        elif not colon or (nearest(namespace, [NAMESPACE]) and namespace != NAMESPACE):
            found.append(Problem(str(key), "is in no namespace of this project", f"Write '{NAMESPACE}:{name or key}'"))
    account = config.get(_account_key(own))
    try:
        settings = load(own, stack=stack, project=account if isinstance(account, str) else None, secrets=secrets)
    except SettingsError as error:
        reported = {problem.path for problem in found}
        rest = [problem for problem in error.problems if problem.path not in reported]
        raise SettingsError([*found, *rest], stack=stack) from None
    if found:
        raise SettingsError(found, stack=stack)
    return settings


def _holds_secret(value: object) -> bool:
    """Whether a value, or one inside it, is the engine's ``{secure: …}``."""
    if isinstance(value, Mapping):
        return set(value) == {"secure"} or any(_holds_secret(inner) for inner in value.values())
    return isinstance(value, list) and any(_holds_secret(inner) for inner in value)


def _account_key(own: Mapping[str, object]) -> str:
    cloud = own.get("cloud")
    return catalog.of(cloud).account_key() if isinstance(cloud, str) and cloud in catalog.clouds() else ""


def _encrypted_account(key: str) -> Problem:
    return Problem(
        key, "is encrypted and cannot be read here", "Write it in plain text: the name of an account is no secret"
    )


def _config(file: Path, stack: str) -> Mapping[object, object]:
    try:
        content = yaml.load(file.read_text(encoding="utf-8"), Loader=_StrictLoader)
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError([Problem(str(file), f"cannot be read: {error}", "Check the path")], stack=stack) from None
    except yaml.YAMLError as error:
        where = str(file)
        if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
            where += f":{error.problem_mark.line + 1}"
        what = getattr(error, "problem", None) or "not YAML"
        problem = Problem(where, f"is not valid YAML: {what}", "Compare with the files in examples/")
        raise SettingsError([problem], stack=stack) from None
    if not isinstance(content, dict) or not isinstance(content.get("config"), dict):
        problem = Problem(
            str(file),
            "has no mapping 'config'",
            f"Write 'config:' and below it '  {NAMESPACE}:cloud: {catalog.clouds()[0]}', …",
        )
        raise SettingsError([problem], stack=stack)
    config: dict[object, object] = content["config"]
    return config


class _StrictLoader(yaml.SafeLoader):
    """YAML as the engine reads it: a key twice in a mapping is an error, not a silent choice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[object] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if key in seen:
                raise yaml.constructor.ConstructorError(
                    problem=f"the key '{key}' is there twice", problem_mark=key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep=deep)
