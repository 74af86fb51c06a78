from packages.rehearsal.tests.conftest import tools

__all__ = ["tools"]
