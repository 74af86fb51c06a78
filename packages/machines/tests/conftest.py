"""What runs on a real API server has the rehearsal's."""

from packages.rehearsal.tests.conftest import control_plane, tools

__all__ = ["control_plane", "tools"]
