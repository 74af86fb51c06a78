"""Puts the modules of the repository's ``facts/`` that the command imports into its wheel and its sdist."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from hatchling.builders.config import BuilderConfig
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FACTS: Final = ("facts/__init__.py", "facts/catalog", "facts/concepts", "facts/jobs")


class FactsHook(BuildHookInterface[BuilderConfig]):
    """Finds ``facts/`` beside this file in an unpacked sdist, else at the repository's root."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the modules. Raises ``FileNotFoundError`` if the folder was copied out of its repository."""
        if version == "editable":
            return  # the paths of `dev-mode-dirs`
        here = Path(self.root)
        home = next((folder for folder in (here, here.parents[1]) if (folder / FACTS[0]).is_file()), None)
        if home is None:
            raise FileNotFoundError(
                f"{here} needs facts/ of its repository: install from a checkout, a Git URL, a wheel or an sdist"
            )
        build_data["force_include"].update({str(home / path): path for path in FACTS})
