"""Edits of a stack on own machines: what is in the stack file stays in the cluster, whatever resource it was before."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.settings.read import NAMESPACE
from packages.rehearsal.tests.upgrade.deployment import Deployment
from packages.rehearsal.tests.upgrade.released import program
from rehearsal.engine.stack import ROOT
from tests.program.test_machine_keys import CHANGES, own_pool
from tests.stacks import OWN_MACHINES

pytestmark = pytest.mark.slow

GPU1, GPU2 = own_pool()["machines"]
EDITS: dict[str, dict[str, Any]] = {
    **{key: change for key, change in CHANGES["own"].items() if change is not None},
    "a machine in another pool": {
        "gpuPools": [own_pool(machines=[GPU1]), own_pool(name="more", machines=[GPU2])],
    },
    "a machine without its GPUs": {
        "teams": [],
        "gpuPools": [own_pool(machines=[GPU1])],
        "cpuPools": [{"name": "cpu", "machines": [GPU2]}],
    },
    "a machine of another name": {"gpuPools": [own_pool(machines=[{**GPU1, "name": "gpu9"}, GPU2])]},
    "pools that change their machines": {
        "gpuPools": [own_pool(machines=[GPU2]), own_pool(name="more", machines=[GPU1])],
    },
}
BEFORE: dict[str, Any] = {
    "pools that change their machines": {
        "gpuPools": [own_pool(machines=[GPU1]), own_pool(name="more", machines=[GPU2])],
    },
}


@pytest.mark.parametrize("edit", EDITS)
def test_no_edit_takes_a_machine_out_of_the_cluster_that_stays_in_the_file(edit: str, tmp_path: Path) -> None:
    """Nor does the way back."""
    content = yaml.safe_load(OWN_MACHINES.read_text())
    content["config"] |= {f"{NAMESPACE}:{key}": value for key, value in BEFORE.get(edit, {}).items()}
    file = tmp_path / "Pulumi.lab.yaml"
    file.write_text(yaml.safe_dump(content))
    changed = {f"{NAMESPACE}:{key}": value for key, value in EDITS[edit].items()}
    back = {key: copy.deepcopy(content["config"].get(key)) for key in changed}
    deployment = Deployment(file, tmp_path, {})
    for config in ({}, changed, back):
        deployment.update(program(ROOT), **config)
        assert deployment.missing() == []
