"""``python -m rehearsal.engine.changed_stacks BASE``: the stack files to rehearse after a change since commit BASE."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import yaml

from facts.catalog import OWN_MACHINES
from rehearsal.engine.stack import ROOT

# What every stack runs through.
_SHARED: Final = (
    "__main__.py",
    "Pulumi.yaml",
    "requirements.lock",
    "components/",
    "facts/",
    "packages/gpu/",  # the client that the scenario uses
    "packages/rehearsal/",
    "policies/",
    "schemas/",
)


def to_rehearse(changed: Iterable[str], stacks: Sequence[str]) -> list[str]:
    """The changed stack files; all ``stacks`` if something changed that every stack uses. Paths from the root."""
    paths = set(changed)
    if any(path.startswith(_SHARED) for path in paths):
        return list(stacks)
    return [stack for stack in stacks if stack in paths]


def stack_files() -> list[str]:
    """Every stack file of the project, examples included, but for own machines, which need root."""
    files = [*ROOT.glob("Pulumi.*.yaml"), *(ROOT / "examples").glob("*.yaml")]
    return sorted(str(file.relative_to(ROOT)) for file in files if _cloud(file) not in OWN_MACHINES)


def _cloud(file: Path) -> str:
    return str(yaml.safe_load(file.read_text(encoding="utf-8"))["config"].get("gpucluster:cloud"))


def main(arguments: Sequence[str]) -> int:
    """Print them, one a line; exit code 2 if ``BASE`` is no commit."""
    base = " ".join(arguments)
    command = ["git", "diff", "--name-only", f"{base}...HEAD", "--"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.stderr.write(f"cannot compare with the commit '{base}': {done.stderr}")
        return 2
    for stack in to_rehearse(done.stdout.splitlines(), stack_files()):
        sys.stdout.write(f"{stack}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
