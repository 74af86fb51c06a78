"""``python -m rehearsal.engine.changed_stacks BASE``: the stack files to rehearse after a change since commit BASE.

Also the checkout of such a commit, and a project that is this checkout except for its program.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import yaml

from facts.catalog import OWN_MACHINES
from rehearsal.engine.stack import ROOT

# What every stack runs through.
_SHARED: Final = (
    "__main__.py",
    "Pulumi.yaml",
    "uv.lock",
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


class NoSuchCommit(Exception):
    """A commit that the checkout cannot be compared with; the message is git's."""


def changed_since(base: str) -> list[str]:
    """Paths that differ between ``HEAD`` and its last commit in common with ``base``. Raises ``NoSuchCommit``."""
    return _git("diff", "--name-only", f"{base}...HEAD", "--", base=base).decode().splitlines()


@contextmanager
def checkout(base: str, folder: Path, *, exactly: bool = False) -> Iterator[Path]:
    """The project in a new folder below ``folder`` as it was in the last commit in common with ``base``.

    ``exactly``: as it was in ``base`` itself. Raises ``NoSuchCommit``.
    """
    commit = base if exactly else _git("merge-base", base, "HEAD", base=base).decode().strip()
    _git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit}^{{commit}}", base=base)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="base-", dir=folder) as parent:
        project = Path(parent) / "project"
        export(commit, project)
        yield project


def export(commit: str, project: Path) -> None:
    """Write the project as it was in a commit into a new folder, where it runs in this checkout's virtual environment.

    Raises ``NoSuchCommit``.
    """
    archive = _git("archive", commit, base=commit)
    project.mkdir()
    subprocess.run(["tar", "-x", "-C", project], input=archive, check=True)
    (project / ".venv").symlink_to(ROOT / ".venv")


def _git(*arguments: str, base: str) -> bytes:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=False)
    if done.returncode != 0:
        why = done.stderr.decode(errors="replace").strip()
        raise NoSuchCommit(
            f"cannot use the commit '{base}': {why or 'this clone has none of that name'}\n"
            "Fetch it with its history (`git fetch --unshallow` in a shallow clone), then try again"
        )
    return done.stdout


def main(arguments: Sequence[str]) -> int:
    """Print them, one a line; exit code 2 if ``BASE`` is no commit."""
    try:
        changed = changed_since(" ".join(arguments))
    except NoSuchCommit as error:
        sys.stderr.write(f"{error}\n")
        return 2
    for stack in to_rehearse(changed, stack_files()):
        sys.stdout.write(f"{stack}\n")
    return 0


_EXCLUDED: Final = frozenset({"__main__.py", "build", ".git", ".pytest_cache", ".ruff_cache"})


@contextmanager
def changed_project(program: str, folder: Path, root: Path) -> Iterator[Path]:
    """A project directory in ``folder`` of symbolic links into ``root``, with ``program`` as its ``__main__.py``."""
    folder.mkdir(parents=True, exist_ok=True)
    project = Path(tempfile.mkdtemp(prefix="project-", dir=folder))
    try:
        for entry in root.iterdir():
            if entry.name not in _EXCLUDED:
                (project / entry.name).symlink_to(entry)
        (project / "__main__.py").write_text(program)
        yield project
    finally:
        shutil.rmtree(project, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
