"""What tests change in a cluster with Karpenter and its account, as context managers that put it back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from packages.rehearsal.tests.providers.eks.karpenter_sandbox import CLASSES, CLUSTER, POOLS, KarpenterSandbox

ROLE: Final = f"{CLUSTER}-karpenter"


def pool_path(pool: str) -> str:
    return f"{POOLS}/{pool}"


def class_path(sandbox: KarpenterSandbox, pool: str) -> str:
    """Of what the pool's machines are made from."""
    name: str = sandbox.api.get(pool_path(pool))["spec"]["template"]["spec"]["nodeClassRef"]["name"]
    return f"{CLASSES}/{name}"


@contextmanager
def changed(sandbox: KarpenterSandbox, path: str, change: Callable[[Any], None]) -> Iterator[None]:
    """An object's spec with a change, and as it was again."""
    original = sandbox.api.get(path)["spec"]
    spec = json.loads(json.dumps(original))
    change(spec)
    sandbox.api.merge(path, {"spec": spec})
    try:
        yield
    finally:
        sandbox.api.merge(path, {"spec": {**dict.fromkeys(spec, None), **original}})


@contextmanager
def without(sandbox: KarpenterSandbox, action: str) -> Iterator[None]:
    """Karpenter's role with one action less."""
    names = sandbox.aws("iam", "ListRolePolicies", RoleName=ROLE)["PolicyNames"]
    policies = {
        name: sandbox.aws("iam", "GetRolePolicy", RoleName=ROLE, PolicyName=name)["PolicyDocument"] for name in names
    }
    for name, document in policies.items():
        less = json.loads(json.dumps(document))
        for statement in less["Statement"]:
            actions = statement["Action"] if isinstance(statement["Action"], list) else [statement["Action"]]
            statement["Action"] = [each for each in actions if each != action] or ["sts:GetCallerIdentity"]
        sandbox.aws("iam", "PutRolePolicy", RoleName=ROLE, PolicyName=name, PolicyDocument=json.dumps(less))
    try:
        yield
    finally:
        for name, document in policies.items():
            sandbox.aws("iam", "PutRolePolicy", RoleName=ROLE, PolicyName=name, PolicyDocument=json.dumps(document))
