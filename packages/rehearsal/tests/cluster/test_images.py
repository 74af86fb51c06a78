"""Which pods run for real, and which kwok only says that it runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from packages.rehearsal.tests.tables import cases
from rehearsal.cluster.control_plane import STAGES
from rehearsal.cluster.images import CARRIED, KARPENTER, Image, carried, expression
from rehearsal.workloads.kubelet import programs


@cases
def test_names_of_images(name: str, repository: str, tag: str) -> None:
    assert Image.parse(name) == Image(repository, tag)


@cases
def test_an_image_is_left_to_its_program_or_to_kwok_and_never_to_both(name: str, runs: bool) -> None:
    assert (carried(name) is not None) is runs
    assert bool(re.search(expression(), name)) is runs


@pytest.mark.parametrize("stage", ["pod-ready.yaml", "pod-delete.yaml"])
def test_kwok_neither_starts_nor_removes_pods_of_carried_images(stage: str) -> None:
    assert "CARRIED_IMAGES" in (STAGES / stage).read_text()


def test_the_version_is_that_of_the_built_module(tmp_path: Path) -> None:
    assert programs(tmp_path) == {}
    (tmp_path / "karpenter-aws").touch()
    built = programs(tmp_path)
    assert set(built) == set(CARRIED)
    assert re.fullmatch(r"\d+\.\d+\.\d+", built[KARPENTER].version)
