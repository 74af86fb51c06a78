"""``load``: configuration values → settings, or every problem at once. Pure: reads no file, no engine."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping

from pydantic import ValidationError

from components import catalog
from components.catalog import CloudCatalog
from components.settings import translation, whole
from components.settings.context import Context
from components.settings.names import name_problems
from components.settings.problems import Problem, SettingsError
from components.settings.resolve import resolve
from components.settings.settings import Settings
from components.settings.stack_file import StackFile

_TEXT_KEYS = ("cloud", "region", "availability", "clusterName")


def load(config: Mapping[str, object], *, stack: str, project: str | None, secrets: Collection[str] = ()) -> Settings:
    """Settings from the keys below ``gpucluster:``.

    Args:
        config: values by key without the namespace; structured ones as Python values or as the engine's JSON text.
            Empty values (``""``, ``None``) are as good as absent.
        stack: the stack's name, for the cluster's default name.
        project: the value of the provider's own key that names the account.
        secrets: keys whose values are encrypted in the stack file. None may be: no setting is a secret.

    Raises:
        SettingsError: everything that is wrong.
    """
    raw = {key: _decoded(key, value) for key, value in config.items() if value not in ("", None)}
    raw.setdefault("network", {})
    where = Context.of(raw)
    found = [_secret(key) for key in sorted(secrets)]
    if where.catalog is not None and not project:
        found.append(_no_account(where, where.catalog))
    file: StackFile | None = None
    try:
        file = StackFile.model_validate(raw, context=where)
    except ValidationError as error:
        found += translation.problems(error, StackFile, raw)
    found += name_problems(raw, where)
    if file is None or found:
        raise SettingsError(found, stack=stack)
    settings = resolve(file, stack=stack, project=project or "")
    refused = _refused(settings)
    # Where both object to one key, the cloud knows more precisely what it needs.
    more_precise = {problem.path for problem in refused}
    found += [problem for problem in whole.settings_problems(settings) if problem.path not in more_precise] + refused
    if found:
        raise SettingsError(found, stack=stack)
    return settings


def _decoded(key: str, value: object) -> object:
    if key in _TEXT_KEYS or not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value


def _refused(settings: Settings) -> list[Problem]:
    # A cloud's limits name settings, so they can only be imported once these are.
    from components.clouds.base import refusals

    return refusals(settings)


def _secret(key: str) -> Problem:
    return Problem(
        key,
        "is encrypted, and no setting is a secret",
        "Write it in plain text; keep credentials out of the stack file: the program logs in as you do",
    )


def _no_account(where: Context, known: CloudCatalog) -> Problem:
    key, example = known.account_key(), known.account_example()
    # A provider whose own key is a place has to work in the stack's.
    value = where.region or example if example in known.regions() else example
    return Problem(
        key, "missing: the provider's own key, for where the cluster is made", f"Add the line '{key}: {value}'"
    )


def known_account_keys() -> tuple[str, ...]:
    """The providers' own keys that name accounts."""
    return tuple(catalog.of(cloud).account_key() for cloud in catalog.clouds())
