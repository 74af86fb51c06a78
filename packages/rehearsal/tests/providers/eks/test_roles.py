"""A role's permissions boundary and path, as IAM keeps them."""

from __future__ import annotations

import pytest

from packages.rehearsal.tests.providers.eks.account import AWS_POLICY, ROLE, Amazon, trust
from rehearsal.providers.base import ProviderError

POWER = f"{AWS_POLICY}/PowerUserAccess"


def boundary(amazon: Amazon) -> str | None:
    attached = amazon.account.call("iam", "GetRole", RoleName="nodes")["Role"].get("PermissionsBoundary") or {}
    return attached.get("PermissionsBoundaryArn")


def test_a_boundary_comes_changes_and_goes_and_has_to_be_there(amazon: Amazon) -> None:
    inputs = {"name": "nodes", "assumeRolePolicy": trust("ec2.amazonaws.com"), "path": "/platform/"}
    for nobodys in (f"{AWS_POLICY}/Company", "arn:aws:iam::210987654321:policy/company"):
        with pytest.raises(ProviderError, match=r"NoSuchEntity.*policy/[Cc]ompany does not exist"):
            amazon.create(ROLE, {**inputs, "permissionsBoundary": nobodys})
    role = amazon.create(ROLE, {**inputs, "permissionsBoundary": POWER})
    assert role.state["arn"] == "arn:aws:iam::123456789012:role/platform/nodes"
    assert boundary(amazon) == POWER
    # What somebody else of the account made is not known here.
    other = "arn:aws:iam::123456789012:policy/rules/company"
    amazon.update(ROLE, role, {**inputs, "permissionsBoundary": other})
    assert boundary(amazon) == other
    amazon.update(ROLE, amazon.read(ROLE, role.id, {**inputs, "permissionsBoundary": other}), inputs)
    assert boundary(amazon) is None
