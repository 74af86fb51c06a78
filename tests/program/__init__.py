"""The program as a whole."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from facts.concepts.kubernetes import Taint, Toleration
from tests import one_stack
from tests.stacks import STACK_FILES, stack_name

FILES = [*STACK_FILES, *one_stack.files()]

each_stack = pytest.mark.parametrize("file", FILES, ids=stack_name)


def not_tolerated(tolerations: Iterable[dict[str, str]], taints: tuple[Taint, ...]) -> list[Taint]:
    covered = [
        Toleration(one.get("key"), one["operator"], one.get("value"), one.get("effect"))  # type: ignore[arg-type]
        for one in tolerations
    ]
    return [taint for taint in taints if not any(toleration.tolerates(taint) for toleration in covered)]
