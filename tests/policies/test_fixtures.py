"""Fixtures for users' own rules and configurations: they say what is wrong, and a rule of one's own counts."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from policies.bundle import bundle
from policies.fixtures import main

POOL = """
- name: a pool
  resources:
    - type: gcp:container/nodePool:NodePool
      name: gpu
      properties:
        location: europe-west4-a
        autoscaling: {minNodeCount: 1, maxNodeCount: 20}
        nodeConfig: {machineType: g2-standard-8}
"""
OWN_RULE = '''
"""A rule of our own."""

from facts.concepts.declared import NodeGroup, Violation
from policies.rules.rule import rule


@rule(
    "pool-names",
    title="Pools are named after their team",
    why="Nobody knows whom to ask about a pool without a team.",
    remedy="Name it <team>-<what>.",
    level="mandatory",
    severity="low",
    example=NodeGroup("gpu", "gke"),
)
def pool_names(group: NodeGroup) -> list[Violation]:
    """A pool's name has a team in front."""
    if "-" in group.name:
        return []
    return [Violation(pool_names.id, f"Pool '{group.name}' has no team.", "Name it.", resource=group.resource)]
'''


def run(tmp_path: Path, text: str) -> int:
    path = tmp_path / "pools.yaml"
    path.write_text(text)
    return main([str(path)])


@pytest.mark.parametrize(
    ("expected", "words"),
    [
        ("  refused: [gpu-taint, gpu-zero-minimum]\n", ""),
        ("  refused: [gpu-taint, gpu-zero-minimum]\n  noted: [gpu-present-label]\n", ""),
        ("  refused: []\n", "refused by gpu-taint, gpu-zero-minimum, expected nothing"),
        ("  refused: [gpu-taint]\n", "refused by gpu-taint, gpu-zero-minimum, expected gpu-taint"),
        ("  refused: [gpu-taint, gpu-zero-minimum]\n  noted: [private-nodes]\n", "not noted by private-nodes"),
        ("  config: {gpu-ceiling: {maxGpus: 8}}\n  refused: [gpu-ceiling, gpu-taint, gpu-zero-minimum]\n", ""),
        (
            "  config: {gpu-present-label: mandatory}\n  refused: [gpu-taint, gpu-zero-minimum]\n",
            "refused by gpu-present",
        ),
    ],
)
def test_another_result_is_shown(expected: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, POOL + expected) == (1 if words else 0)
    assert words in capsys.readouterr().out


def test_a_value_that_a_preview_does_not_know(tmp_path: Path) -> None:
    late = POOL.replace("minNodeCount: 1", "minNodeCount: !unknown ''")
    assert run(tmp_path, late + "  refused: [gpu-taint]\n") == 0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{}", "must be a list of programs"),
        ("- 3", "must be an object with name, resources"),
        ("- {name: x}", "[0].refused: missing"),
        ("- {name: x, refused: [gpu-tant]}", "no such rule: gpu-tant"),
        ("- {name: x, refuse: []}", "[0].refuse: no such key"),
        ("- {name: x, refused: [], config: {gpu-ceiling: {maxGpu: 1}}}", "did you mean maxGpus?"),
        ("- {name: x, refused: [], resources: [gpu]}", "each is an object with type, name and properties"),
        ("- [", "while parsing"),
    ],
)
def test_a_file_that_cannot_be_used(text: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, text) == 2
    assert words in capsys.readouterr().err


def test_a_rule_of_one_s_own_counts_in_the_pack_and_stays_when_the_pack_is_built_anew(tmp_path: Path) -> None:
    pack = tmp_path / "pack"
    bundle(pack)
    (pack / "own_rules").mkdir()
    (pack / "own_rules" / "names.py").write_text(OWN_RULE)
    bundle(pack)
    fixtures = tmp_path / "pools.yaml"
    fixtures.write_text(POOL + "  refused: [gpu-taint, gpu-zero-minimum, pool-names]\n")
    command = [sys.executable, "-m", "policies.fixtures", str(fixtures)]
    done = subprocess.run(command, cwd=pack, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    shutil.rmtree(pack / "own_rules")
    without = subprocess.run(command, cwd=pack, capture_output=True, text=True, check=False)
    assert "no such rule: pool-names" in without.stderr
