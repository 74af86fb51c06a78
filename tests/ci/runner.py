"""Runs the steps of the workflows in a copy of the repository: ``run`` with bash, artifacts by folders.

``record.py`` takes the place of ``az``, ``gh``, ``pulumi``, ``sudo`` and slow make targets. Other actions
than those for artifacts and those of this repository do nothing.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import string
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from tests.stacks import ROOT

WORKFLOWS: Final = {file.stem: yaml.safe_load(file.read_text()) for file in (ROOT / ".github/workflows").glob("*.yml")}
GITLAB: Final = yaml.safe_load((ROOT / "examples/ci/gitlab.yml").read_text())
_EXPRESSION: Final = re.compile(r"\$\{\{ *(.*?) *\}\}")
_FILES: Final = ("GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_PATH", "GITHUB_STEP_SUMMARY")
_RECORDER: Final = Path(__file__).with_name("record.py")
_PACKAGES: Final = ("account", "cli", "gpu", "machines", "proof", "rehearsal")
_PROGRAMS: Final = ("az", "gh", "make", "pulumi", "sudo")
_CONDITIONS: Final = {"!cancelled()": True, "!cancelled() && hashFiles('build/gate.sarif') != ''": True}
_ALWAYS: Final = "cancelled()"


@dataclass
class Runner:
    """``values``: expression of a step → its value. ``answers``: part of the arguments of ``gh`` → JSON."""

    checkout: Path
    home: Path
    values: dict[str, str] = field(default_factory=dict)
    answers: dict[str, Any] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        (self.home / "bin").mkdir()
        for program in _PROGRAMS:
            recorder = self.home / "bin" / program
            recorder.write_text(f'#!/bin/sh\nexec {sys.executable} -S {_RECORDER} {program} "$@"\n')
            recorder.chmod(0o755)

    def job(self, workflow: str, job: str) -> int:
        """Run a job's steps until one fails; returns the exit code of the first that does, else 0."""
        declared = WORKFLOWS[workflow]["jobs"][job]
        return self._steps(declared["steps"], self._filled(declared.get("env", {})), {})

    def gitlab_job(self, name: str, stack: str) -> int:
        """Run the script of a job of examples/ci/gitlab.yml, as GitLab does: in one shell, with its variables.

        What comes after has a shell of its own. https://docs.gitlab.com/ci/yaml/#after_script
        """
        job = GITLAB[name]
        base = GITLAB[job["extends"]] if "extends" in job else {}
        folder = self.checkout / "project"
        known = {"STACK": stack, "CI_PROJECT_DIR": str(folder), "CI_JOB_ID": "7"}
        own = {key: string.Template(str(value)).substitute(known) for key, value in base.get("variables", {}).items()}
        variables = {**known, **own, "CI_MERGE_REQUEST_DIFF_BASE_SHA": "HEAD", "GITLAB_TOKEN": "token"}
        folder.mkdir(exist_ok=True)
        code = self._run("\n".join([*base.get("before_script", []), *job["script"]]), variables)
        for line in base.get("after_script", []):
            assert self._run(line, variables) == 0
        return code

    def calls(self, program: str) -> list[str]:
        """The command lines of a recorder, in order."""
        log = self.home / "calls.jsonl"
        lines = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
        return [" ".join(call[1:]) for call in lines if call[0] == program]

    def _steps(self, steps: list[dict[str, Any]], env: Mapping[str, str], inputs: Mapping[str, str]) -> int:
        failed = 0
        for step in steps:
            condition = _EXPRESSION.sub(r"\1", step.get("if", ""))
            if (failed and _ALWAYS not in condition) or not _CONDITIONS.get(condition, True):
                continue
            with_ = self._filled(step.get("with", {}), inputs)
            if "run" in step:
                code = self._run(step["run"], {**env, **self._filled(step.get("env", {}), inputs)})
            else:
                code = self._use(step["uses"], env, with_)
            failed = failed or code
        return failed

    def _run(self, script: str, env: Mapping[str, str]) -> int:
        files = {name: str(self.home / name) for name in _FILES}
        every = {
            **{name: os.environ[name] for name in ("HOME", "LANG", "TMPDIR") if name in os.environ},
            "PATH": os.pathsep.join([str(self.home / "bin"), os.environ["PATH"]]),
            "RECORDERS": str(self.home / "bin"),
            "MAKE": shutil.which("make") or "",
            "ANSWERS": json.dumps(self.answers),
            "ARTIFACTS": str(self.home / "artifacts"),
            "CALLS": str(self.home / "calls.jsonl"),
            "GITHUB_REPOSITORY": "o/r",
            "GITHUB_RUN_ID": "7",
            "GITHUB_SHA": "abc",
            "GITHUB_REF": "refs/heads/main",
            "GITHUB_REF_NAME": "v0.1.0",
            **files,
            **self.environment,
            **env,
        }
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
        return subprocess.run(command, cwd=self.checkout, env=every, check=False).returncode

    def _use(self, action: str, env: Mapping[str, str], with_: Mapping[str, str]) -> int:
        name = action.partition("@")[0]
        if name.startswith("./"):
            declared = yaml.safe_load((self.checkout / name / "action.yml").read_text())
            return self._steps(declared["runs"]["steps"], env, {f"inputs.{key}": value for key, value in with_.items()})
        store = self.home / "artifacts" / with_.get("name", "")
        if name == "actions/upload-artifact":
            paths = [self.checkout / path for path in with_["path"].split()]
            present = [one for path in paths if path.exists() for one in ([path] if path.is_file() else path.iterdir())]
            store.mkdir(parents=True, exist_ok=True)
            for file in present:
                shutil.copy(file, store)
            return int(with_.get("if-no-files-found") == "error" and not present)
        if name == "actions/download-artifact":
            shutil.copytree(store, self.checkout / with_["path"], dirs_exist_ok=True)
        return 0

    def _filled(self, texts: Mapping[str, Any], inputs: Mapping[str, str] | None = None) -> dict[str, str]:
        values = {**self.values, **(inputs or {})}
        # A step's `with` may name what only actions of others use.
        return {key: _EXPRESSION.sub(lambda match: values.get(match[1], ""), str(text)) for key, text in texts.items()}


def copy_repository(folder: Path) -> Path:
    """The files of this repository as they are now, committed as one commit in another folder."""
    names = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.run(names, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0"):
        if (ROOT / name).is_file():  # or deleted since the last commit
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    for command in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-qm", "all"], ["tag", "origin/main"]):
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
        subprocess.run(["git", *identity, *command], cwd=folder, check=True, capture_output=True)
    programs = folder / ".venv" / "bin"
    programs.mkdir(parents=True)
    # The copy's modules come first.
    paths = os.pathsep.join(str(folder / part) for part in (".", *(f"packages/{name}" for name in _PACKAGES)))
    python = f"#!/bin/sh\nPYTHONPATH={shlex.quote(paths)} exec {shlex.quote(sys.executable)}"
    for name, command in (("python", f'{python} "$@"\n'), ("gpucluster", f'{python} -m gpucluster "$@"\n')):
        (programs / name).write_text(command)
        (programs / name).chmod(0o755)
    return folder
