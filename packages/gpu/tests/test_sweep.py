"""Every combination is run once, by a shell that knows nothing but the run's index."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys

import pytest

from facts.jobs.sweep import MOST, Sweep, SweepError, parse, unnamed
from tests.tables import cases

PROGRAM = "import json, os, sys; print(json.dumps([sys.argv[1:], os.environ.get('lr'), os.environ.get('seed')]))"


def run(sweep: Sweep, index: int, *arguments: str) -> list[object]:
    command = sweep.wrap((sys.executable, "-c", PROGRAM, *arguments), "INDEX")
    done = subprocess.run(command, env={**os.environ, "INDEX": str(index)}, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_each_index_is_one_combination_as_variables_and_in_arguments() -> None:
    sweep = parse(["lr=1e-3,1e-4", "seed=0..2"])
    assert sweep is not None
    assert sweep.runs == 6
    outputs = [run(sweep, index, "--lr={lr}", "{seed}", "plain") for index in range(sweep.runs)]
    expected = [
        [[f"--lr={lr}", seed, "plain"], lr, seed] for lr, seed in itertools.product(["1e-3", "1e-4"], ["0", "1", "2"])
    ]
    assert outputs == expected
    assert [sweep.values(index) for index in range(6)] == [{"lr": lr, "seed": seed} for _, lr, seed in expected]


@pytest.mark.parametrize("value", ["a b", "it's", '"', "$HOME", "`id`", "\\", "{other}", "*", "-n", "%s", "é"])
def test_values_and_arguments_are_taken_as_they_are_written(value: str) -> None:
    sweep = parse([f"lr={value},other"])
    assert sweep is not None
    assert run(sweep, 0, value, "{lr}", "") == [[value, value, ""], value, None]


def test_the_program_takes_the_shells_place_so_that_signals_reach_it() -> None:
    sweep = Sweep({"lr": ("1",)})
    program = "import os; print(os.getpid())"
    command = sweep.wrap((sys.executable, "-c", program), "INDEX")
    process = subprocess.Popen(command, env={**os.environ, "INDEX": "0"}, stdout=subprocess.PIPE, text=True)
    output, _ = process.communicate(timeout=60)
    assert int(output) == process.pid


def test_no_sweep_is_none() -> None:
    assert parse([]) is None


def test_a_range_counts_its_ends_and_may_be_negative() -> None:
    sweep = parse(["x=-1..1"])
    assert sweep is not None
    assert sweep.axes == {"x": ("-1", "0", "1")}


@cases
def test_a_sweep_that_means_nothing_says_what_to_write(written: list[str], message: str) -> None:
    with pytest.raises(SweepError, match=message):
        parse(written)


def test_the_largest_sweep_is_one_job() -> None:
    sweep = parse([f"seed=1..{MOST}"])
    assert sweep is not None
    assert sweep.runs == MOST
    # An argument of a program may have 128 KiB: https://man7.org/linux/man-pages/man2/execve.2.html
    assert max(map(len, sweep.wrap(("true",), "INDEX"))) < 128 * 1024


@cases
def test_names_in_braces_that_no_sweep_has(argument: str, with_sweep: list[str], without: list[str]) -> None:
    assert unnamed(["echo", argument], Sweep({"lr": ("1",)})) == tuple(with_sweep)
    assert unnamed(["echo", argument], None) == tuple(without)
