"""The lock, and the lists that are exported from it: ``python -m gpucluster.locks [--check]``."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from gpucluster.environment import EXPORT
from gpucluster.shared import ROOT

_UV: Final = ROOT / ".venv" / "bin" / "uv"
_HEADER: Final = "# Written by `make lock` from pyproject.toml and uv.lock, do not edit.\n"
REQUIREMENTS: Final = "requirements.txt"
EXPORTED: Final = {
    "requirements.lock": ("--only-group", "requirements"),
    "packages/gpu/requirements.lock": ("--package", "gpucluster-gpu"),
}
"""List with hashes → what of the lock it has."""


def _uv(*arguments: str) -> str:
    command = [str(_UV), *arguments]
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


def exported() -> dict[str, str]:
    """File → the text that the lock gives."""
    lists = {file: _HEADER + _uv("export", *EXPORT, *what) for file, what in EXPORTED.items()}
    return {**lists, REQUIREMENTS: requirements((ROOT / "pyproject.toml").read_text(encoding="utf-8"))}


def requirements(pyproject: str) -> str:
    """The group ``requirements``, with its comments, as a list for pip."""
    (group,) = re.findall(r"^requirements = \[\n(.*?)^\]", pyproject, re.MULTILINE | re.DOTALL)
    lines = re.findall(r'^ *"([^"]+)",(  #.*)?$', group, re.MULTILINE)
    head = "# What `pulumi up`, the policy gate and tests of your own need; requirements.lock has it with hashes.\n"
    return head + _HEADER + "".join(f"{requirement}{comment}\n" for requirement, comment in lines)


def write(clients: Sequence[Path]) -> None:
    """Resolve; versions stay as they are in the lock unless a requirement asks for another."""
    _uv("lock")
    for file, text in exported().items():
        (ROOT / file).write_text(text, encoding="utf-8")
    how = ("--quiet", "--universal", "--generate-hashes", "--python-version", "3.10", "--no-emit-index-url")
    for source in clients:
        path, target = (str(each.relative_to(ROOT)) for each in (source, source.with_suffix(".lock")))
        _uv("pip", "compile", *how, "--custom-compile-command", "make lock", path, "--output-file", target)


def main(arguments: Sequence[str]) -> int:
    """With ``--check``, 1 if a list differs from the lock, or the lock from the requirements."""
    if list(arguments) != ["--check"]:
        sys.stderr.write("python -m gpucluster.locks --check\n")
        return 2
    check = subprocess.run([str(_UV), "lock", "--check", "--offline", "--quiet"], cwd=ROOT, check=False)
    stale = ["uv.lock"] * bool(check.returncode)
    stale += [file for file, text in exported().items() if (ROOT / file).read_text(encoding="utf-8") != text]
    if stale:
        sys.stderr.write(f"{', '.join(stale)} out of date: change pyproject.toml, then run `make lock`\n")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
