"""For those who change the program: checks, tests, generated files, locks, a release."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Annotated, Final, NoReturn

import typer

from gpucluster.shared import BUILD, EXIT_FAIL, ROOT, StackArgument, bad_input, say_error

_BIN: Final = ROOT / ".venv" / "bin"
_PYTHON: Final = str(_BIN / "python")
CLIENTS: Final = tuple(ROOT / "packages" / name / "tests" / "clients" for name in ("rehearsal", "proof"))
"""Where programs of others have a folder with a ``requirements.txt`` and its lock."""

Arguments = Annotated[str, typer.Option("--args", help="More arguments for pytest.", envvar="ARGS")]
# On 2 cores: rehearsals wait for much of their time.
Workers = Annotated[int, typer.Option("--workers", help="Tests that run at once.", envvar="WORKERS", min=0)]

_GITLAB: Final = "examples/ci/gitlab.yml"
_CHECKS: Final = (
    ("ruff", "check", "."),
    ("ruff", "format", "--check", "."),
    ("basedpyright",),
    ("vulture",),
    ("python", "-m", "components.settings.docs", "--check"),
    ("python", "-m", "policies.docs", "--check"),
    ("python", "-m", "account.docs", "--check"),
    ("python", "-m", "rehearsal.day_two.docs", "--check"),
    ("python", "-m", "rehearsal.picture", "--check"),
    ("python", "-m", "policies.config"),
    ("python", "-m", "gpucluster.locks", "--check"),
    ("python", "-m", "pytest", "-q", "tests/test_architecture.py"),
    ("python", "-m", "schemas.generate", "--check"),
    ("python", "docs/site/build.py"),
    ("shellcheck", "-e", "SC2034", "packages/machines/pulumi-resource-gpucluster-machines", "*.sh"),
    ("actionlint", "-color"),
    ("zizmor", "--offline", "--quiet", ".github"),
    ("check-jsonschema", "--builtin-schema", "vendor.gitlab-ci", "--data-transform", "gitlab-ci", _GITLAB),
)  # fmt: skip


def check() -> None:
    """Style, types, dead code, layers, workflows, shell scripts, generated docs and locks. Names all that fail."""
    from rehearsal.tools import provide
    from rehearsal.tools.modules import ACTIONLINT

    actionlint = str(provide((ACTIONLINT,)) / "actionlint")
    scripts = subprocess.run(["git", "ls-files", "*.sh"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    failed = []
    for program, *arguments in _CHECKS:
        path = actionlint if program == "actionlint" else str(_BIN / program)
        written = [part for each in arguments for part in (scripts.split() if each == "*.sh" else (each,))]
        typer.echo(shlex.join([program, *arguments]))
        sys.stdout.flush()
        if subprocess.run([path, *written], cwd=ROOT, check=False).returncode:
            failed.append(shlex.join([program, *arguments]))
    if failed:
        say_error("these checks failed:\n" + "\n".join(failed))
        raise typer.Exit(EXIT_FAIL)


def quick(args: Arguments = "", workers: Workers = 3) -> None:
    """Fast tests that need no built program."""
    _pytest(workers, "-m", "not rehearsal and not slow", *shlex.split(args))


def test(args: Arguments = "", workers: Workers = 3) -> None:
    """The tests required to merge: all unit tests, the gate in the real engine, one rehearsal."""
    typer.echo("test: one rehearsal on real binaries, and all unit tests; about 18 minutes on 2 cores")
    _with_tools()
    _pytest(workers, "-m", "merge or not rehearsal", *shlex.split(args))


def test_clients(args: Arguments = "") -> None:
    """A real JupyterHub and a real SkyPilot on a rehearsed cluster; Checkov on every example."""
    clients()
    _with_tools()
    _pytest(0, *(str(folder.relative_to(ROOT)) for folder in CLIENTS), *shlex.split(args))


def test_all(args: Arguments = "", workers: Workers = 3) -> None:
    """Everything: test, every stack, every fault, test-clients."""
    typer.echo("test-all: every stack and every fault on real binaries")
    clients()
    _with_tools()
    _pytest(workers, *shlex.split(args))


def clients(
    client: Annotated[str, typer.Argument(help="Only one.", envvar="CLIENT", show_default="all")] = "",
) -> None:
    """Install Checkov, JupyterHub and SkyPilot from their lock files, each in build/clients."""
    names = [lock.parent.name for folder in CLIENTS for lock in sorted(folder.glob("*/requirements.lock"))]
    if client and client not in names:
        bad_input(f"no client {client}: there are {', '.join(names)}")
    for name in [client] if client else names:
        install_client(name)


def install_client(name: str) -> None:
    """Install one from its lock file, unless it is there."""
    (lock,) = (lock for folder in CLIENTS for lock in folder.glob(f"{name}/requirements.lock"))
    home = BUILD / "clients" / name
    installed = home / "installed.lock"
    if installed.exists() and installed.read_bytes() == lock.read_bytes():
        return
    home.parent.mkdir(parents=True, exist_ok=True)
    _run(str(_BIN / "uv"), "venv", "--quiet", "--clear", "--python", _PYTHON, str(home))
    sync = ("pip", "sync", "--quiet", "--require-hashes", "--python", str(home / "bin" / "python"))
    _run(str(_BIN / "uv"), *sync, str(lock))
    shutil.copy(lock, installed)


def docs() -> None:
    """Write the generated pages and tables of docs/, README's picture and the site."""
    for module in (
        *("components.settings.docs", "policies.docs", "account.docs"),
        *("rehearsal.day_two.docs", "rehearsal.picture"),
    ):
        _run(_PYTHON, "-m", module)
    site()


def site() -> None:
    """The pages as a site that opens from disk; the last line is its first page."""
    _run(_PYTHON, "docs/site/build.py")


def picture(stack: StackArgument = "dev") -> None:
    """Draw README's picture again, from the last rehearsal of a stack."""
    _run(_PYTHON, "-m", "rehearsal.picture", "--from", f"build/rehearsal/{stack}/report.json")


def facts() -> None:
    """How old prices, machines, quotas and the clouds' rules are, their sources, and how many prices are known."""
    from facts.catalog.ages import dated_rows, priced, report

    tables = ("facts/catalog/data/sources.csv", "packages/rehearsal/rehearsal/providers/sources.csv")
    typer.echo("\n".join([*report([*dated_rows(ROOT / table for table in tables)], date.today()), *priced()]))


def schemas() -> None:
    """Write schemas/ from the installed SDKs and the vendors' models."""
    _run(_PYTHON, "-m", "schemas.generate")


def format_() -> None:
    """Let ruff format and fix what it can."""
    _run(str(_BIN / "ruff"), "check", "--fix", "--quiet", ".")
    _run(str(_BIN / "ruff"), "format", ".")


def lock() -> None:
    """Resolve all requirements into uv.lock, write the lists that are exported from it, and the clients' locks."""
    from gpucluster.locks import write

    write([source for folder in CLIENTS for source in sorted(folder.glob("*/requirements.txt"))])


def release(
    version: Annotated[str, typer.Argument(help="The tag, such as v0.2.0.", envvar="VERSION", metavar="VERSION")],
) -> None:
    """What the tag publishes, in build/release: wheel of gpu, policy pack, changelog's section, hashes."""
    folder, pack = BUILD / "release", BUILD / "release-pack"
    for each in (folder, pack):
        shutil.rmtree(each, ignore_errors=True)
    folder.mkdir(parents=True)
    notes = subprocess.run([".ci/changelog.sh", version], cwd=ROOT, check=False, stdout=subprocess.PIPE)
    if notes.returncode:
        raise typer.Exit(notes.returncode)
    (folder / "NOTES.md").write_bytes(notes.stdout)
    _run(_PYTHON, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder), folder=ROOT / "packages" / "gpu")
    if not list(folder.glob(f"gpucluster_gpu-{version.removeprefix('v')}-*.whl")):
        bad_input(f"packages/gpu/gpu/__init__.py: write the version of the tag {version}")
    _run(_PYTHON, "-m", "policies.bundle", str(pack / "gpucluster-policy-pack"))
    committed = ("git", "log", "-1", "--format=%ct")
    time = subprocess.run(committed, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
    same = ("--sort=name", "--owner=0", "--group=0", "--numeric-owner", f"--mtime=@{time}", "--exclude=__pycache__")
    archive = folder / f"gpucluster-policy-pack-{version}.tar.gz"
    _run("tar", *same, "-czf", str(archive), "-C", str(pack), "gpucluster-policy-pack")
    names = sorted(file.name for file in folder.iterdir())
    sums = subprocess.run(["sha256sum", "--", *names], cwd=folder, check=True, capture_output=True, text=True).stdout
    (folder / "SHA256SUMS").write_text(sums)
    typer.echo(sums, nl=False)


def _run(*command: str, folder: Path = ROOT) -> None:
    """Run a program; where it fails, end as it did."""
    if code := subprocess.run(command, cwd=folder, check=False).returncode:
        raise typer.Exit(code)


def _with_tools() -> None:
    """Install all binaries if need be, for the process that takes this one's place."""
    from rehearsal.tools import provide
    from rehearsal.tools.modules import MODULES

    os.environ["GPUCLUSTER_TOOLS"] = str(provide(MODULES))


def _pytest(workers: int, *arguments: str) -> NoReturn:
    """Put pytest in the place of this process."""
    parallel: Sequence[str] = ("-n", str(workers), "--dist", "loadfile", "--no-loadscope-reorder") if workers else ()
    os.chdir(ROOT)
    os.execv(_PYTHON, [_PYTHON, "-m", "pytest", *parallel, *arguments])
