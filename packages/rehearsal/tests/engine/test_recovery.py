"""What is imported after an update that was killed, or could not create what exists already."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rehearsal.engine.recovery import after_kill, import_existing, placed

STACK = "urn:pulumi:dev::gpucluster::"
COMPONENT = f"{STACK}gpucluster:index:GpuNodePool::t4-1"
OTHER = f"{STACK}gpucluster:index:GpuNodePool::t4"
CLUSTER = f"{STACK}gpucluster:index:Cluster::dev"
KUBE = f"{STACK}pulumi:providers:kubernetes::dev-kubernetes"
PROVIDER = f"{STACK}pulumi:providers:gcp::default_10_2_0"
POOL = f"{STACK}gpucluster:index:GpuNodePool$gcp:container/nodePool:NodePool::t4-1-pool"
NAMESPACE = f"{STACK}gpucluster:index:Cluster$kubernetes:core/v1:Namespace::namespace-serving"
PLACES = {each: {"parent": COMPONENT, "provider": PROVIDER} for each in (POOL, f"{POOL}-2")}
PLACES[NAMESPACE] = {"parent": CLUSTER, "provider": KUBE}
IDS = {POOL: "pools/t4-1", f"{POOL}-2": "pools/t4-2"}
GCP = "error: googleapi: Error 409: Already exists: pools/t4-1, alreadyExists"
OBJECT = 'error: Role gpu-notifier: roles.rbac.authorization.k8s.io "gpu-notifier" already exists. Import it'
LOST = "error: connection reset by peer"
AZURE = "error: cannot create already existing resource 'pools/t4-1'"


def imported(tmp_path: Path, error: str, state: list[str], ids: dict[str, str], name: str = "t4-1-pool") -> Any:
    """The import file, or ``None`` if nothing is imported."""
    log = tmp_path / "up.log"
    log.write_text(f"Diagnostics:\n  gcp:container:NodePool ({name}):\n    {error}\n")
    engine: Any = SimpleNamespace(
        run_dir=tmp_path, resources=lambda: state, operation=lambda name, arguments: (name, arguments)
    )
    failed: Any = SimpleNamespace(log=log)
    result = import_existing(engine, failed, ids, PLACES)
    return None if result is failed else json.loads((tmp_path / "import.json").read_text())["resources"]


@pytest.mark.parametrize("error", [GCP, OBJECT, AZURE, LOST])
def test_what_exists_is_imported_below_its_component(tmp_path: Path, error: str) -> None:
    (entry,) = imported(tmp_path, error, [OTHER, COMPONENT, PROVIDER], IDS)
    assert entry == {"type": "gcp:container/nodePool:NodePool", "name": "t4-1-pool", "id": "pools/t4-1", **PLACES[POOL]}


def test_a_resource_with_a_name_unlike_its_components_is_imported_where_it_belongs(tmp_path: Path) -> None:
    state = [CLUSTER, f"{STACK}pulumi:providers:kubernetes::other", KUBE]
    (entry,) = imported(tmp_path, OBJECT, state, {NAMESPACE: "serving"}, "namespace-serving")
    expected = {"type": "kubernetes:core/v1:Namespace", "name": "namespace-serving", "id": "serving"}
    assert entry == {**expected, **PLACES[NAMESPACE]}


def test_a_place_is_read_from_the_state() -> None:
    resources = [
        {"urn": CLUSTER, "parent": f"{STACK}pulumi:pulumi:Stack::gpucluster-dev"},
        {"urn": NAMESPACE, "parent": CLUSTER, "provider": f"{KUBE}::0a1b-2c3d"},
    ]
    assert placed({"resources": resources}) == {NAMESPACE: PLACES[NAMESPACE]}
    assert placed({}) == {}


@pytest.mark.parametrize(
    ("error", "state", "ids"),
    [
        ("error: googleapi: Error 400: bad request", [COMPONENT, PROVIDER], IDS),
        (GCP, [COMPONENT, PROVIDER, POOL], IDS),
        (GCP, [COMPONENT, PROVIDER], {}),
    ],
    ids=["another error", "in the state", "not in the cloud"],
)
def test_nothing_else_is_imported(tmp_path: Path, error: str, state: list[str], ids: dict[str, str]) -> None:
    assert imported(tmp_path, error, state, ids) is None


class Killed:
    """An engine that was killed while it created; ``commands`` are those of the recovery."""

    def __init__(self, run_dir: Path, *creating: str) -> None:
        self.run_dir, self.stack = run_dir, "dev"
        self.attributes = run_dir / "stack" / "state" / ".pulumi" / "stacks" / "gpucluster" / "dev.json.attrs"
        self.attributes.parent.mkdir(parents=True)
        self.commands: list[str] = []
        self._pending = [{"type": "creating", "resource": {"urn": urn}} for urn in creating]

    def run(self, command: str, *flags: str) -> None:
        self.commands.append(f"{command} {self.attributes.exists()}")

    def operation(self, name: str, arguments: list[str]) -> Any:
        self.commands.append(" ".join(arguments[:1] + arguments[3:4]))
        return SimpleNamespace(ok=True, command=name)

    def deployment(self) -> dict[str, Any]:
        return {"pending_operations": [*self._pending, {"type": "updating", "resource": {"urn": f"{POOL}-2"}}]}

    def resources(self) -> list[str]:
        return [OTHER, COMPONENT, PROVIDER]


def test_what_was_being_created_and_exists_is_imported_after_a_kill(tmp_path: Path) -> None:
    killed: Any = Killed(tmp_path, POOL, NAMESPACE)
    assert after_kill(killed, {**IDS}, PLACES).command == "import"
    assert killed.commands == ["cancel --yes False", "refresh --clear-pending-creates", "import --protect=false"]
    (entry,) = json.loads((tmp_path / "import.json").read_text())["resources"]
    assert entry["id"] == "pools/t4-1"


def test_a_patch_is_not_imported(tmp_path: Path) -> None:
    patch = NAMESPACE.replace("Namespace:", "NamespacePatch:")
    killed: Any = Killed(tmp_path, patch)
    assert after_kill(killed, {patch: "serving"}, {patch: PLACES[NAMESPACE]}).command == "recover"


def test_attributes_that_a_kill_left_empty_do_not_hide_the_state(tmp_path: Path) -> None:
    killed: Any = Killed(tmp_path)
    killed.attributes.write_text("")
    backup = killed.attributes.with_name("dev.json.bak.attrs")
    backup.write_text("{}")
    assert after_kill(killed, {}, {}).command == "recover"
    assert killed.commands[0] == "cancel --yes False"
    assert backup.exists()
