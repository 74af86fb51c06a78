"""A stack on one cloud loads nothing of another, no generated SDK, and little that its file does not ask for.

The first two would cost every preview seconds.
"""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests import one_stack
from tests.stacks import ROOT

SDKS = {"pulumi_gcp", "pulumi_aws", "pulumi_azure_native", "pulumi_kubernetes"}
CLIENTS = {"boto3", "botocore", "moto", "azure", "googleapiclient"}

SCRIPT = """
import json, sys
from tests import one_stack
from tests.stacks import run_with
recording = run_with(one_stack.config({cloud!r}), "one")
assert recording.resources
print(json.dumps(sorted(sys.modules)))
"""

IMPORTS = """
import ast, json, sys
from pathlib import Path
tree = ast.parse(Path("__main__.py").read_text())
tree.body = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
exec(compile(tree, "__main__.py", "exec"))
from components.clouds.base import load_cloud
from components.settings import from_stack_file
load_cloud(from_stack_file({file!r}).cloud)
print(json.dumps(sorted(sys.modules)))
"""
ASKED_FOR = ("components.workloads.", "components.settings.raw", "facts.jobs.", "schemas", "policies.rules.table")
"""What is imported where a stack file has some key, or in the gate's own process."""


def modules_of(cloud: str) -> set[str]:
    """Modules in memory after the program ran in an interpreter of its own."""
    return loaded_by(SCRIPT.format(cloud=cloud))


def loaded_by(script: str) -> set[str]:
    answer = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(json.loads(answer.stdout.splitlines()[-1]))


@pytest.mark.parametrize("cloud", one_stack.CLOUDS)
def test_a_program_loads_its_own_cloud_only(cloud: str) -> None:
    loaded = modules_of(cloud)
    for package in ("components.clouds", "facts.catalog"):
        assert f"{package}.{cloud}" in loaded
        others = [other for other in one_stack.CLOUDS if other != cloud]
        assert [name for other in others for name in loaded if _inside(name, f"{package}.{other}")] == []
    assert (SDKS | CLIENTS) & {name.partition(".")[0] for name in loaded} == set()


@pytest.mark.parametrize("file", ["Pulumi.dev.yaml", "examples/eks-spot.yaml", "examples/aks-train-infer.yaml"])
def test_a_stack_that_asks_for_little_imports_little(file: str) -> None:
    loaded = loaded_by(IMPORTS.format(file=file))
    assert {name for name in loaded if name.startswith(ASKED_FOR)} == {
        "components.workloads.data",
        "components.workloads.declare",
    }
    assert {name for name in loaded if _inside(name, "components.settings.own")} == set()


def _inside(module: str, package: str) -> bool:
    return module == package or module.startswith(package + ".")
