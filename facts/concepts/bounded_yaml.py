"""YAML of others: aliases of aliases may stand for more values than a program can visit."""

from __future__ import annotations

from typing import Any, Final

import yaml
from yaml.composer import ComposerError

MOST: Final = 1_000_000
"""Values of a file with each alias written out: more than any file that a person writes has."""


class Bounded:
    """For a loader of PyYAML: a file of more values than ``MOST`` is no valid YAML."""

    def get_single_node(self) -> Any:
        """The loader's own. Raises YAMLError."""
        node = super().get_single_node()  # type: ignore[misc]
        if node is not None and _values(node, {}) > MOST:
            raise ComposerError(
                problem="aliases (*name) stand for too many values; write them out", problem_mark=node.start_mark
            )
        return node


def _values(node: yaml.Node, known: dict[int, int]) -> int:
    """The values of a node with each alias written out; of a node that is in itself, without an end."""
    if id(node) not in known:
        known[id(node)] = MOST + 1
        pairs = node.value if isinstance(node, yaml.CollectionNode) else ()
        inner = (each for pair in pairs for each in (pair if isinstance(pair, tuple) else (pair,)))
        known[id(node)] = 1 + sum(_values(each, known) for each in inner)
    return known[id(node)]
