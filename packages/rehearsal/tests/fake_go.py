"""A `go` for the installer's tests: answers like the real one, in milliseconds and without a network.

Files beside it steer it: `refuse` (every module needs a newer Go), `fail` (its text is the build's error),
`hang` (the build lasts as long as it exists). It appends each call to `calls`, with go.mod's tools behind the word
`tool`, and keeps in `edited` what a build with a go.mod of its own found beside that.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

_SCRIPT = """#!{python}
import pathlib, shutil, sys, time
home = pathlib.Path(__file__).parent
go_mod = pathlib.Path("go.mod")
lines = go_mod.read_text().splitlines() if go_mod.exists() else []
tools = [line.split()[1] for line in lines if line.startswith("tool ")]
arguments = sys.argv[1:]
with (home / "calls").open("a") as calls:
    calls.write(" ".join([*arguments, *(tools if arguments[-1] == "tool" else [])]) + "\\n")
if (home / "refuse").exists():
    sys.exit("go: go.mod requires go >= 1.25.5 (running go 1.22.0; GOTOOLCHAIN=local)")
if arguments[0] == "env":
    print({{"GOVERSION": "go1.26.0", "GOCACHE": home / "build-cache"}}[arguments[1]])
elif arguments[:2] == ["mod", "download"]:
    print('{{"Dir": "' + str(home / "module-source") + '"}}')
elif arguments[0] == "list":
    print("fmt", *tools, sep="\\n")
elif arguments[0] == "build":
    print("fmt", file=sys.stderr)
    if (home / "fail").exists():
        sys.exit((home / "fail").read_text())
    for argument in arguments:
        if argument.startswith("-modfile="):
            shutil.copytree(pathlib.Path(argument.partition("=")[2]).parent, home / "edited")
    folder = pathlib.Path(arguments[arguments.index("-o") + 1])
    for package in tools:
        binary = folder / package.removesuffix("/v3").rpartition("/")[2]
        binary.write_text("#!/bin/sh\\necho " + package)
        binary.chmod(0o755)
    while (home / "hang").exists():
        (home / "hanging").touch()
        time.sleep(0.05)
"""


@dataclass(frozen=True)
class FakeGo:
    """The folder to put on PATH."""

    folder: Path

    @classmethod
    def make(cls, folder: Path) -> FakeGo:
        folder.mkdir()
        script = folder / "go"
        script.write_text(_SCRIPT.format(python=sys.executable))
        script.chmod(0o755)
        return cls(folder)

    def steer(self, name: str, text: str = "") -> None:
        (self.folder / name).write_text(text)

    def release(self, name: str) -> None:
        (self.folder / name).unlink()

    def calls(self, command: str) -> list[str]:
        log = self.folder / "calls"
        lines = log.read_text().splitlines() if log.exists() else []
        return [line for line in lines if line.startswith(command)]
