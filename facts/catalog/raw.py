"""What a stack file may hand to a cloud's provider as it is, and what of it the program owns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Raw:
    """The inputs of one resource type (``token``): all but those that are ``owned``.

    ``owned``: the path of an input, with all that is below it → what to write instead. ``inputs`` are all at the top,
    where no provider's schema has them.
    """

    token: str
    owned: Mapping[str, str]
    inputs: tuple[str, ...] = ()

    def owner(self, path: str) -> str | None:
        """What to write instead of the input at ``path``; ``None`` if the program does not own it."""
        owned_paths = (each for each in self.owned if path == each or path.startswith(f"{each}."))
        return next((self.owned[each] for each in owned_paths), None)


@dataclass(frozen=True, kw_only=True)
class RawInputs:
    """Of a cluster and of each of its pools; ``pool_of`` are those of an autoscaler whose pools are made otherwise."""

    cluster: Raw
    pool: Raw
    pool_of: Mapping[str, Raw] = field(default_factory=dict)
