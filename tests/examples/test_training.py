"""The training example loses at most what came after its last checkpoint, whenever and however its node goes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from tests.examples.object_store import object_store
from tests.stacks import ROOT

pytestmark = pytest.mark.slow

PROGRAM = ROOT / "examples" / "training" / "train.py"
STEPS, EVERY = 20, 5
BUCKET = "gpu-dev-checkpoints"
PATIENCE = 240.0


@pytest.fixture(scope="module")
def store() -> Iterator[dict[str, str]]:
    with object_store() as environment:
        yield environment


@pytest.fixture
def where(store: dict[str, str], tmp_path: Path) -> tuple[dict[str, str], str]:
    """The environment, and a prefix of the test's own in a bucket."""
    client(store).create_bucket(Bucket=BUCKET)
    return {**store, "PATH": os.environ["PATH"], "HOME": str(tmp_path)}, f"s3://{BUCKET}/{tmp_path.name}"


def client(store: dict[str, str]) -> Any:
    place = {"endpoint_url": store["AWS_ENDPOINT_URL"], "region_name": store["AWS_DEFAULT_REGION"]}
    return boto3.client("s3", aws_access_key_id="simulated", aws_secret_access_key="simulated", **place)


def run(
    where: tuple[dict[str, str], str], stop_at: int | None = None, by: int = signal.SIGKILL
) -> tuple[int, list[str]]:
    """The program's code and lines; it gets the signal as soon as it says that it did step ``stop_at``."""
    environment, url = where
    command = [sys.executable, str(PROGRAM), "--checkpoints", url, "--steps", str(STEPS), "--every", str(EVERY)]
    # Long enough for the signal to arrive within the step.
    slow = ["--step-seconds", "0.2"] if stop_at is not None else []
    with subprocess.Popen([*command, *slow], env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            lines.append(line.strip())
            if lines[-1] == f"step {stop_at}":
                process.send_signal(by)
                if by == signal.SIGKILL:
                    break
        process.wait(PATIENCE)
    return process.returncode, lines


def steps(lines: list[str]) -> list[int]:
    return [int(line.removeprefix("step ")) for line in lines if line.startswith("step ")]


@pytest.fixture(scope="module")
def undisturbed(store: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> str:
    home = tmp_path_factory.mktemp("undisturbed")
    client(store).create_bucket(Bucket=BUCKET)
    code, lines = run(({**store, "PATH": os.environ["PATH"], "HOME": str(home)}, f"s3://{BUCKET}/undisturbed"))
    assert (code, steps(lines)) == (0, [*range(1, STEPS + 1)])
    return lines[-1]


@pytest.mark.parametrize("at", [1, EVERY - 1, EVERY, EVERY + 1, STEPS - 1])
@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGTERM], ids=["without notice", "with notice"])
def test_a_reclaimed_run_goes_on_from_its_last_checkpoint(
    at: int, by: signal.Signals, where: tuple[dict[str, str], str], undisturbed: str
) -> None:
    code, before = run(where, at, by)
    done = steps(before)[-1]
    # On a busy machine the signal may come when the last step is done.
    assert code == (-by if by == signal.SIGKILL else 128 + by) or done == STEPS
    code, after = run(where)
    resumed = int(after[0].removeprefix("from step "))
    assert code == 0
    # With notice nothing is lost; without, at most an interval, whatever the moment.
    assert resumed <= done
    assert done - resumed <= (0 if by == signal.SIGTERM else EVERY)
    assert after[-1] == undisturbed


def test_a_run_reclaimed_repeatedly_ends_the_same(where: tuple[dict[str, str], str], undisturbed: str) -> None:
    for at in (3, EVERY + 2, 2 * EVERY + 1):
        code, _ = run(where, at)
        assert code
    code, lines = run(where)
    assert (code, lines[-1]) == (0, undisturbed)


def test_damage_costs_one_interval(store: dict[str, str], where: tuple[dict[str, str], str], undisturbed: str) -> None:
    run(where, 2 * EVERY + 1)
    s3, prefix = client(store), where[1].removeprefix(f"s3://{BUCKET}/")
    keys = sorted(each["Key"] for each in s3.list_objects_v2(Bucket=BUCKET, Prefix=prefix)["Contents"])
    s3.put_object(Bucket=BUCKET, Key=keys[-1], Body=b'{"step": 1')
    code, lines = run(where)
    assert (code, lines[1], lines[-1]) == (0, f"from step {EVERY}", undisturbed)


def test_old_checkpoints_go_and_a_finished_run_does_nothing_again(
    store: dict[str, str], where: tuple[dict[str, str], str], undisturbed: str
) -> None:
    run(where)
    prefix = where[1].removeprefix(f"s3://{BUCKET}/")
    assert client(store).list_objects_v2(Bucket=BUCKET, Prefix=prefix)["KeyCount"] == 2
    assert run(where) == (0, [f"from step {STEPS}", undisturbed])
