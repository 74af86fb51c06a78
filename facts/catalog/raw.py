"""What a stack file may hand to a cloud's provider as it is, and what of it the program owns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from facts.catalog import tables


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


def raw_inputs(cloud: str, *, cluster: str, pool: str, **pool_of: str) -> RawInputs:
    """What ``<cloud>/data/raw.csv`` says of the resource types with these tokens.

    Its rows say what to write instead of an ``input`` that the program owns; an input that anybody may set, of a
    resource type without a provider's schema, has an empty cell there.
    """
    return RawInputs(
        cluster=_raw(cloud, "cluster", cluster),
        pool=_raw(cloud, "pool", pool),
        pool_of={name: _raw(cloud, name, token) for name, token in pool_of.items()},
    )


def _raw(cloud: str, resource: str, token: str) -> Raw:
    rows = [(row["input"], row["instead"]) for row in tables.rows(cloud, "raw") if row["resource"] == resource]
    owned = {path: instead for path, instead in rows if instead}
    return Raw(token=token, owned=owned, inputs=tuple(path for path, instead in rows if not instead))
