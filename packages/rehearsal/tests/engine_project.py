"""A throwaway Pulumi project for the real engine, with simulated providers as its only plugins."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from rehearsal.providers.base import Provider
from rehearsal.providers.server import write_launchers

REAL_ENGINE: Final = [
    pytest.mark.rehearsal,
    pytest.mark.skipif(shutil.which("pulumi") is None, reason="pulumi is not on PATH (make tools builds it)"),
]
"""The marks of what runs the real engine."""


@dataclass(frozen=True)
class Project:
    """A project with one stack, ``test``; the program reads ``values.json``."""

    directory: Path

    @classmethod
    def create(cls, directory: Path, program: str, ports: Mapping[Provider, int]) -> Project:
        """Write the project and its launchers, and make the stack."""
        write_launchers(directory / "home" / "plugins", ports)
        (directory / "Pulumi.yaml").write_text("name: rehearsed\nruntime: python\n")
        (directory / "__main__.py").write_text(program)
        project = cls(directory)
        project.run("stack", "init", "test")
        return project

    def write(self, **values: Any) -> None:
        """Change what the program reads."""
        (self.directory / "values.json").write_text(json.dumps(values))

    def run(self, *arguments: str, refused: bool = False) -> str:
        """What one command of the engine prints; it must succeed, or fail if ``refused``."""
        environment = {
            **os.environ,
            "PULUMI_HOME": str(self.directory / "home"),
            "PULUMI_BACKEND_URL": self.directory.as_uri(),
            "PULUMI_CONFIG_PASSPHRASE": "x",
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        }
        done = subprocess.run(
            ["pulumi", "--non-interactive", "--color=never", *arguments],
            check=False,
            cwd=self.directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert (done.returncode != 0) is refused, done.stdout
        return done.stdout

    def up(self, *, refused: bool = False) -> str:
        """Update without a preview."""
        return self.run("up", "--stack=test", "--yes", "--skip-preview", "--suppress-progress", refused=refused)

    def preview(self, *, refused: bool = False) -> str:
        """Preview."""
        return self.run("preview", "--stack=test", "--suppress-progress", refused=refused)

    def destroy(self) -> str:
        """Destroy everything."""
        return self.run("destroy", "--stack=test", "--yes", "--skip-preview", "--suppress-progress")

    def resources(self, type: str) -> list[dict[str, Any]]:
        """The resources of ``type`` in the state."""
        exported = self.run("stack", "export", "--stack=test")
        all_resources = json.loads(exported)["deployment"].get("resources", [])
        return [resource for resource in all_resources if resource["type"] == type]
