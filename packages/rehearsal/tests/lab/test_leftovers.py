"""What a dead lab left is removed at the next start; what belongs to a living one is not."""

from __future__ import annotations

import fcntl
from pathlib import Path

import pytest

from rehearsal.lab import cgroups, leftovers


@pytest.fixture
def removed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Ids of the labs whose cgroups were removed; there are cgroups of the labs ``dead``, ``alive`` and ``unknown``."""
    calls: list[str] = []
    monkeypatch.setattr(cgroups, "labs", lambda: {"dead", "alive", "unknown"})
    monkeypatch.setattr(cgroups, "remove", lambda lab, machine="": calls.append(lab))
    return calls


def _lab(registry: Path, name: str, folder: Path) -> Path:
    registry.mkdir(exist_ok=True)
    (folder / "machines" / "cp1").mkdir(parents=True)
    (folder / "logs").mkdir()
    entry = registry / name
    entry.write_text(str(folder))
    return entry


def test_dead_labs_are_removed_and_living_ones_are_not(tmp_path: Path, removed: list[str]) -> None:
    registry = tmp_path / "registry"
    _lab(registry, "dead", tmp_path / "dead")
    alive = _lab(registry, "alive", tmp_path / "alive")
    with alive.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert leftovers.sweep(registry) == ["dead", "unknown"]
    assert removed == ["dead", "unknown"]
    assert sorted(path.name for path in (tmp_path / "dead").iterdir()) == ["logs"]
    assert (tmp_path / "alive" / "machines" / "cp1").is_dir()
    assert sorted(path.name for path in registry.iterdir()) == ["alive", "lock"]


def test_a_registered_lab_is_alive_until_its_block_ends(tmp_path: Path, removed: list[str]) -> None:
    registry = tmp_path / "registry"
    with leftovers.registered(tmp_path / "lab", registry) as lab:
        removed.clear()
        assert lab not in leftovers.sweep(registry)
        assert (registry / lab).read_text() == str(tmp_path / "lab")
        removed.clear()
    assert removed == [lab]
    assert not (registry / lab).exists()
