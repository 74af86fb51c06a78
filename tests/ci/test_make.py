"""What make would ignore in silence is refused before anything runs."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def make(*arguments: str) -> subprocess.CompletedProcess[str]:
    # Without what a make that runs these tests hands down.
    environment = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    command = ["make", "-n", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("written", "answer"),
    [
        ("stack=prod", "no variable is called stack. Write one of ACCOUNT"),
        ("STACKK=prod", "no variable is called STACKK"),
        ("KEEP=maybe", "KEEP=maybe: write one of 1 yes true 0 no false"),
        ("REFRESH=on", "REFRESH=on: write one of"),
        ("DAYTWO=banana", "DAYTWO=banana: write one of 0 no false 1 yes true brief all"),
    ],
)
def test_a_misspelt_variable_or_value_is_refused(written: str, answer: str) -> None:
    done = make("rehearse", written)
    assert done.returncode != 0
    assert answer in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("written", ["STACK=examples/gke-tips.yaml", "KEEP=1", "DAYTWO=all", "SEED=7", "ARGS=-k a=b c"])
def test_what_a_target_takes_is_accepted(written: str) -> None:
    assert make("rehearse", written).returncode == 0
