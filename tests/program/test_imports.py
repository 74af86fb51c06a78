"""A stack on one cloud loads nothing of another, no generated SDK, and little that its file does not ask for.

The first two would cost every preview seconds. The process ends at once when interrupted, even while a thread waits.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys

import pulumi
import pytest

from components.process import DEBUG, run_without_delay
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
ASKED_FOR = (
    "components.workloads.",
    "components.settings.limits.raw",
    "facts.jobs.",
    "schemas",
    "policies.rules.table",
)
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
    expected = {"components.workloads.data", "components.workloads.declare"}
    assert {name for name in loaded if name.startswith(ASKED_FOR)} == expected
    own = ("sections.own_machines", "sections.existing_cluster", "pools.own", "pools.kubeadm", "pools.existing")
    assert loaded & {f"components.settings.{name}" for name in own} == set()


def _inside(module: str, package: str) -> bool:
    return module == package or module.startswith(package + ".")


STUCK = """
import concurrent.futures, gc, threading
from components.process import run_without_delay
run_without_delay()
executor = concurrent.futures.ThreadPoolExecutor()
executor.submit(threading.Event().wait)
print("waiting" if gc.get_freeze_count() and gc.isenabled() else "collecting", flush=True)
executor.shutdown(wait=True)
"""
TALKING = """
import pulumi
from pulumi.runtime import settings

class Engine:
    def Log(self, request):
        print(request.message)

settings.get_engine = Engine
from components.process import run_without_delay
run_without_delay()
pulumi.log.debug("a step")
pulumi.log.info("news")
pulumi.log.warn("a warning")
"""


def environment(**more: str) -> dict[str, str]:
    """This process's, as the engine gives it to a program."""
    return {**{key: value for key, value in os.environ.items() if key != DEBUG}, "PULUMI_CONFIG": "{}", **more}


def test_a_program_of_the_engine_ends_while_a_thread_is_stuck() -> None:
    program = subprocess.Popen([sys.executable, "-c", STUCK], cwd=ROOT, env=environment(), stdout=subprocess.PIPE)
    try:
        assert program.stdout is not None
        assert program.stdout.readline() == b"waiting\n"
        program.send_signal(signal.SIGINT)
        assert program.wait(timeout=240) == -signal.SIGINT
    finally:
        program.kill()
        program.wait()


@pytest.mark.parametrize(
    ("more", "sent"), [({}, ["news", "a warning"]), ({DEBUG: "1"}, ["a step", "news", "a warning"])]
)
def test_debug_messages_are_sent_to_those_who_ask_for_them(more: dict[str, str], sent: list[str]) -> None:
    command = [sys.executable, "-c", TALKING]
    process = subprocess.run(command, cwd=ROOT, env=environment(**more), capture_output=True, text=True, check=True)
    assert process.stdout.splitlines() == sent


def test_other_processes_keep_their_own_handling() -> None:
    before = (signal.getsignal(signal.SIGINT), gc.get_freeze_count(), gc.isenabled(), pulumi.log.debug)
    run_without_delay()
    assert (signal.getsignal(signal.SIGINT), gc.get_freeze_count(), gc.isenabled(), pulumi.log.debug) == before
