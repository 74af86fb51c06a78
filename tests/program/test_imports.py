"""A stack on one cloud loads nothing of another, and no generated SDK: both would cost every preview seconds."""

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


def modules_of(cloud: str) -> set[str]:
    """Modules in memory after the program ran in an interpreter of its own."""
    script = SCRIPT.format(cloud=cloud)
    answer = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(json.loads(answer.stdout.splitlines()[-1]))


@pytest.mark.parametrize("cloud", one_stack.CLOUDS)
def test_a_program_loads_its_own_cloud_only(cloud: str) -> None:
    loaded = modules_of(cloud)
    for package in ("components.clouds", "catalog"):
        assert f"{package}.{cloud}" in loaded
        others = [other for other in one_stack.CLOUDS if other != cloud]
        assert [name for other in others for name in loaded if _inside(name, f"{package}.{other}")] == []
    assert (SDKS | CLIENTS) & {name.partition(".")[0] for name in loaded} == set()


def _inside(module: str, package: str) -> bool:
    return module == package or module.startswith(package + ".")
