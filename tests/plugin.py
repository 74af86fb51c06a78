"""Puts the rehearsal's binaries on PATH, where the tests marked ``rehearsal`` look for them, and long tests first.

``make test`` names the binaries' folder (``GPUCLUSTER_TOOLS``): then one that is missing ends the run, so that no test
is skipped unseen. A plain ``pytest`` without binaries skips those tests.
"""

from __future__ import annotations

import contextlib
import gc
import os
import re
import signal
from collections import Counter
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadFileScheduling

from components.settings import WITHOUT_ACCOUNT
from facts import catalog
from rehearsal.tools import ToolsMissing, folder

with contextlib.ExitStack() as missing_is_fine:
    if "GPUCLUSTER_TOOLS" not in os.environ:
        missing_is_fine.enter_context(contextlib.suppress(ToolsMissing))
    os.environ["PATH"] = os.pathsep.join((str(folder()), os.environ["PATH"]))

# No limit in seconds, as the machine may be loaded. `--hypothesis-profile=long` tries for minutes.
for _profile, _examples in (("short", 400), ("long", 60_000)):
    settings.register_profile(
        _profile,
        max_examples=_examples,
        deadline=None,
        derandomize=_profile == "short",
        suppress_health_check=[HealthCheck.too_slow],
    )
settings.load_profile("short")

# The examples' placeholders are the accounts of most tests.
os.environ[WITHOUT_ACCOUNT] = "1"

# A shell starts background jobs with SIGINT ignored, and children inherit that: tests of Ctrl-C need it to arrive.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Ten thousand tests, recorded programs and the models of AWS are kept to the end: to look through all of them
# for garbage again and again took a sixth of the time.
gc.set_threshold(100_000, 20, 100)


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """What is there for the whole run is no garbage."""
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Rehearsals first, then files with other long tests (``slow``), then those with many tests.

    A worker that gets a long file last would work alone in the end. Rehearsals wait for much of their time, and in the
    beginning a worker gets two files if the first one has few tests: so at most two workers begin with a rehearsal
    (`make test` has one), and the next with many tests.
    """
    lengths: dict[Path, int] = {}
    for item in items:
        length = next((rank for mark, rank in _RANKS.items() if item.get_closest_marker(mark)), 0)
        lengths[item.path] = max(length, lengths.get(item.path, 0))
    tests = Counter(item.path for item in items)
    items.sort(key=lambda item: (-lengths[item.path], -tests[item.path], item.path))
    long = [item for item in items if _REHEARSALS in str(item.path) and lengths[item.path] == _RANKS["rehearsal"]]
    apart = set(long)
    others = [item for item in items if item not in apart]
    many = sum(item.path == others[0].path for item in others) if others else 0
    items[:] = [*long[:1], *long[1:][-1:], *others[:many], *long[1:-1], *others[many:]]


_RANKS: Final = {"rehearsal": 2, "slow": 1}
_REHEARSALS: Final = "packages/rehearsal/tests/rehearsals/"
_STACK_BY_STACK: Final = f"{_REHEARSALS}test_clouds.py"
_BY_CLOUD: Final = ("tests/program/test_every_key.py", "packages/rehearsal/tests/upgrade/test_edits.py")
"""Files with minutes of tests of each cloud, whose names begin with it; the others are with those of the first one."""
_ALONE: Final = ("test_a_stack_passes_and_its_report_has_the_observations[dev]",)
"""Tests that take minutes and share no folder with others of their file."""
_EVERY_PROGRAM: Final = "every program"
_UPDATES: Final = "every update"
_TOGETHER: Final = {
    **{f"packages/account/tests/clouds/{cloud}/test_rights.py": _EVERY_PROGRAM for cloud in catalog.clouds()},
    "tests/components/clouds/gke/test_program.py": _EVERY_PROGRAM,
    "tests/components/clouds/gke/test_rights.py": _EVERY_PROGRAM,
    "tests/components/test_gpu_pools.py": _EVERY_PROGRAM,
    "tests/components/test_provider_schema.py": _EVERY_PROGRAM,
    "tests/components/test_published_offer.py": _EVERY_PROGRAM,
    "tests/components/test_user_admission.py": _EVERY_PROGRAM,
    "tests/policies/test_our_prices.py": _EVERY_PROGRAM,
    "tests/program/test_dependencies.py": _EVERY_PROGRAM,
    "tests/program/test_outputs.py": _EVERY_PROGRAM,
    "tests/program/test_pins.py": _EVERY_PROGRAM,
    "tests/program/test_program.py": _EVERY_PROGRAM,
    "packages/rehearsal/tests/checks/test_objects.py": _EVERY_PROGRAM,
    "packages/rehearsal/tests/upgrade/test_commands.py": _UPDATES,
    "packages/rehearsal/tests/upgrade/test_upgrade.py": _UPDATES,
}
"""Files that look at the same: the program on every stack file (40 s), every update from the released version. Another
worker would make it again."""


class _FilesAndStacks(LoadFileScheduling):
    """A worker gets a file at a time, or all that look at the same; where each test takes minutes, all tests of one
    stack, which share its folder."""

    def _split_scope(self, nodeid: str) -> str:
        file, _, test = nodeid.partition("::")
        if test in _ALONE:
            return nodeid
        stack = re.search(r"\[(.+?)(-all|-brief)?\]", test)
        if stack and file == _STACK_BY_STACK:
            return f"{file}::{stack[1]}"
        cloud = re.search(r"\[([a-z]+)-", test)
        if cloud and file in _BY_CLOUD and cloud[1] in catalog.clouds()[1:]:
            return f"{file}::{cloud[1]}"
        return _TOGETHER.get(file, file)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> _FilesAndStacks | None:
    """Tests of files are together, for what they remember; `--dist` may ask for another order."""
    return _FilesAndStacks(config, log) if config.getoption("dist") == "loadfile" else None
