"""A stack file, or the engine's configuration while the program runs → settings, or every problem at once."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Hashable, Mapping
from datetime import date
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import yaml
from pydantic import ValidationError

from components.settings import expand, limits
from components.settings.cluster import Kubernetes, Network, Security
from components.settings.costs import costs, fee, fees, volumes_price
from components.settings.fields import ValidationContext
from components.settings.problems import Problem, SettingsError, invalid, nearest
from components.settings.settings import Settings
from components.settings.stack_file import StackFile
from facts import catalog
from facts.catalog import CloudCatalog
from facts.concepts.pool import Pool

if TYPE_CHECKING:
    from components.settings.own.resolved import Resolved

NAMESPACE: Final = "gpucluster"
OWN_KEYS: Final = ("ssh", "packages", "context")
"""Keys of own machines that a cloud's stack file does not have."""
WITHOUT_ACCOUNT: Final = "GPUCLUSTER_WITHOUT_ACCOUNT"
"""Environment variable of what runs the program without an account: a placeholder may be the account there."""
_TEXT_KEYS: Final = ("cloud", "region", "availability", "clusterName")


def from_pulumi() -> Settings:
    """The running stack's settings.

    Raises:
        pulumi.RunError: all problems; the engine prints the text without a traceback.
    """
    import pulumi
    from pulumi.runtime.config import CONFIG

    own = {
        key.removeprefix(f"{NAMESPACE}:"): value
        for key, value in CONFIG.get().items()
        if key.startswith(f"{NAMESPACE}:")
    }
    secrets = [key for key in own if pulumi.runtime.is_config_secret(f"{NAMESPACE}:{key}")]
    try:
        return of_running_stack(own, secrets=secrets)
    except SettingsError as error:
        raise pulumi.RunError(str(error)) from None


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
    secrets, problems = [], []
    for key, value in config.items():
        namespace, colon, name = str(key).partition(":")
        if _holds_secret(value):
            secrets += [name] if namespace == NAMESPACE else []
            problems += [_encrypted_account(str(key))] if str(key) in known_account_keys() else []
        elif namespace == NAMESPACE and colon:
            own[name] = value
        elif not colon or (nearest(namespace, [NAMESPACE]) and namespace != NAMESPACE):
            problems.append(Problem(str(key), "has no namespace of this project", f"Write '{NAMESPACE}:{name or key}'"))
    account = config.get(_account_key(own))
    try:
        settings = load(own, stack=stack, project=account if isinstance(account, str) else None, secrets=secrets)
    except SettingsError as error:
        reported = {problem.path for problem in problems}
        rest = [problem for problem in error.problems if problem.path not in reported]
        raise SettingsError([*problems, *rest], stack=stack) from None
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
    raw = {key: _decoded(key, value) for key, value in config.items() if value not in ("", None)}
    # Pulumi.yaml has an empty default for each key of any stack file.
    of_clouds = (field.alias or name for name, field in StackFile.model_fields.items())
    others = (*of_clouds, *OWN_KEYS) if raw.get("cloud") in catalog.OWN_MACHINES else OWN_KEYS
    raw = {key: value for key, value in raw.items() if key not in others or value not in ({}, [])}
    if raw.get("cloud") in catalog.OWN_MACHINES:
        return _of_own_machines(raw, stack=stack, secrets=secrets, day=day or date.today())
    raw.setdefault("network", {})
    where = ValidationContext.of(raw)
    problems = [_secret(key) for key in sorted(secrets)]
    if where.catalog is not None and not (project and where.catalog.account.form.fullmatch(project)):
        problems.append(_no_account(where, where.catalog, project))
    file: StackFile | None = None
    try:
        file = StackFile.model_validate(raw, context=where)
    except ValidationError as error:
        problems += invalid(error, StackFile, raw)
    problems += expand.name_problems(raw, where)
    if file is None or problems:
        raise SettingsError(problems, stack=stack)
    settings = _resolved(file, stack=stack, project=project or "", day=day or date.today())
    problems = [*limits.problems(settings)]
    if settings.raw or any(pool.raw for pool in settings.pools):
        from components.settings.raw import problems as raw_problems  # loads a schema that few stacks need

        problems += raw_problems(settings)
    if problems:
        raise SettingsError(problems, stack=stack)
    return settings


_AS_WRITTEN: Final = (
    *("cloud", "region", "kubernetes", "network", "security", "maintenance", "access", "workloads", "identities"),
    *("teams", "addons", "addon_versions", "tags", "raw"),
)
"""Keys whose values settings have as the file does."""


def _resolved(file: StackFile, *, stack: str, project: str, day: date) -> Settings:
    """The settings of a file without problems: defaults filled in, entries expanded."""
    known = catalog.of(file.cloud)
    zones = file.zones or known.regions[file.region]
    autoscaler = file.autoscaling.autoscaler or known.choices.autoscalers[0]
    place = expand.Place(catalog=known, region=file.region, zones=zones, autoscaler=autoscaler)
    labels = {**file.labels, **file.tags}
    gpu_pools = expand.gpu_pools(file.gpu_pools, place, labels)
    cpu_pools = expand.cpu_pools(file.cpu_pools, place)
    # A zonal control plane fails with its zone, so a node in another zone would gain nothing.
    admin_pool = expand.admin_pool(file.admin_pool, place, zones if file.availability == "regional" else zones[:1])
    nat = file.network.nat or ("per-zone" if file.availability == "regional" else "single")
    gateways = 0 if file.network.existing is not None else len(zones) if nat == "per-zone" else 1
    control_plane = fee(known, file.kubernetes.version, day)
    standing = volumes_price(known.prices, file.region, [tool.disk_gb for tool in file.workloads.tools.values()])
    standing += sum(fees(known, file.region, file.kubernetes, file.workloads, file.network).values())
    pools = [*gpu_pools, *cpu_pools]
    # Tools of `workloads` bring an exporter of their own, and Google bills the samples of its one.
    collected = known.choices.gpu_metrics and file.workloads.monitoring is None
    idle, most = costs(known.prices, admin_pool, pools, fee=control_plane, gateways=gateways, standing=standing)
    return Settings(
        day=day,
        stack=stack,
        project=project,
        **{key: getattr(file, key) for key in _AS_WRITTEN},
        zones=zones,
        regional=file.availability == "regional",
        cluster_name=file.cluster_name or _default_cluster_name(stack, known.choices.max_name_length),
        gpu_metrics=collected if file.monitoring.gpu_metrics is None else file.monitoring.gpu_metrics,
        control_plane_logs=known.choices.control_plane_logs
        if (logs := file.monitoring.control_plane_logs) is None
        else logs,
        control_plane_log_days=file.monitoring.control_plane_log_days or 30,
        nat_per_zone=nat == "per-zone",
        autoscaling_profile=file.autoscaling.profile,
        autoscaler=autoscaler,
        unneeded_minutes=file.autoscaling.unneeded_minutes,
        labels=labels,
        admin_pool=admin_pool,
        gpu_pools=gpu_pools,
        cpu_pools=cpu_pools,
        budget_hourly_usd=file.budget.max_hourly_usd,
        cost_idle_hourly=idle,
        cost_max_hourly=most,
        unpriced=tuple(pool.name for pool in (admin_pool, *pools) if pool.nodes.hourly_usd is None),
    )


def _of_own_machines(raw: Mapping[str, Any], *, stack: str, secrets: Collection[str], day: date) -> Settings:
    cloud = str(raw["cloud"])
    secret = catalog.OWN_SECRETS[cloud]
    problems = [_secret(key) for key in sorted(secrets) if key != secret]
    if secret in raw and secret not in secrets:
        problems.append(
            Problem(secret, "is in plain text", f"Run: pulumi config set --secret {NAMESPACE}:{secret} < file")
        )
    # Imported here: a cloud's stack does not load the keys of others.
    resolved: Resolved | list[Problem] = import_module(f"components.settings.own.{cloud}").resolve(raw)
    if isinstance(resolved, list) or problems:
        raise SettingsError([*problems, *(resolved if isinstance(resolved, list) else [])], stack=stack)
    file, pools = resolved.file, (*resolved.gpu_pools, *resolved.cpu_pools)
    idle, most = _own_costs(pools)
    settings = Settings(
        day=day,
        stack=stack,
        **{key: getattr(file, key) for key in ("cloud", "access", "workloads", "teams")},
        **{key: getattr(resolved, key) for key in ("admin_pool", "gpu_pools", "cpu_pools", "own")},
        cluster_name=file.cluster_name or _default_cluster_name(stack, catalog.of(file.cloud).choices.max_name_length),
        kubernetes=Kubernetes.model_construct(version=resolved.version),
        network=Network.model_validate({"privateEndpoint": True, **resolved.network}),
        security=Security.model_validate({"deletionProtection": file.security.deletion_protection}),
        budget_hourly_usd=file.budget.max_hourly_usd,
        cost_idle_hourly=idle,
        cost_max_hourly=most,
        unpriced=tuple(pool.name for pool in pools if pool.nodes.hourly_usd is None),
    )
    if problems := limits.common.own_machines_problems(settings):
        raise SettingsError(problems, stack=stack)
    return settings


def _own_costs(pools: Collection[Pool]) -> tuple[float | None, float | None]:
    """US dollars per hour with no node that an autoscaler adds, and with all; ``None`` if a price is unknown."""
    if any(pool.nodes.hourly_usd is None for pool in pools):
        return None, None
    nodes = [(pool.scaling.min_nodes, pool.scaling.max_nodes, pool.nodes.hourly_usd or 0.0) for pool in pools]
    return sum(least * usd for least, _, usd in nodes), sum(most * usd for _, most, usd in nodes)


def _default_cluster_name(stack: str, limit: int) -> str:
    """``gpu-<stack>``, in the alphabet and length of a cluster's name."""
    return ("gpu-" + re.sub(r"[^a-z0-9]+", "-", stack.lower()).strip("-"))[:limit].strip("-")


def _decoded(key: str, value: object) -> object:
    if key in _TEXT_KEYS or not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value


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


def _holds_secret(value: object) -> bool:
    """Whether a value, or one inside it, is the engine's ``{secure: …}``."""
    if isinstance(value, Mapping):
        return set(value) == {"secure"} or any(_holds_secret(inner) for inner in value.values())
    return isinstance(value, list) and any(_holds_secret(inner) for inner in value)


def _account_key(own: Mapping[str, object]) -> str:
    cloud = own.get("cloud")
    return catalog.of(cloud).account.key if isinstance(cloud, str) and cloud in catalog.clouds() else ""


def _encrypted_account(key: str) -> Problem:
    return Problem(key, "is encrypted and cannot be read", "Write it in plain text: an account name is not a secret")


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
    """YAML as the engine reads it: a duplicate key in a mapping is an error."""

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
