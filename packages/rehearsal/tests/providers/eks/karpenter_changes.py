"""What tests change in a cluster with Karpenter and its account, as context managers that put it back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from packages.rehearsal.tests.providers.eks.karpenter_world import CLASSES, CLUSTER, POOLS, KarpenterWorld

ROLE: Final = f"{CLUSTER}-karpenter"


def pool_path(pool: str) -> str:
    return f"{POOLS}/{pool}"


def class_path(world: KarpenterWorld, pool: str) -> str:
    """Of what the pool's machines are made from."""
    name: str = world.api.get(pool_path(pool))["spec"]["template"]["spec"]["nodeClassRef"]["name"]
    return f"{CLASSES}/{name}"


@contextmanager
def changed(world: KarpenterWorld, path: str, change: Callable[[Any], None]) -> Iterator[None]:
    """An object's spec with a change, and as it was again."""
    original = world.api.get(path)["spec"]
    spec = json.loads(json.dumps(original))
    change(spec)
    world.api.merge(path, {"spec": spec})
    try:
        yield
    finally:
        world.api.merge(path, {"spec": {**dict.fromkeys(spec, None), **original}})


@contextmanager
def without(world: KarpenterWorld, action: str) -> Iterator[None]:
    """Karpenter's role with one action less."""
    names = world.aws("iam", "ListRolePolicies", RoleName=ROLE)["PolicyNames"]
    kept = {name: world.aws("iam", "GetRolePolicy", RoleName=ROLE, PolicyName=name)["PolicyDocument"] for name in names}
    for name, document in kept.items():
        less = json.loads(json.dumps(document))
        for statement in less["Statement"]:
            actions = statement["Action"] if isinstance(statement["Action"], list) else [statement["Action"]]
            statement["Action"] = [each for each in actions if each != action] or ["sts:GetCallerIdentity"]
        world.aws("iam", "PutRolePolicy", RoleName=ROLE, PolicyName=name, PolicyDocument=json.dumps(less))
    try:
        yield
    finally:
        for name, document in kept.items():
            world.aws("iam", "PutRolePolicy", RoleName=ROLE, PolicyName=name, PolicyDocument=json.dumps(document))
