"""Children end with their parent, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import psutil
import pytest

from packages.rehearsal.tests.simulated_cluster import PATIENCE, alive, eventually
from rehearsal.cluster.processes import PortTaken, ProcessError, Processes, free_ports, kill_session

pytestmark = pytest.mark.slow

SH = "/bin/sh"
PARENT = """
import sys, time
from pathlib import Path
from rehearsal.cluster.processes import Processes
with Processes(Path(sys.argv[1])) as processes:
    processes.start("stubborn", ["/bin/sh", "-c", "trap '' TERM; sleep 1000 & sleep 1000"])
    print(*processes.pids.values(), processes.watchdog_pid, flush=True)
    {ending}
"""


def test_a_stopped_child_and_what_it_started_have_ended(tmp_path: Path) -> None:
    with Processes(tmp_path) as processes:
        child = processes.start("child", [SH, "-c", "sleep 1000 & echo $!; wait"])
        grandchild = int(eventually("its output", child.output))
        processes.stop(child)
        assert not alive(child.pid)
        assert not alive(grandchild)
        assert processes.pids == {}


def test_a_child_that_ignores_sigterm_is_killed(tmp_path: Path) -> None:
    with Processes(tmp_path) as processes:
        child = processes.start("stubborn", [SH, "-c", "trap '' TERM; echo ready; while :; do sleep 0.1; done"])
        eventually("the trap", lambda: "ready" in child.output())
        processes.stop(child, grace=0.2)
        assert child.process.returncode == -signal.SIGKILL


def test_a_restarted_child_is_killed_runs_again_and_is_stopped_like_any_other(tmp_path: Path) -> None:
    with Processes(tmp_path) as processes:
        child = processes.start("child", [SH, "-c", "trap '' TERM; echo started; while :; do sleep 0.1; done"])
        first = child.pid
        eventually("its output", child.output)
        processes.restart("child")
        assert not alive(first)
        assert processes.pids == {"child": child.pid} != {"child": first}
        processes.check()
        eventually("its second output", lambda: child.output().count("started") == 2)
        processes.stop(child, grace=0.2)
        assert processes.pids == {}


@pytest.mark.parametrize(
    "ending", ["pass", "raise SystemExit('failed')", "time.sleep(1000)"], ids=["normal", "exception", "killed"]
)
def test_nothing_survives_the_parent(tmp_path: Path, ending: str) -> None:
    script = textwrap.dedent(PARENT).format(ending=ending)
    parent = subprocess.Popen([sys.executable, "-c", script, tmp_path], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pids = [int(pid) for pid in parent.stdout.readline().split()]
    assert len(pids) == 2
    if "sleep" in ending:
        parent.kill()
    parent.wait(PATIENCE)
    parent.stdout.close()
    eventually("every process has ended", lambda: not any(map(alive, pids)))


def test_ctrl_c_in_the_terminal_does_not_reach_children(tmp_path: Path) -> None:
    with Processes(tmp_path) as processes:
        child = processes.start("child", [SH, "-c", "sleep 1000"])
        assert os.getpgid(child.pid) == child.pid != os.getpgid(0)
        assert os.getsid(child.pid) != os.getsid(0)


def test_a_child_that_dies_is_reported_with_the_end_of_its_log(tmp_path: Path) -> None:
    with Processes(tmp_path) as processes:
        child = processes.start("etcd", [SH, "-c", "echo no space left on device >&2; exit 3"])
        child.process.wait()
        with pytest.raises(ProcessError, match=r"etcd ended with exit code 3(?s:.*)no space left on device"):
            processes.check()


def test_a_port_in_use_is_distinguished_from_other_failures(tmp_path: Path) -> None:
    with Processes(tmp_path) as processes:
        for text, error in (("bind: address already in use", PortTaken), ("bad flag", ProcessError)):
            child = processes.start("server", [SH, "-c", f"echo '{text}'; exit 1"])
            child.process.wait()
            with pytest.raises(ProcessError) as caught:
                child.check()
            assert caught.type is error
            processes.stop(child)


def test_a_missing_program_is_named_with_the_remedy(tmp_path: Path) -> None:
    with (
        Processes(tmp_path) as processes,
        pytest.raises(ProcessError, match=r"there is no program .*nowhere.*make tools"),
    ):
        processes.start("x", [tmp_path / "nowhere"])


def test_the_environment_is_not_inherited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", "/secret")
    with Processes(tmp_path) as processes:
        child = processes.start("env", ["/usr/bin/env"], env={"ADDED": "yes"})
        child.process.wait()
    assert "ADDED=yes" in child.output()
    assert "GOOGLE_APPLICATION_CREDENTIALS" not in child.output()


def test_garbage_is_collected_less_often_but_where_a_program_has_its_own_word(tmp_path: Path) -> None:
    with Processes(tmp_path) as processes:
        children = [processes.start(name, ["/usr/bin/env"], env) for name, env in (("a", {}), ("b", {"GOGC": "50"}))]
        for child in children:
            child.process.wait()
    said = [[line for line in child.output().splitlines() if line.startswith("GOGC=")] for child in children]
    assert said == [["GOGC=400"], ["GOGC=50"]]


def test_free_ports_are_different() -> None:
    assert len(set(free_ports(20))) == 20


def test_nothing_is_left_of_the_session_of_a_killed_program() -> None:
    """Pulumi starts its analyzers in process groups of their own."""
    in_another_group = "import os, time; os.setpgid(0, 0); print(os.getpid(), flush=True); time.sleep(600)"
    text = (
        f"import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', {in_another_group!r}]); time.sleep(600)"
    )
    command = [sys.executable, "-c", text]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as leader:
        assert leader.stdout is not None
        left = psutil.Process(int(leader.stdout.readline()))
        leader.kill()
        leader.wait()
        assert left.is_running()
        kill_session(leader.pid)
        psutil.wait_procs([left], timeout=60)
        assert not left.is_running()
