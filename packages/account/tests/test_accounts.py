"""Stacks whose machines no cloud account has: both questions about accounts say so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from account.asking import AccountError
from account.command import account_of
from account.left import leftovers_of
from components.settings import Settings, from_stack_file
from tests.stacks import EXISTING, OWN_MACHINES


@pytest.mark.parametrize("ask", [account_of, leftovers_of])
@pytest.mark.parametrize("file", [OWN_MACHINES, EXISTING], ids=lambda file: file.stem)
def test_machines_of_ones_own_are_in_no_account(file: Path, ask: Callable[[Settings], object]) -> None:
    with pytest.raises(AccountError, match="no cloud account has its machines"):
        ask(from_stack_file(file))
