"""What a rehearsal that keeps its cluster prints can be pasted into a shell."""

from __future__ import annotations

import subprocess
from pathlib import Path

from rehearsal.run.recorder import RetainedCluster


def test_the_commands_that_are_printed_can_be_pasted(tmp_path: Path) -> None:
    environment = tmp_path / "environment.sh"
    cluster = RetainedCluster(environment, tmp_path / "kubeconfig", (tmp_path / "jobs" / "t4-1.yaml",), "dev")
    lines = list(cluster.next_steps())
    commands = [line.strip() for line in lines if line.startswith("  ")]
    assert commands[0] == f". {environment}", "the others need what it sets"
    assert "gpu pools" in commands
    assert [command for command in commands if "#" in command] == [], "an interactive zsh knows no comments"
    subprocess.run(["sh", "-n"], input="\n".join(commands), text=True, check=True)
    assert any(str(cluster.kubeconfig) in line for line in lines)
