"""Other people's programs in environments of their own, which `make clients` installs by their locks."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Final

import pytest

from tests.stacks import ROOT

CLIENTS: Final = Path(__file__).parent


def programs(client: str, folder: Path = CLIENTS) -> Path:
    """The folder of the programs of ``client``, whose lock is in ``folder``; else the test is skipped, with a warning.

    So it is with those of another lock: `make clients` leaves a copy of the one that it has installed.
    """
    home = ROOT / "build" / "clients" / client
    installed, lock = home / "installed.lock", folder / client / "requirements.lock"
    if not installed.is_file() or installed.read_bytes() != lock.read_bytes():
        missing = f"{client} is not installed as its lock says, so nothing of it was tried: `make clients` installs it"
        warnings.warn(missing, stacklevel=1)
        pytest.skip(missing)
    return home / "bin"
