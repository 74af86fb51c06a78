"""Clients that are not installed, or otherwise than their lock says, are not tried unseen; and what a lock says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from components.settings.sections.tools import Notebook
from packages.rehearsal.tests.clients import environment
from packages.rehearsal.tests.clients.environment import CLIENTS, programs

CLIENT = "jupyterhub"


def install(home: Path, lock: str) -> None:
    home.mkdir(parents=True)
    (home / "installed.lock").write_text(lock)


@pytest.mark.parametrize("installed", [None, "another==1\n"])
def test_absent_clients_are_skipped(installed: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "ROOT", tmp_path)
    if installed is not None:
        install(tmp_path / "build" / "clients" / CLIENT, installed)
    with pytest.warns(UserWarning, match="make clients"), pytest.raises(pytest.skip.Exception, match=CLIENT):
        programs(CLIENT)


def test_a_client_by_its_lock_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "ROOT", tmp_path)
    home = tmp_path / "build" / "clients" / CLIENT
    install(home, (CLIENTS / CLIENT / "requirements.lock").read_text())
    assert programs(CLIENT) == home / "bin"


def test_the_hub_is_that_of_the_notebooks_image() -> None:
    (version,) = re.findall(r"^jupyterhub==(\S+)", (CLIENTS / CLIENT / "requirements.lock").read_text(), re.MULTILINE)
    assert Notebook().image.endswith(f"hub-{version}")
