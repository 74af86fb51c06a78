"""What make hands down: every variable is an option's, and a misspelt one is refused before anything runs."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
import typer.main

from gpucluster.app import app
from gpucluster.make import SWITCHES, VARIABLES, UnknownVariable, targets, written
from tests.stacks import ROOT

MAKEFILE = (ROOT / "Makefile").read_text()
# Targets of c5140c16, which workflows, pipelines and people call.
INTERFACE = (
    "help setup setup-rehearsal setup-dev tools rehearse rehearse-changed report compare rehearse-stop preview "
    "pr-report scan plan deploy drift engine gate-config gate-diff policy-pack stack-place moving-in quota "
    "faults mutants sabotage quick test clients checkov test-clients test-all check bench bench-load "
    "bench-trace docs site picture facts schemas format lock release clean "
)
ADDED = "account pins prove setup-account"


def make(*arguments: str) -> subprocess.CompletedProcess[str]:
    # Without what a make that runs these tests hands down.
    environment = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    command = ["make", "--silent", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("flags", "variables"),
    [
        ("", {}),
        (" -- STACK=dev", {"STACK": "dev"}),
        ("k -j2 --jobserver-auth=3,4 -- STACK=dev N=3", {"STACK": "dev", "N": "3"}),
        (r" -- ARGS=-k\ a\ or\ b=c KEEP=1", {"ARGS": "-k a or b=c", "KEEP": "1"}),
        (r" -- APPLY=C:\\x\ y$$z", {"APPLY": r"C:\x y$z"}),
        ("k --no-print-directory", {}),
        (" -- GPUCLUSTER_CACHE=/c MAKEFILES=x SHELL=/bin/bash", {"GPUCLUSTER_CACHE": "/c"}),
    ],
)
def test_the_variables_are_those_of_the_command_line(flags: str, variables: dict[str, str]) -> None:
    result = written({"MAKEFLAGS": flags, "STACK": "of the shell"})
    assert {name: value for name, value in result.items() if name not in ("MAKEFILES", "SHELL")} == variables


@pytest.mark.parametrize(
    ("assignment", "answer"),
    [
        ("SATCK=dev", "make has no variable SATCK. Did you mean STACK?"),
        ("stack=dev", "make has no variable stack. Did you mean STACK?"),
        ("CLUSTER_AUTOSCALR=/x", "Did you mean CLUSTER_AUTOSCALER?"),
        ("QQQ=1", "There are ACCOUNT, ALL,"),
        ("KEEP=maybe", "KEEP=maybe: write one of 1 yes true 0 no false"),
        ("ALL=2", "ALL=2: write one of 1 yes true 0 no false"),
    ],
)
def test_a_misspelt_variable_or_value_is_refused(assignment: str, answer: str) -> None:
    with pytest.raises(UnknownVariable) as refused:
        written({"MAKEFLAGS": f" -- STACK=dev {assignment}"})
    assert answer in str(refused.value)
    done = make("help", assignment)
    assert done.returncode == 2
    assert done.stdout == ""
    assert answer in done.stderr


def test_every_target_refuses_it_before_its_command_runs() -> None:
    calling = re.findall(r"^([a-z-]+):( setup[a-z-]*)? ##.*\n\t(.*)$", MAKEFILE, re.MULTILINE)
    assert len(calling) > 40
    unchecked = [name for name, setup, command in calling if not setup and "gpucluster." not in command]
    assert unchecked == ["tools", "engine", "clean"], "these read no variable"


def test_every_variable_is_read_by_an_option_and_every_option_of_make_has_one() -> None:
    root = typer.main.get_command(app)
    read = {
        variable
        for command in (root, *root.commands.values())  # type: ignore[attr-defined]
        for option in command.params
        for variable in ([option.envvar] if isinstance(option.envvar, str) else option.envvar or ())
    }
    assert read == {*VARIABLES} - {"PYTHON"}
    assert "PYTHON ?= python3" in MAKEFILE
    assert {*SWITCHES} < {*VARIABLES}


def test_what_was_a_target_is_one_and_calls_a_command() -> None:
    present = re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE)
    assert sorted(present) == sorted([*INTERFACE.split(), *ADDED.split()])
    (phony,) = re.findall(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)
    assert sorted(phony.split()) == sorted(present)
    called = set(re.findall(r"^\t\$\(GPUCLUSTER\) ([a-z-]+)$", MAKEFILE, re.MULTILINE))
    assert called <= {*typer.main.get_command(app).commands}  # type: ignore[attr-defined]


@pytest.mark.parametrize(("target", "answer"), [("moving-in", "docs/moving-in.md"), ("sabotage", "make faults")])
def test_what_is_no_target_any_more_says_what_to_use(target: str, answer: str) -> None:
    done = make(target)
    assert done.returncode == 2
    assert answer in done.stderr


def test_the_list_of_targets_fits_a_terminal(tmp_path: Path) -> None:
    lines = targets(ROOT / "Makefile").splitlines()
    assert max(map(len, lines)) <= 80
    listed = [line.split()[1] for line in lines if line.startswith("make ")]
    assert listed == re.findall(r"^([a-z-]+):.*##", MAKEFILE, re.MULTILINE)
    file = tmp_path / "Makefile"
    file.write_text("one: two ## First\n\tcommand\nthree: ## " + "word " * 30 + "\n")
    first, second, third, *_ = targets(file).splitlines()
    assert first == "make one              First"
    assert second.startswith("make three            word word")
    assert third.startswith(" " * 22 + "word")


def test_a_value_of_the_shell_reaches_the_option_and_make_s_own_comes_first() -> None:
    done = make("stack-place", "STACK=prod")
    assert done.stdout == "cloud=gke\nregion=us-central1\n"
    assert "Pulumi.nowhere.yaml" in make("stack-place", "STACK=nowhere").stderr
