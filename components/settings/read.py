"""A stack file, or the engine's configuration while the program runs → settings, or every problem at once."""

from __future__ import annotations

import os
from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import replace
from datetime import date
from importlib import import_module
from pathlib import Path
from typing import Any, Final, TypeVar

import yaml
from pydantic import ValidationError

from components.settings import limits
from components.settings.fields.answers import Words
from components.settings.fields.problems import Problem, SettingsError, as_texts, empty, in_quotes, invalid, nearest
from components.settings.fields.types import Section, ValidationContext, ValidPart
from components.settings.pools.settings import Settings
from components.settings.sections.stack_file import StackFile
from facts import catalog
from facts.catalog import CloudCatalog
from facts.catalog.provider_keys import instead_of, meant, risk
from facts.concepts.bounded_yaml import Bounded
from facts.concepts.stack_config import NAMESPACE, decoded, own_name

File = TypeVar("File", bound=Section)

OWN_KEYS: Final = ("ssh", "packages", "context")
"""Keys of own machines that a cloud's stack file does not have."""
WITHOUT_ACCOUNT: Final = "GPUCLUSTER_WITHOUT_ACCOUNT"
"""Environment variable of what runs the program without an account: a placeholder may be the account there."""


# The project file that Pulumi finds first: https://github.com/pulumi/pulumi/blob/master/sdk/go/common/encoding/marshal.go
OTHER_PROJECT = Path(__file__).parents[2] / "Pulumi.json"


def from_pulumi() -> Settings:
    """The running stack's settings.

    Raises:
        pulumi.RunError: all problems; the engine prints the text without a traceback.
    """
    import pulumi
    from pulumi.runtime.config import CONFIG

    if OTHER_PROJECT.exists():
        name = OTHER_PROJECT.name
        raise pulumi.RunError(
            f"Pulumi reads {name}, and stack files that end so, in place of Pulumi.yaml: delete {name}"
        )
    own = {
        key.removeprefix(f"{NAMESPACE}:"): value
        for key, value in CONFIG.get().items()
        if key.startswith(f"{NAMESPACE}:")
    }
    secrets = [key for key in own if pulumi.runtime.is_config_secret(f"{NAMESPACE}:{key}")]
    problems = _of_providers(CONFIG.get())
    try:
        settings = of_running_stack(own, secrets=secrets)
    except SettingsError as error:
        every = SettingsError([*problems, *error.problems], stack=error.stack, more=error.more)
        raise pulumi.RunError(str(every)) from None
    if problems:
        raise pulumi.RunError(str(SettingsError(problems, stack=settings.stack)))
    return settings


def of_running_stack(own: Mapping[str, object], *, secrets: Collection[str] = ()) -> Settings:
    """Settings from the keys ``own``, for the running stack and the account in its configuration.

    Raises:
        SettingsError: all problems.
    """
    import pulumi
    from pulumi.runtime.config import CONFIG

    settings = load(own, stack=pulumi.get_stack(), project=CONFIG.get().get(_account_key(own)), secrets=secrets)
    known = catalog.of(settings.cloud)
    if settings.project in known.account.placeholders and WITHOUT_ACCOUNT not in os.environ:
        key = known.account.key
        message = f"'{settings.project}' is the placeholder of the examples"
        raise SettingsError([Problem(key, message, f"Write your own: pulumi config set {key} <its ID>")])
    return settings


def from_stack_file(path: Path | str) -> Settings:
    """Settings of a stack file, without the engine: ``Pulumi.dev.yaml`` is stack ``dev``, ``examples/x.yaml`` is ``x``.

    Raises:
        SettingsError: the file cannot be read, or its settings have problems.
    """
    file = Path(path)
    stack = file.stem.removeprefix("Pulumi.")
    config = _config(file, stack)
    own: dict[str, object] = {}
    secrets, problems = [], _of_providers(config)
    for key, value in config.items():
        namespace, colon, name = str(key).partition(":")
        if not colon and (meant := nearest(namespace, _namespaces())) in (namespace, NAMESPACE):
            own[meant] = {} if value is None else value
        elif _holds_secret(value):
            secrets += [name] if namespace == NAMESPACE else []
            problems += [_encrypted_account(str(key))] if str(key) in known_account_keys() else []
        elif namespace == NAMESPACE and colon:
            own[own_name(key)] = value
        elif not colon or (nearest(namespace, [NAMESPACE]) and namespace != NAMESPACE):
            problems.append(Problem(str(key), "has no namespace of this project", f"Write '{NAMESPACE}:{name or key}'"))
    account = config.get(_account_key(own))
    try:
        settings = load(own, stack=stack, project=account if isinstance(account, str) else None, secrets=secrets)
    except SettingsError as error:
        reported = {problem.path for problem in problems}
        rest = [problem for problem in error.problems if problem.path not in reported]
        raise SettingsError([*problems, *rest], stack=stack, more=error.more) from None
    if problems:
        raise SettingsError(problems, stack=stack)
    return settings


def load(
    config: Mapping[str, object],
    *,
    stack: str,
    project: str | None,
    secrets: Collection[str] = (),
    day: date | None = None,
) -> Settings:
    """Settings from the keys below ``gpucluster:``. Reads no file and needs no engine.

    Args:
        config: values by key without the namespace; structured ones as Python values or as the engine's JSON text.
            Empty values (``""``, ``None``) count as absent.
        stack: the stack's name, for the cluster's default name.
        project: the value of the provider's own key that names the account.
        secrets: keys whose values are encrypted in the stack file. Each is a problem: no setting is a secret.
        day: the day on which a Kubernetes version must be supported. Default: today.

    Raises:
        SettingsError: all problems.
    """
    raw = {key: decoded(key, value) for key, value in config.items() if value not in ("", None)}
    of_clouds = [field.alias or name for name, field in StackFile.model_fields.items()]
    unknown = raw.keys() - {*of_clouds, *OWN_KEYS}
    if unknown and (nested := [_nested(key, raw[key]) for key in _namespaces() if key in unknown]):
        raise SettingsError(nested, stack=stack)
    # Pulumi.yaml has an empty default for each key of any stack file.
    own = raw.get("cloud") in [*catalog.OWN_MACHINES]
    others = (*of_clouds, *OWN_KEYS) if own else OWN_KEYS
    raw = {key: value for key, value in raw.items() if key not in others or value not in ({}, [])}
    today = day or date.today()
    if own:
        return _of_own_machines(raw, stack=stack, secrets=secrets, day=today)
    raw.setdefault("network", {})
    where = ValidationContext.of(raw)
    problems = [_secret(key) for key in sorted(secrets)]
    if "existingCluster" in raw and where.catalog is not None:
        raw, refused = limits.of_pools(raw, where.catalog)
        problems += refused
    if where.catalog is not None and not (project and where.catalog.account.form.fullmatch(project)):
        problems.append(_no_account(where, where.catalog, project))
    known = where.catalog
    words = limits.answers(known.name, _autoscaler(raw, known)) if known is not None else Words()
    file, invalid_keys = _validated(StackFile, raw, where, words)
    problems += invalid_keys
    settings = Settings(file=file, stack=stack, project=project or "", day=today)
    checked = limits.problems(settings) if known is not None else limits.Checked((), all=False)
    # What refuses a key that is not valid either is said once.
    reported = {problem.path for problem in problems}
    problems += [problem for problem in checked.problems if problem.path not in reported]
    if problems:
        raise SettingsError(problems, stack=stack, more=not (file.complete and checked.all))
    return settings


def _of_own_machines(raw: Mapping[str, Any], *, stack: str, secrets: Collection[str], day: date) -> Settings:
    cloud = str(raw["cloud"])
    secret = catalog.OWN_SECRETS[cloud]
    problems = [_secret(key) for key in sorted(secrets) if key != secret]
    if secret in raw and secret not in secrets:
        problems.append(
            Problem(secret, "is in plain text", f"Run: pulumi config set --secret {NAMESPACE}:{secret} < file")
        )
    # Without the secret, and without the value that Pulumi.yaml gives every stack.
    keys = {key: value for key, value in raw.items() if key != secret and (key, value) != ("availability", "zonal")}
    # Imported here: a cloud's stack does not load the keys of others.
    limit = import_module(f"components.settings.limits.{cloud}")
    where = ValidationContext(cloud, catalog.of(cloud), None, ())
    file, invalid_keys = _validated(limit.STACK_FILE, keys, where, limits.answers_of_own_machines(cloud))
    checked = limits.run(limit.CHECKS, file)
    reported = {problem.path for problem in invalid_keys}
    problems += [*invalid_keys, *(problem for problem in checked.problems if problem.path not in reported)]
    if not file.complete:
        raise SettingsError(problems, stack=stack, more=True)
    in_common, own = import_module(f"components.settings.pools.{cloud}").resolved(file)
    settings = Settings(file=in_common, own=own, stack=stack, day=day)
    problems += limits.run(limits.common.OF_OWN_MACHINES, settings).problems
    if problems:
        raise SettingsError(problems, stack=stack)
    return settings


def _validated(
    model: type[File], raw: Mapping[str, Any], where: ValidationContext, words: Words
) -> tuple[File, list[Problem]]:
    """The file's sections without the keys that are not valid, and the problems of those."""
    nothing = [*empty(model, raw)]
    try:
        return model.model_validate(raw, context=where), nothing
    except ValidationError as error:
        problems = invalid(error, model, raw, words)
        quoted, texts = in_quotes(error, model, raw)
        if quoted != raw:
            _, others = _validated(model, quoted, replace(where, valid_part=ValidPart()), words)
            problems = as_texts(problems, texts, others)
        reported = {problem.path for problem in problems}
        return where.valid_part.of(raw), [*problems, *(each for each in nothing if each.path not in reported)]


def _autoscaler(raw: Mapping[str, object], known: CloudCatalog) -> str:
    """The file's autoscaler if it is one of the cloud's, or else the default one."""
    section, offered = raw.get("autoscaling"), known.choices.autoscalers
    written = section.get("autoscaler") if isinstance(section, Mapping) else None
    return written if isinstance(written, str) and written in offered else offered[0]


def _secret(key: str) -> Problem:
    return Problem(
        key,
        "is encrypted, but no setting is a secret",
        "Write it in plain text; keep credentials out of the stack file: the program logs in as you do",
    )


def _no_account(where: ValidationContext, known: CloudCatalog, written: str | None) -> Problem:
    key, example = known.account.key, known.account.example
    # Where the provider's key is a region, it must be the stack's.
    value = where.region or example if example in known.regions else example
    if written:
        return Problem(key, f"'{written}' is not the ID of an account or region", f"Write for example {value}")
    return Problem(
        key,
        "missing: the provider's own key for the account or region of the cluster",
        f"Add the line '{key}: {value}'",
    )


def known_account_keys() -> tuple[str, ...]:
    """The providers' own keys that name accounts."""
    return tuple(catalog.of(cloud).account.key for cloud in catalog.clouds())


def _namespaces() -> tuple[str, ...]:
    """What stands before the colon of a key: of the program's settings, and of accounts."""
    return (NAMESPACE, *(key.partition(":")[0] for key in known_account_keys()))


def _nested(namespace: str, value: object) -> Problem:
    """The problem of a namespace without a key: in YAML keys are nested, in a stack file each has its namespace."""
    if isinstance(value, Mapping) and value.keys() - {"secure"}:
        written = ", ".join(f"'{namespace}:{key}: …'" for key in value)
        remedy = f"Write each key below it on a line of its own: {written}"
        return Problem(namespace, "is a mapping, which Pulumi takes for one key", remedy)
    examples = (f"{NAMESPACE}:cloud", *known_account_keys())
    example = next(key for key in examples if key.startswith(f"{namespace}:"))
    return Problem(namespace, "is no key", f"Write its keys on lines of their own, such as '{example}: …'")


def _holds_secret(value: object) -> bool:
    """Whether a value, or one inside it, is the engine's ``{secure: …}``."""
    if isinstance(value, Mapping):
        return set(value) == {"secure"} or any(_holds_secret(inner) for inner in value.values())
    return isinstance(value, list) and any(_holds_secret(inner) for inner in value)


def _account_key(own: Mapping[str, object]) -> str:
    cloud = own.get("cloud")
    return catalog.of(cloud).account.key if isinstance(cloud, str) and cloud in catalog.clouds() else ""


def _of_providers(config: Iterable[object]) -> list[Problem]:
    """Keys of providers with which who wrote a file acts on the login of who runs Pulumi with it."""
    reason = "the program logs in as you do. What it sets is an environment variable of yours, listed at "
    page = "https://www.pulumi.com/registry/packages/{}/installation-configuration/"
    problems = []
    for key in map(str, config):
        if ":" in key and (why := risk(key)):
            provider, _, name = key.partition(":")
            near = nearest(name, instead_of(key))
            likely = meant(key) or (near and f"'{provider}:{near}'")
            remedy = f"Write {likely}, or delete it" if likely else "Delete it"
            problems.append(Problem(key, why, f"{remedy}: {reason}{page.format(provider)}"))
    return problems


def _encrypted_account(key: str) -> Problem:
    return Problem(key, "is encrypted and cannot be read", "Write it in plain text: an account name is not a secret")


def _config(file: Path, stack: str) -> Mapping[object, object]:
    try:
        text = file.read_text(encoding="utf-8")
        content = parsed(text)
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
    beside = [str(key) for key in content if str(key).startswith(f"{NAMESPACE}:")]
    if beside:
        remedy = "Write it below config, with two spaces before each of its lines"
        raise SettingsError(
            [Problem(key, "stands beside config, where nothing reads it", remedy) for key in beside], stack=stack
        )
    config: dict[object, object] = content["config"]
    return config


def parsed(text: str) -> Any:
    """The YAML of a stack file as the engine reads it. Raises YAMLError."""
    try:
        return yaml.load(text, Loader=_FastLoader)
    except yaml.YAMLError:  # said in the words of the other parser
        return yaml.load(text, Loader=_StrictLoader)


class _AsTheEngine(yaml.constructor.SafeConstructor, yaml.resolver.Resolver):
    """YAML as the engine reads it: a duplicate key in a mapping is an error, ``2:00``, ``on`` and ``no`` are texts.

    https://github.com/go-yaml/yaml/blob/v3/README.md#compatibility
    """

    def resolve(self, kind: type[yaml.Node], value: Any, implicit: Any) -> Any:
        tag = super().resolve(kind, value, implicit)
        name = str(tag).rpartition(":")[2]
        text = name == "value" or (name == "bool" and value.lower() not in ("true", "false"))
        return self.DEFAULT_SCALAR_TAG if text or (name in ("int", "float") and ":" in value) else tag

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        keys: set[object] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if key in keys:
                raise yaml.constructor.ConstructorError(
                    problem=f"the key '{key}' is written twice", problem_mark=key_node.start_mark
                )
            keys.add(key)
        return super().construct_mapping(node, deep=deep)


class _StrictLoader(_AsTheEngine, Bounded, yaml.SafeLoader):
    pass


class _FastLoader(_AsTheEngine, Bounded, getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # pyright: ignore[reportGeneralTypeIssues]
    """With libyaml, where PyYAML was built with it: in a tenth of the time."""
