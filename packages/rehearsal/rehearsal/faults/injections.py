"""Faults in the program: inputs of its resources are changed while they are declared, or there is one object more.

All by name are in ``cases.yaml``. The faulty program imports this itself, so it must stay cheap.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pulumi
import yaml

from components.resources import CustomResource, object_token

Program = Callable[[], None]
Injection = Callable[[Program], None]
Inputs = dict[str, Any]

_NODE_POOL: Final = "gcp:container/nodePool:NodePool"
_PROVIDER: Final = "pulumi:providers:kubernetes"


def injection(name: str, row: Mapping[str, Any]) -> Injection:
    """What injects a row of ``cases.yaml``."""
    if "add" in row:
        return _added(row["add"])
    return _changed(**row["change"]) if "change" in row else INJECTIONS[name]


def _changed(
    type: str,
    where: Mapping[str, Any] | None = None,
    set: Mapping[str, Any] | None = None,
    replace: Mapping[str, tuple[str, str]] | None = None,
    drop: Mapping[str, Mapping[str, str]] | None = None,
) -> Injection:
    def change(inputs: Inputs) -> Inputs | None:
        for path, value in (where or {}).items():
            present = _at(inputs, path)
            if present != value and not (value is True and present):
                return None
        for path, value in (set or {}).items():
            inputs = _with(inputs, path, lambda _, value=value: value)
        for path, (pattern, text) in (replace or {}).items():
            inputs = _with(inputs, path, lambda old, pattern=pattern, text=text: _replaced(old, pattern, text))
        for path, ((key, value),) in ((path, each.items()) for path, each in (drop or {}).items()):
            inputs = _with(inputs, path, lambda old, key=key, value=value: _without(old, key, value))
        return inputs

    return _of_type(type, change)


def _of_type(type: str, change: Callable[[Inputs], Inputs | None]) -> Injection:
    """A fault that passes the inputs of every resource of ``type`` through ``change``; ``None`` leaves them alone."""

    def transform(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
        changed = change(dict(args.props)) if args.type_ == type else None
        return None if changed is None else pulumi.ResourceTransformationResult(changed, args.opts)

    def inject(program: Program) -> None:
        pulumi.runtime.register_stack_transformation(transform)
        program()

    return inject


def _at(inputs: Any, path: str) -> Any:
    for key in path.split("."):
        inputs = inputs.get(key) if isinstance(inputs, dict) else None
    return inputs


def _with(inputs: Any, path: str, change: Callable[[Any], Any]) -> Any:
    """A copy of ``inputs`` with what is at a dotted path changed."""
    if not path:
        return change(inputs)
    if isinstance(inputs, list):
        return [_with(each, path, change) for each in inputs]
    key, _, rest = path.partition(".")
    return {**inputs, key: _with(inputs.get(key), rest, change)}


def _replaced(value: Any, pattern: str, text: str) -> Any:
    if isinstance(value, list):
        return [_replaced(each, pattern, text) for each in value]
    if isinstance(value, pulumi.Output):  # a policy that names the account is known only when the account is
        return value.apply(lambda known: re.sub(pattern, text, known))
    return re.sub(pattern, text, value)


def _without(items: list[Inputs], key: str, value: str) -> list[Inputs]:
    def has(each: Inputs) -> bool:
        known = each.get(key)
        return value in known if isinstance(known, list) else value == known

    return [each for each in items if not has(each)]


def _reversed(inputs: Inputs) -> Inputs | None:
    if "priorities" not in inputs.get("data", {}):
        return None
    order = yaml.safe_load(inputs["data"]["priorities"])
    # The last entry matches all other groups: in first place it would leave the order to prices.
    *own, rest = order.values()
    turned = dict(zip(order, [*reversed(own), rest], strict=True))
    return _with(inputs, "data.priorities", lambda _: yaml.safe_dump(turned))


def _untainted(program: Program) -> None:
    """As in the GKE tips post: GKE adds the taint by itself where a pool without GPUs exists, so these come first."""
    gpu_pools: list[pulumi.Resource] = []

    async def every_gpu_pool() -> list[pulumi.Resource]:
        # Awaited when the program has run to its end, so the list is complete.
        return gpu_pools

    def strip(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
        properties: Inputs = dict(args.props)
        if args.type_ != _NODE_POOL:
            return None
        if not _at(properties, "nodeConfig.guestAccelerators"):
            args.opts.depends_on = pulumi.Output.from_input(every_gpu_pool())
            return pulumi.ResourceTransformationResult(properties, args.opts)
        gpu_pools.append(args.resource)
        args.opts.depends_on = []
        return pulumi.ResourceTransformationResult(_with(properties, "nodeConfig.taints", lambda _: []), args.opts)

    pulumi.runtime.register_stack_transformation(strip)
    program()


def _added(name: str) -> Injection:
    """A fault that declares the object in ``<name>.yaml`` after all node pools."""
    manifest: Inputs = yaml.safe_load(Path(__file__).with_name(f"{name}.yaml").read_text())

    def inject(program: Program) -> None:
        providers: list[pulumi.ProviderResource] = []
        pools: list[pulumi.Resource] = []

        def record(args: pulumi.ResourceTransformationArgs) -> None:
            if args.type_ == _PROVIDER and isinstance(args.resource, pulumi.ProviderResource):
                providers.append(args.resource)
            if args.type_ == _NODE_POOL:
                pools.append(args.resource)

        pulumi.runtime.register_stack_transformation(record)
        program()
        after_pools = pulumi.ResourceOptions(provider=providers[0], depends_on=pools)
        CustomResource(object_token(manifest), manifest["metadata"]["name"], manifest, after_pools)

    return inject


INJECTIONS: Final[Mapping[str, Injection]] = {
    "fallback-order-reversed": _of_type("kubernetes:core/v1:ConfigMap", _reversed),
    "taint-removed": _untainted,
}
"""Those that only code can say."""


@dataclass(frozen=True)
class Case:
    """One fault of the program.

    ``inject`` gets the original program as a function and must call it, with something changed before or added after.
    ``rule`` is the policy that must refuse it, ``None`` if only the cloud or the cluster can know. Without the gate,
    the rehearsal's check ``check`` must fail, and its detail must contain ``reason``.
    """

    name: str
    title: str
    stack: str
    rule: str | None
    check: str
    reason: str
    inject: Injection


def _case(name: str, row: dict[str, Any]) -> Case:
    texts: dict[str, Any] = {key: value for key, value in row.items() if key not in ("change", "add")}
    return Case(name=name, **{"rule": None, **texts}, inject=injection(name, row))


_ROWS: Final = yaml.safe_load(Path(__file__).with_name("cases.yaml").read_text("utf-8"))
CASES: Final[dict[str, Case]] = {name: _case(name, row) for name, row in _ROWS.items()}
