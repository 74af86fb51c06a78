"""The package as people install it: the wheel holds all that the command imports, and the command starts anywhere.

No network is needed: the dependencies are those of the environment that runs the tests.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from gpu import __version__
from packages.gpu.tests.api_server import inventory, kubeconfig, serving
from packages.gpu.tests.offers import offer, pool

PACKAGE = Path(__file__).resolve().parents[1]
ROOT = PACKAGE.parents[1]
DEPENDENCIES = {"typer", "rich", "urllib3", "yaml"}

IMPORT_ALL = """
import importlib, json, pkgutil, sys
import facts, gpu
for package in (facts, gpu):
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
ours = [name for name in sys.modules if name.partition(".")[0] in ("facts", "gpu")]
print(json.dumps({name: sys.modules[name].__file__ for name in ours}))
"""


def build(target: str, source: Path, folder: Path) -> Path:
    """Build the ``wheel`` or ``sdist`` of a source folder, into ``folder``."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)]
    subprocess.run(command, cwd=source, check=True, capture_output=True, text=True)
    (built,) = folder.iterdir()
    return built


def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("wheel", PACKAGE, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sdist, unpacked where no ``facts/`` is above it."""
    archive = build("sdist", PACKAGE, tmp_path_factory.mktemp("sdist"))
    folder = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(archive) as content:
        content.extractall(folder)
    (unpacked,) = folder.iterdir()
    return unpacked


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the wheel; its dependencies are found in the one that runs the tests."""
    home = tmp_path_factory.mktemp("installed") / "venv"
    venv.create(home, symlinks=True)
    uv = Path(sys.executable).parent / "uv"
    install = [uv, "pip", "install", "--quiet", "--offline", "--no-deps", "--python", home / "bin" / "python", wheel]
    subprocess.run(install, check=True, capture_output=True, text=True)
    (site,) = home.glob("lib/python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return home


def answer(command: list[str | Path], cwd: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_installed_command_starts_outside_of_the_checkout(installed: Path, tmp_path: Path) -> None:
    command = installed / "bin" / "gpu"
    assert answer([command, "--version"], tmp_path) == f"gpu {__version__}\n"
    for option in ("--help", "-h"):
        text = answer([command, option], tmp_path)
        commands = ("pools", "fit", "submit", "list", "logs", "why", "stop", "cost")
        assert [name for name in commands if name not in text] == []


@pytest.mark.rehearsal
def test_the_wheel_alone_installs_what_it_needs(wheel: Path, tmp_path: Path) -> None:
    """In an environment without anything: it brings its dependencies, asks a cluster, and says what is missing."""
    home = tmp_path / "venv"
    venv.create(home, symlinks=True)
    uv = Path(sys.executable).parent / "uv"
    subprocess.run([uv, "pip", "install", "--quiet", "--python", home / "bin" / "python", wheel], check=True)
    with serving(inventory(offer(pool()))) as url:
        config = kubeconfig(tmp_path / "config", {"gke": url})
        variables = {"HOME": str(tmp_path), "KUBECONFIG": str(config), "PATH": "/usr/bin:/bin"}

        def run(*arguments: str) -> subprocess.CompletedProcess[str]:
            command = [home / "bin" / "gpu", *arguments]
            return subprocess.run(
                command, cwd=tmp_path, env=variables, capture_output=True, text=True, check=False, timeout=60
            )

        assert "t4-1" in run("pools").stdout
        assert json.loads(run("fit", "--json").stdout)["fits"][0]["pools"] == ["t4-1"]
        submitted = run("submit", "--image", "busybox", "--sweep", "lr=1,2", "--dry-run", "--", "train", "{lr}")
        assert (submitted.returncode, submitted.stdout.count("kind: Job")) == (0, 1)
        lacking = run("shell", "train")
        assert (lacking.returncode, "Traceback" in lacking.stderr) == (3, False)


@pytest.mark.slow
def test_the_wheel_holds_every_module_that_its_modules_import(installed: Path, tmp_path: Path) -> None:
    files: dict[str, str] = json.loads(answer([installed / "bin" / "python", "-I", "-c", IMPORT_ALL], tmp_path))
    assert {"facts.concepts.offer", "facts.jobs.job", "gpu.cli", "gpu.commands.submission"} <= set(files)
    assert [file for file in files.values() if not file.startswith(str(installed))] == []


@pytest.mark.slow
def test_the_wheel_holds_nothing_else(wheel: Path) -> None:
    tops = {name.split("/")[0] for name in names(wheel)}
    assert tops == {"facts", "gpu", f"gpucluster_gpu-{__version__}.dist-info"}
    expected = {"__init__.py", "catalog", "concepts", "jobs"}
    assert {name.split("/")[1] for name in names(wheel) if name.startswith("facts/")} == expected
    files = [name for name in names(wheel) if ".dist-info/" not in name]
    assert [name for name in files if not name.endswith((".py", ".sh", ".yaml", ".csv", ".json"))] == []


@pytest.mark.slow
def test_the_sdist_makes_the_same_wheel(wheel: Path, sdist: Path, tmp_path: Path) -> None:
    assert not (sdist.parents[1] / "facts").exists()
    assert names(build("wheel", sdist, tmp_path)) == names(wheel)


@pytest.mark.slow
def test_a_folder_copied_out_of_its_repository_says_how_to_install_it(sdist: Path, tmp_path: Path) -> None:
    copy = tmp_path / "deep" / "er" / "gpu"
    (copy / "gpu").mkdir(parents=True)
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "gpu/__init__.py"):
        (copy / name).write_bytes((sdist / name).read_bytes())
    with pytest.raises(subprocess.CalledProcessError) as raised:
        build("wheel", copy, tmp_path / "dist")
    assert (
        "needs facts/ of its repository: install from a checkout, a Git URL, a wheel or an sdist" in raised.value.stderr
    )


def test_the_package_declares_every_library_that_it_imports() -> None:
    folders = (PACKAGE / "gpu", *(ROOT / "facts" / part for part in ("catalog", "concepts", "jobs")))
    files = [file for folder in folders for file in folder.rglob("*.py")]
    nodes = [node for file in files for node in ast.walk(ast.parse(file.read_text()))]
    for_checker = {"typing_extensions"}  # below TYPE_CHECKING
    modules = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    modules |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    tops = {module.partition(".")[0] for module in modules} - sys.stdlib_module_names
    assert tops - {"facts", "gpu"} - for_checker == DEPENDENCIES
    text = (PACKAGE / "pyproject.toml").read_text()
    bounds = {line.strip() for line in text.split("dependencies = [")[1].split("\n]")[0].splitlines() if line.strip()}
    assert {line.split("#")[0].strip() for line in bounds} == {
        '"typer>=0.16,<1",',
        '"rich>=13.7,<16",',
        '"PyYAML>=6.0.1,<7",',
        '"urllib3[socks]>=2.2,<3",',
    }
