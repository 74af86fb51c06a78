"""What runs on a real API server has the rehearsal's; a test may be a coroutine."""

from __future__ import annotations

import asyncio
import inspect
from concurrent.futures import ThreadPoolExecutor

import pytest

from packages.rehearsal.tests.conftest import control_plane, tools

__all__ = ["control_plane", "tools"]


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Runs a coroutine in a thread of its own, whose event loop it takes away."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in inspect.signature(pyfuncitem.obj).parameters}
    with ThreadPoolExecutor(1) as apart:
        apart.submit(asyncio.run, asyncio.wait_for(pyfuncitem.obj(**arguments), 60)).result()
    return True
