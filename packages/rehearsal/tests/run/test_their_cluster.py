"""A stack on a cluster of others: which program makes the cluster, what that is told, what the stack cannot change."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
import yaml
from rich.console import Console

from components.settings import from_stack_file
from facts import catalog
from rehearsal.day_two.edits import rounds
from rehearsal.engine.stack import ROOT, StackError, resolve
from rehearsal.run import owners_program
from rehearsal.run.options import Options
from rehearsal.run.owners_program import PROGRAMS
from rehearsal.run.their_cluster import OnTheirCluster
from rehearsal.scenario.check import pools_of

STACK = "examples/gke-existing-cluster.yaml"


class Engine:
    """Notes the stack that it is asked for."""

    def __init__(self, folder: Path) -> None:
        self.path = (folder / "plugins",)
        self.asked: tuple[Any, ...] = ()

    def another(self, *asked: Any) -> Any:
        self.asked = asked
        return self


def rehearsal(tmp_path: Path, cluster: Path | None, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(owners_program, "replace", lambda engine, **changes: (engine, changes))
    options = Options(tools=tmp_path, gate=None, cluster=cluster, build=tmp_path / "build", day_two="all")
    made: Any = OnTheirCluster(resolve(STACK), options, Console(file=io.StringIO()))
    (made.run_dir / "stack").mkdir(parents=True)
    return made


def program(folder: Path, **stacks: str) -> Path:
    folder.mkdir()
    (folder / "Pulumi.yaml").write_text("name: platform\nruntime: python\n")
    for name, text in stacks.items():
        (folder / f"Pulumi.{name}.yaml").write_text(text)
    return folder


@pytest.mark.parametrize(("own", "project", "bytecode"), [(False, "platform-gke", True), (True, "platform", False)])
def test_a_program_without_a_stack_file_is_told_the_clusters_name_and_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: bool, project: str, bytecode: bool
) -> None:
    """Nothing is written into a folder of the user's."""
    made = rehearsal(tmp_path, program(tmp_path / "theirs") if own else None, monkeypatch)
    engine, changes = made._owners.beside(Engine(tmp_path), made.run_dir / "stack" / "theirs")
    folder, stack, file, copy = engine.asked
    assert (folder, stack) == (tmp_path / "theirs" if own else PROGRAMS / "gke-company", "gke-existing-cluster")
    assert yaml.safe_load(file.read_text())["config"] == {
        "gcp:project": "my-gcp-project",
        f"{project}:name": "research",
        f"{project}:region": "us-central1",
        f"{project}:zones": ["us-central1-a"],
    }
    assert copy.is_relative_to(made.run_dir)
    assert changes["bytecode"] is bytecode
    assert changes["path"][0] == tmp_path / "plugins"


def test_each_stack_on_a_cluster_of_others_has_a_program_that_makes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owners_program, "replace", lambda engine, **changes: (engine, changes))
    for file in sorted((ROOT / "examples").glob("*-existing-cluster.yaml")):
        options = Options(tools=tmp_path, gate=None, build=tmp_path / file.stem, day_two="all")
        made: Any = OnTheirCluster(resolve(str(file)), options, Console(file=io.StringIO()))
        (made.run_dir / "stack").mkdir(parents=True)
        engine, _ = made._owners.beside(Engine(tmp_path), made.run_dir / "stack" / "theirs")
        assert (engine.asked[0] / "__main__.py").is_file()
        settings = from_stack_file(file)
        assert (
            yaml.safe_load(engine.asked[2].read_text())["config"].items()
            >= {
                catalog.of(settings.cloud).account.key: settings.project,
                f"platform-{settings.cloud}:name": settings.cluster_name,
            }.items()
        )
        told = yaml.safe_load(engine.asked[2].read_text())["config"].get(f"platform-{settings.cloud}:autoscaler")
        assert told == (settings.autoscaler if settings.cloud != "gke" else None)


@pytest.mark.parametrize(("named", "stack"), [("Pulumi.prod.yaml", "prod"), ("", "gke-existing-cluster")])
def test_a_stack_file_of_the_program_is_used_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str, stack: str
) -> None:
    folder = program(tmp_path / "theirs", **{stack: "config: {}\n", "other": "config: {}\n"})
    made = rehearsal(tmp_path, folder / named, monkeypatch)
    engine, _ = made._owners.beside(Engine(tmp_path), made.run_dir / "stack" / "theirs")
    assert engine.asked[:3] == (folder, stack, folder / f"Pulumi.{stack}.yaml")


def test_a_folder_with_stack_files_of_other_names_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StackError, match="has no stack 'gke-existing-cluster'"):
        rehearsal(tmp_path, program(tmp_path / "theirs", prod="config: {}\n"), monkeypatch)


def test_the_stack_has_no_admin_pool_and_changes_no_version() -> None:
    settings = resolve(STACK).settings
    pools = pools_of(settings)
    assert (pools.admin, [pool.name for pool in pools.all]) == (None, ["t4-1", "t4-4"])
    effects = catalog.of("gke").changes[settings.autoscaler]
    own, joined = (
        {edit.id for edits in rounds("all", effects, protected=False, joined=each) for edit in edits}
        for each in (False, True)
    )
    assert own - joined == {"version"}
