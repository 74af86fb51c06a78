"""Every property that the program sends is one of the provider's inputs, at any depth, and as it takes it.

``components/resources.py`` bypasses the SDK's classes at run time for their import time; this puts their checks back.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from rehearsal.providers import check
from schemas import schema
from schemas.used import USED
from tests import one_stack
from tests.stacks import STACK_FILES, run_program, stack_name

OBJECTS = ("kubernetes:", "pulumi:")  # those in a cluster are judged by its API server
MADE_UP: Final = re.compile(r"'[-\w]+-id' does not match")
WORDS: Final = check.InputMessages("no such property", "no such property in this version", "set by the server")


@pytest.mark.parametrize("file", [*STACK_FILES, *one_stack.files()], ids=stack_name)
def test_every_input_is_one_of_the_providers(file: Path) -> None:
    custom = [resource for resource in run_program(file).resources if resource.custom]
    sent = [resource for resource in custom if not resource.type.startswith(OBJECTS)]
    assert sent
    problems = [problem for resource in sent for problem in problems_of(resource.type, resource.inputs)]
    # The ids that the recorder makes up have no cloud's form.
    assert [each for each in problems if not MADE_UP.search(each)] == []


@pytest.mark.parametrize(
    ("inputs", "problem"),
    [
        ({"cluster": "c", "nodeCounts": 1}, "nodeCounts"),
        ({"cluster": "c", "nodeConfig": {"machineTyp": "e2"}}, "nodeConfig.machineTyp"),
        (
            {
                "cluster": "c",
                "nodeConfig": {"guestAccelerators": [{"kind": "t4", "type": "nvidia-tesla-t4", "count": 1}]},
            },
            "nodeConfig.guestAccelerators[0].kind",
        ),
        ({"cluster": "c", "nodeConfig": ["e2"]}, "nodeConfig"),
        ({"cluster": "c", "nodeLocations": "us-central1-a"}, "nodeLocations"),
        ({"cluster": "c", "initialNodeCount": "0"}, "initialNodeCount"),
        ({"nodeCount": 1.0}, "cluster"),
    ],
)
def test_a_wrong_input_is_found(inputs: dict[str, Any], problem: str) -> None:
    (message,) = problems_of("gcp:container/nodePool:NodePool", inputs)
    assert message.startswith(f"gcp:container/nodePool:NodePool {problem}:")


def problems_of(token: str, inputs: Mapping[str, Any]) -> list[str]:
    cloud = next(cloud for cloud, tokens in USED.items() if token in tokens)
    failures = check.failures(schema(cloud), token, dict(inputs), WORDS)
    return [f"{token} {each.property}: {each.reason}" for each in failures]
