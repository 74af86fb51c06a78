"""A program imports what its stack file asks for: every preview waits for imports."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.stacks import ROOT

PROGRAM = """
import ast
import sys
from pathlib import Path

tree = ast.parse(Path("__main__.py").read_text())
tree.body = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
exec(compile(tree, "__main__.py", "exec"))

from components.clouds.base import load_cloud
from components.settings import from_stack_file

load_cloud(from_stack_file(sys.argv[1]).cloud)
print(*sorted(sys.modules))
"""
CLOUDS = ("aks", "eks", "gke")
ASKED_FOR = ("components.workloads.", "components.settings.raw", "gpu.", "schemas", "policies.rules.table")
"""What is imported where a stack file has some key, or in the gate's own process."""
ALWAYS = ("components.workloads.declare",)


def imported(stack_file: str) -> set[str]:
    command = [sys.executable, "-c", PROGRAM, stack_file]
    return set(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split())


@pytest.mark.parametrize(
    ("stack_file", "cloud"),
    [("Pulumi.dev.yaml", "gke"), ("examples/eks-spot.yaml", "eks"), ("examples/aks-train-infer.yaml", "aks")],
)
def test_a_stack_that_asks_for_little_imports_little(stack_file: str, cloud: str) -> None:
    found = imported(stack_file)
    others = tuple(f"{package}.{other}." for package in ("components.clouds", "catalog") for other in CLOUDS)
    own = (f"components.clouds.{cloud}.", f"catalog.{cloud}.")
    assert any(name.startswith(own[0]) for name in found)
    unasked = {name for name in found if name.startswith((*ASKED_FOR, *others)) and not name.startswith(own)}
    assert unasked <= {*ALWAYS}
