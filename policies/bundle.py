"""Exports the policy pack to a folder, which runs and can be published without the rest of the repository.

``python -m policies.bundle [FOLDER]`` (``make policy-pack``) prints the folder, by default ``build/policy-pack``. A
virtual environment ``venv`` in it stays as it is.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Final

import yaml

ROOT: Final = Path(__file__).resolve().parent.parent
PACKAGES: Final = ("policies", "facts")
"""Modules of this repository that the pack imports."""

_PROJECT: Final = "PulumiPolicy.yaml"
_VENV: Final = "venv"
_AT_THE_TOP: Final = ("__main__.py", _PROJECT, "requirements.txt")
_NOT_TO_RUN: Final = (
    *_AT_THE_TOP,
    "bundle.py",
    "docs.py",
    "docs_head.txt",
    "gate_diff.py",
    "known_gaps.yaml",
    "scan.py",
)
_NOT_OF_THE_PACK: Final = ("jobs",)


def bundle(folder: Path) -> None:
    """Write the pack to ``folder``, over an earlier one.

    Raises:
        FileExistsError: the folder contains something other than a pack.
    """
    if folder.is_dir() and any(folder.iterdir()) and not (folder / _PROJECT).is_file():
        raise FileExistsError(f"{folder} is not empty and no policy pack: name another folder, or empty this one")
    for package in PACKAGES:
        shutil.rmtree(folder / package, ignore_errors=True)
        shutil.copytree(ROOT / package, folder / package, ignore=_left_out)
    project = yaml.safe_load((ROOT / "policies" / _PROJECT).read_text(encoding="utf-8"))
    project["runtime"]["options"]["virtualenv"] = _VENV
    (folder / _PROJECT).write_text(yaml.safe_dump(project, sort_keys=False), encoding="utf-8")
    shutil.copy(ROOT / "policies" / "__main__.py", folder)
    # What is published leaves out what git would ignore.
    (folder / ".gitignore").write_text(f"{_VENV}/\n__pycache__/\n", encoding="utf-8")
    shutil.copy(ROOT / "policies" / "requirements.txt", folder)
    shutil.copy(ROOT / "LICENSE", folder)
    (folder / "docs").mkdir(exist_ok=True)
    shutil.copy(ROOT / "docs" / "policies.md", folder / "docs")


def _left_out(directory: str, names: list[str]) -> list[str]:
    unused = {ROOT / "policies": _NOT_TO_RUN, ROOT / "facts": _NOT_OF_THE_PACK}.get(Path(directory), ())
    return [name for name in names if name == "__pycache__" or name in unused]


def main(arguments: list[str]) -> int:
    """Build the pack in the named folder; the exit code is 2 if that fails."""
    folder = Path(*arguments[:1] or (ROOT / "build" / "policy-pack",)).resolve()
    try:
        bundle(folder)
    except OSError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    if folder.is_relative_to(ROOT):
        sys.stderr.write("to publish the pack, put it outside of this repository: its .gitignore hides build/\n")
    sys.stdout.write(f"{folder}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
