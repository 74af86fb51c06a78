"""What is imported after an update that could not create what exists already."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rehearsal.engine.recovery import import_existing

STACK = "urn:pulumi:dev::gpucluster::"
COMPONENT = f"{STACK}gpucluster:index:GpuNodePool::t4-1"
OTHER = f"{STACK}gpucluster:index:GpuNodePool::t4"
PROVIDER = f"{STACK}pulumi:providers:gcp::default_10_2_0"
POOL = f"{STACK}gpucluster:index:GpuNodePool$gcp:container/nodePool:NodePool::t4-1-pool"
IDS = {POOL: "pools/t4-1", f"{POOL}-2": "pools/t4-2"}
GCP = "error: googleapi: Error 409: Already exists: pools/t4-1, alreadyExists"
KUBERNETES = "error: Role gpu-notifier: the object exists already. Import it, or set upsertExistingObjects"


def imported(tmp_path: Path, error: str, state: list[str], ids: dict[str, str]) -> Any:
    """The import file, or ``None`` if nothing is imported."""
    log = tmp_path / "up.log"
    log.write_text(f"Diagnostics:\n  gcp:container:NodePool (t4-1-pool):\n    {error}\n")
    engine: Any = SimpleNamespace(
        run_dir=tmp_path, resources=lambda: state, operation=lambda name, arguments: (name, arguments)
    )
    failed: Any = SimpleNamespace(log=log)
    result = import_existing(engine, failed, ids)
    return None if result is failed else json.loads((tmp_path / "import.json").read_text())["resources"]


@pytest.mark.parametrize("error", [GCP, KUBERNETES])
def test_what_exists_is_imported_below_its_component(tmp_path: Path, error: str) -> None:
    (entry,) = imported(tmp_path, error, [OTHER, COMPONENT, PROVIDER], IDS)
    assert entry == {
        "type": "gcp:container/nodePool:NodePool",
        "name": "t4-1-pool",
        "id": "pools/t4-1",
        "parent": COMPONENT,
        "provider": PROVIDER,
    }


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
