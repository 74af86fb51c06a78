"""The images whose programs the tools carry, and how an image's name is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

KARPENTER: Final = "karpenter/controller"
"""Karpenter for AWS: https://gallery.ecr.aws/karpenter/controller."""

CARRIED: Final = (KARPENTER,)
"""Repositories by their last path elements, so that a mirror's image counts too. kwok runs no pod that has one."""


@dataclass(frozen=True)
class ImageBinary:
    """A binary in the place of an image. ``version`` is what it was built from, as its tags say it (``1.14.1``).

    ``port_variables`` are the variables that tell it where to listen: on a real node each pod has an address of its
    own, here they share one. ``settings`` are the names of its own settings, as variables; a pod sets nothing else.
    """

    repository: str
    version: str
    binary: Path
    port_variables: tuple[str, ...]
    settings: frozenset[str]


@dataclass(frozen=True)
class Image:
    """``repository`` with its registry, ``tag`` without digest; both ``""`` where the name has none."""

    repository: str
    tag: str

    @classmethod
    def parse(cls, name: str) -> Image:
        """``public.ecr.aws/karpenter/controller:1.14.1@sha256:…`` and shorter forms."""
        name = name.partition("@")[0]
        path, colon, tag = name.rpartition(":")
        return cls(path, tag) if colon and "/" not in tag else cls(name, "")

    def is_of(self, repository: str) -> bool:
        """Whether the repository ends with these path elements."""
        return self.repository == repository or self.repository.endswith("/" + repository)


@cache
def carried(name: str) -> str | None:
    """The carried repository that an image is of, ``None`` for any other image."""
    image = Image.parse(name)
    return next((repository for repository in CARRIED if image.is_of(repository)), None)


def expression(repositories: Sequence[str] = CARRIED) -> str:
    """A regular expression (for kwok's jq and for Python) that finds the carried images' names."""
    return f"(^|/)({'|'.join(repositories)})(:[^/]*)?(@|$)"
