"""What can go wrong while the tools are installed, each with a sentence for the user."""

from __future__ import annotations


class ToolsError(Exception):
    """Installing failed; the message says what happened and what to do."""


class ToolsMissing(ToolsError):
    """The binaries are not installed."""

    def __init__(self, where: str, missing: list[str]) -> None:
        super().__init__(
            f"{where}: {', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing. "
            "Run `make tools` (the first time a few minutes; about 20 on 2 cores where all is compiled)."
        )
        self.missing = tuple(missing)


class NoSpace(ToolsError):
    """A disk has too little room left for a build."""
