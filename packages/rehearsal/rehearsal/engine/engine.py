"""Drives the ``pulumi`` command line, offline and apart from the user's own: own home, own state, own stack file.

The project directory is the checkout itself, so the program that runs is the one that users deploy. All that the engine
writes goes into the run directory: state (file backend), a copy of the stack file (the engine adds its encryption salt
to it), logs. The environment is an allow-list: no cloud credential of the user reaches a rehearsal.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from components.settings import WITHOUT_ACCOUNT
from policies import config as policy_config
from policies.result import VARIABLE
from rehearsal.cluster.pki import PUBLIC_AUTHORITY
from rehearsal.cluster.processes import kill_session
from rehearsal.engine.events import (
    UNCHANGED,
    Outcome,
    Step,
    lines_while_written,
    outcome,
    parse_line,
    read_events,
    step_of,
)

# Nothing else of the user's environment reaches the engine: no cloud credentials, no Pulumi token, no KUBECONFIG.
_INHERITED: Final = ("LANG", "LC_ALL", "TMPDIR", "TERM", "USER", VARIABLE)
_SALT: Final = r"^encryptionsalt:.*$"
_CANCEL_GRACE_SECONDS: Final = 10.0
STATE: Final = Path("stack", "state")
"""Below a run's folder: the state's folder."""


class EngineError(Exception):
    """The engine could not even start its work; the message says why and where its log is."""


@dataclass(frozen=True)
class PolicyPack:
    """The policy pack that judges a preview or an update: its directory, and the stack's levels and limits."""

    pack: Path
    config: Path


@dataclass(frozen=True)
class CommandResult:
    """One engine command: what it did, how long it took in seconds, where its whole output is."""

    command: str
    exit_code: int
    seconds: float
    outcome: Outcome
    log: Path

    @property
    def events(self) -> list[dict[str, Any]]:
        """The engine's events. They are read from the run's directory, so before that is deleted."""
        return read_events(self.log.with_suffix(".events.jsonl"))

    @property
    def ok(self) -> bool:
        """Whether the engine reports success."""
        return self.exit_code == 0

    @property
    def reason(self) -> str:
        """Why the command failed, in the engine's own words; the last lines of its log when it gave none."""
        broken = self.outcome.mandatory
        if broken:
            return "; ".join(f"{violation.rule} on {violation.resource}" for violation in broken)
        if self.outcome.errors:
            return self.outcome.errors[0]
        return " ".join(self.log.read_text(errors="replace").split("\n")[-6:]).strip() or f"exit code {self.exit_code}"

    @property
    def evidence(self) -> str:
        """What the command did and how long it took, or why it failed and in which log."""
        if not self.ok:
            return f"{self.reason} ({self.log.name})"
        return f"{self.outcome.summary} in {self.seconds:.1f} s"


@dataclass(frozen=True)
class Engine:
    """One stack of one project directory.

    ``path`` is searched for ``pulumi``, credential plugins and provider plugins, in order; ``home`` is the engine's own
    directory (``PULUMI_HOME``), whose ``plugins`` it uses when ``path`` has none.
    """

    project: Path
    stack: str
    stack_file: Path
    run_dir: Path
    home: Path
    path: tuple[Path, ...]
    passphrase: str
    on_step: Callable[[Step], None] | None = None
    bytecode: bool = True
    """Whether Python may write ``__pycache__`` into the project's folder."""

    @classmethod
    def create(
        cls,
        *,
        project: Path,
        stack: str,
        stack_file: Path,
        run_dir: Path,
        path: Sequence[Path],
        passphrase: str | None = None,
        on_step: Callable[[Step], None] | None = None,
    ) -> Engine:
        """Copy the stack file into ``run_dir`` and create an empty stack there. Raises ``EngineError``."""
        own = run_dir / "stack"
        (own / "state").mkdir(parents=True)
        engine = cls(
            project=project,
            stack=stack,
            stack_file=stack_file,
            run_dir=run_dir.absolute(),
            home=own.absolute(),
            path=tuple(directory.absolute() for directory in path),
            passphrase=passphrase or secrets.token_urlsafe(24),
            on_step=on_step,
        )
        return engine.another(project, stack, stack_file, own)

    def another(self, project: Path, stack: str, stack_file: Path, folder: Path) -> Engine:
        """An empty stack of another program beside this one's, with a copy of its file in ``folder``."""
        copy = folder / f"Pulumi.{stack}.yaml"
        shutil.copyfile(stack_file, copy)
        # `stack init` writes the salt beside the project file that it finds, so it gets one of its own.
        shutil.copyfile(project / "Pulumi.yaml", folder / "Pulumi.yaml")
        engine = replace(self, project=project.absolute(), stack=stack, stack_file=copy.absolute())
        engine.run(f"stack init {stack}", "--no-select", cwd=folder)
        return engine

    def preview(self, gate: PolicyPack | None = None) -> CommandResult:
        """What an update would do, judged by the gate."""
        return self.operation("preview", ["preview", *_gate_flags(gate)])

    def up(
        self,
        gate: PolicyPack | None = None,
        *,
        name: str = "up",
        expect_no_changes: bool = False,
        skip_preview: bool = False,
        refresh: bool = False,
    ) -> CommandResult:
        """Preview and update, judged by the gate; with ``refresh`` against what the clouds report.

        With ``expect_no_changes`` any change is a failure, except a pool's size that the autoscaler set. After a
        refresh the state has that one: another would end nodes, and is a failure, too.
        """
        extra = ["--skip-preview"] if expect_no_changes or skip_preview else []
        extra += ["--refresh"] if refresh else []
        result = self.operation(name, ["up", "--yes", *extra, *_gate_flags(gate)])
        return _without_changes(result, result.outcome.steps, sizes=refresh) if expect_no_changes else result

    def drift(self, name: str = "refresh") -> CommandResult:
        """Compare the state with what the clouds report, changing nothing; drift is a failure, but for such a size."""
        result = self.operation(name, ["refresh", "--preview-only"])
        return _without_changes(result, result.outcome.done)

    def refresh(self, name: str = "refresh-state") -> CommandResult:
        """Take what the clouds report into the state."""
        return self.operation(name, ["refresh", "--yes", "--skip-preview"])

    def destroy(self, name: str = "destroy") -> CommandResult:
        """Delete everything; ``name`` names the log."""
        return self.operation(name, ["destroy", "--yes", "--skip-preview"])

    def version(self) -> str:
        """What Pulumi calls its own version, e.g. ``v3.200.0``. Raises ``EngineError``."""
        return self.run("version").strip()

    def outputs(self) -> dict[str, Any]:
        """The stack's outputs, secrets in the clear. Raises ``EngineError``."""
        return json.loads(self.run("stack output", "--json", "--show-secrets", "--stack", self.stack))

    def secrets(self) -> list[str]:
        """The decrypted secret values of the stack file. Raises ``EngineError``."""
        if not has_secure_values(self.stack_file):
            return []
        where = ("--stack", self.stack, "--config-file", str(self.stack_file))
        entries = json.loads(self.run("config", "--json", "--show-secrets", *where)).values()
        return [entry["value"] for entry in entries if entry.get("secret") and "value" in entry]

    def of(self, project: Path, stack_file: Path) -> Engine:
        """The same stack with another program and another stack file, which is copied.

        The copy has the passphrase of this one, unless it has encrypted values of its own.
        """
        copy = self.stack_file.with_name(f"next-{self.stack_file.name}")
        content = stack_file.read_text()
        salt = re.search(_SALT, self.stack_file.read_text(), re.MULTILINE)
        if salt and not (has_secure_values(stack_file) and re.search(_SALT, content, re.MULTILINE)):
            content = f"{re.sub(_SALT, '', content, flags=re.MULTILINE)}\n{salt[0]}\n"
        copy.write_text(content)
        return replace(self, project=project.absolute(), stack_file=copy)

    def set_secret(self, key: str, value: str) -> None:
        """Encrypt ``value`` into the copy of the stack file. Raises ``EngineError``."""
        where = ("--stack", self.stack, "--config-file", str(self.stack_file))
        self.run(f"config set --secret {key}", *where, text=value)

    def output_of(self, type_token: str, name: str) -> Any:
        """An output of the only resource of that type, in the clear. Raises ``EngineError``."""
        (resource,) = [each for each in self._state("--show-secrets") if each["type"] == type_token]
        value = resource["outputs"][name]
        return json.loads(value["plaintext"]) if isinstance(value, dict) and "plaintext" in value else value

    def resources(self) -> list[str]:
        """The URNs of everything in the stack's state. Raises ``EngineError``."""
        return [resource["urn"] for resource in self._state()]

    def retained(self) -> frozenset[str]:
        """The ids of the resources that a destroy retains. Raises ``EngineError``."""
        return outliving(self._state())

    def deployment(self, *flags: str) -> dict[str, Any]:
        """The stack's state as Pulumi exports it. Raises ``EngineError``."""
        exported: dict[str, Any] = json.loads(self.run("stack export", "--stack", self.stack, *flags))
        return exported["deployment"]

    def _state(self, *flags: str) -> list[dict[str, Any]]:
        return self.deployment(*flags).get("resources") or []

    def environment(self) -> dict[str, str]:
        """The whole environment of the engine, and so of the program and the plugins."""
        inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        system_path = os.environ.get("PATH", os.defpath)
        return {
            **inherited,
            "PATH": os.pathsep.join([*(str(directory) for directory in self.path), system_path]),
            # Clouds' SDKs look for credentials under the home directory, too.
            "HOME": str(self.run_dir / "stack"),
            "PULUMI_HOME": str(self.home),
            "PULUMI_BACKEND_URL": (self.run_dir / STATE).as_uri(),
            "PULUMI_CONFIG_PASSPHRASE": self.passphrase,
            # The plugins trust whom a user's machine would.
            "SSL_CERT_FILE": str(self.run_dir / PUBLIC_AUTHORITY),
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            WITHOUT_ACCOUNT: "1",
            # The Python host lists the packages with pip, before each plan; pip would ask the index for a newer pip.
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
            # Gives the commands their --event-log flag, as the Automation API does.
            "PULUMI_DEBUG_COMMANDS": "true",
            # Many images forbid bytecode. The program and the gate start anew each time: without it, 0.3 s more each.
            "PYTHONDONTWRITEBYTECODE": "" if self.bytecode else "1",
        }

    def run(self, command: str, *flags: str, cwd: Path | None = None, text: str = "") -> str:
        """The output of a command that reads ``text``. Raises ``EngineError``."""
        with self._startable():
            done = subprocess.run(
                ["pulumi", *command.split(), *flags, "--non-interactive", "--color", "never"],
                cwd=cwd or self.project,
                env=self.environment(),
                input=text,
                capture_output=True,
                text=True,
                check=False,
            )
        if done.returncode != 0:
            raise EngineError(f"`pulumi {command}` failed: {(done.stderr or done.stdout).strip()}")
        return done.stdout

    @contextlib.contextmanager
    def _startable(self) -> Iterator[None]:
        """A program that the system cannot start, as after a crash while the tools were written, as ``EngineError``."""
        try:
            yield
        except OSError as error:
            # Of a folder to start in that does not exist, the error names the folder.
            if error.filename != "pulumi":
                raise EngineError(f"`pulumi` cannot start: {error.filename}: {error.strerror}") from error
            program = shutil.which("pulumi", path=self.environment()["PATH"])
            if program is None:
                raise EngineError("`pulumi` is not there: run `make tools`") from error
            if (own := Path(program)).is_symlink():
                raise EngineError(f"{own.resolve()} is damaged ({error.strerror}): install it anew") from error
            # Its copy in the cache is the same file, so a new folder of links would be damaged, too.
            folder = Path(program).parent.parent
            raise EngineError(f"{program} is damaged ({error.strerror}): delete {folder}, run `make tools`") from error

    def operation(self, name: str, arguments: Sequence[str]) -> CommandResult:
        """A command that reads or changes the stack; ``name`` names its log."""
        log, events = self.run_dir / f"{name}.log", self.run_dir / f"{name}.events.jsonl"
        events.write_bytes(b"")
        command = ["pulumi", *arguments, "--non-interactive", "--color", "never", "--suppress-progress"]
        command += ["--stack", self.stack, "--config-file", str(self.stack_file), "--event-log", str(events)]
        started = time.monotonic()
        with log.open("wb") as output:
            # A session of its own: Ctrl-C reaches this process only, which then tells the engine, once.
            with self._startable():
                process = subprocess.Popen(
                    command,
                    cwd=self.project,
                    env=self.environment(),
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            ended = threading.Event()
            follower = threading.Thread(target=self._follow, args=(events, ended), daemon=True)
            follower.start()
            try:
                exit_code = process.wait()
            except BaseException:
                _cancel(process)
                raise
            finally:
                kill_session(process.pid)  # language hosts, analyzers and plugins of a killed engine
                ended.set()
                follower.join(timeout=2)
        seconds = time.monotonic() - started
        return CommandResult(name, exit_code, seconds, outcome(read_events(events)), log)

    def _follow(self, events: Path, ended: threading.Event) -> None:
        if self.on_step is None:
            return
        for line in lines_while_written(events, ended):
            if (event := parse_line(line)) is not None and (step := step_of(event)) is not None:
                self.on_step(step)


def _without_changes(result: CommandResult, steps: Sequence[Step], *, sizes: bool = False) -> CommandResult:
    """``result``, a failure if a step changes more than a pool's size that the autoscaler set; ``sizes`` count, too."""
    changed = [step for step in steps if step.op not in UNCHANGED and (sizes or not step.sizes_only)]
    if not result.ok or not changed:
        return result
    listed = ", ".join(f"{step.op} {step.name}" for step in changed)
    outcome = replace(result.outcome, errors=(f"expected no changes, but: {listed}",))
    return replace(result, exit_code=1, outcome=outcome)


def gate_for(project: Path, stack: str) -> PolicyPack:
    """``policy_pack`` with the stack's own levels and limits, or the default ones when it has none."""
    try:
        file = policy_config.file_for(stack, project / "policies" / "config")
    except policy_config.ConfigError as error:
        raise EngineError(str(error)) from error
    return policy_pack(project, file)


def policy_pack(project: Path, config: Path) -> PolicyPack:
    """The project's policy pack with a configuration file.

    Raises ``EngineError`` for a configuration that cannot be used: the engine ignores a rule that it does not know.
    """
    try:
        policy_config.load(config)
    except policy_config.ConfigError as error:
        raise EngineError(f"the gate's configuration is invalid:\n{error}") from error
    return PolicyPack(project / "policies", config)


def _gate_flags(gate: PolicyPack | None) -> list[str]:
    return [] if gate is None else ["--policy-pack", str(gate.pack), "--policy-pack-config", str(gate.config)]


def _cancel(process: subprocess.Popen[bytes]) -> None:
    """Cancel the engine as Ctrl-C would: it ends its plugins and saves its state."""
    process.send_signal(signal.SIGINT)
    try:
        process.wait(_CANCEL_GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def has_secure_values(stack_file: Path) -> bool:
    """Whether the stack file holds values encrypted with the user's passphrase."""
    return re.search(r"(^\s+|[{,]\s*)secure:\s", stack_file.read_text(), re.MULTILINE) is not None


def user_passphrase(environ: Mapping[str, str] = os.environ) -> str | None:
    """The passphrase that the user set for Pulumi, directly or through a file; ``None`` when there is none."""
    if environ.get("PULUMI_CONFIG_PASSPHRASE"):
        return environ["PULUMI_CONFIG_PASSPHRASE"]
    file = environ.get("PULUMI_CONFIG_PASSPHRASE_FILE")
    return Path(file).read_text().strip() if file else None


def outliving(state: Sequence[Mapping[str, Any]]) -> frozenset[str]:
    """The ids of the resources of a ``state`` that a destroy only forgets.

    What goes with another resource is there no longer than that: a namespace that people keep goes with its cluster.
    """
    retained = {each["urn"]: each for each in state if each.get("retainOnDelete") and each.get("id")}
    return frozenset(each["id"] for each in retained.values() if each.get("deletedWith", each["urn"]) in retained)
