"""The simulated clouds have the same files for the same things, so that who knows one finds the way in the others."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

import rehearsal.providers

FOLDER: Final = Path(rehearsal.providers.__file__).parent
COMMON: Final = {
    "__init__.py",
    "cloud.py",
    "cluster.py",
    "data.py",
    "fixtures.py",
    "functions.py",
    "iam.py",
    "network.py",
    "node_pool.py",
    "nodes.py",
    "provider.py",
    "resources.yaml",
    "rules.py",
    "rules.yaml",
    "system",
}
FURTHER: Final = {
    "gke": {"admission.yaml", "node_needs.yaml", "partitions.yaml", "questions.yaml"},
    "aks": set[str](),
    "eks": {
        # moto answers in requests of AWS, and controllers in the cluster call AWS, too.
        "access.py",
        "authorization",
        "autoscaling",
        "aws_api",
        "background.py",
        "events.py",
        "forms.yaml",
        "leftovers.py",
        "machines",
        "problems.py",
        "request.py",
        "row.py",
        "scaling_group.py",
    },
}


@pytest.mark.parametrize("cloud", FURTHER)
def test_a_cloud_has_the_common_files_and_those_that_are_listed(cloud: str) -> None:
    assert {each.name for each in (FOLDER / cloud).iterdir()} - {"__pycache__"} == COMMON | FURTHER[cloud]
