"""The fixtures of the rehearsal's tests."""

from packages.rehearsal.tests.conftest import control_plane, tools

__all__ = ["control_plane", "tools"]
