"""Cases in YAML beside a test module.

``!json`` is text that holds JSON, ``!unknown`` what only an update knows, ``!Taint`` and other names of classes of
``facts.concepts`` an object with these fields; lists in it are tuples.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from facts.concepts import autoscaler, carbon, declared, kubernetes
from facts.concepts.unknown import UNKNOWN

_CLASSES: dict[str, Callable[..., Any]] = {
    name: value
    for module in (autoscaler, carbon, declared, kubernetes)
    for name, value in vars(module).items()
    if isinstance(value, type) and is_dataclass(value)
}


class Loader(yaml.SafeLoader):
    """Reads the tags, too."""


def _json(loader: yaml.SafeLoader, node: yaml.Node) -> str:
    assert isinstance(node, yaml.MappingNode)
    return json.dumps(loader.construct_mapping(node, deep=True))


def _object(loader: yaml.SafeLoader, name: str, node: yaml.Node) -> Any:
    if isinstance(node, yaml.SequenceNode):
        return _CLASSES[name](*map(immutable, loader.construct_sequence(node, deep=True)))
    assert isinstance(node, yaml.MappingNode)
    fields: dict[Any, Any] = loader.construct_mapping(node, deep=True)
    return _CLASSES[name](**{key: immutable(value) for key, value in fields.items()})


def immutable(value: Any) -> Any:
    """A tuple for a list."""
    return tuple(value) if isinstance(value, list) else value


Loader.add_multi_constructor("!", _object)
Loader.add_constructor("!json", _json)
Loader.add_constructor("!unknown", lambda *_: UNKNOWN)


def beside(file: str) -> Any:
    """What the YAML file beside a test module says."""
    return yaml.load(Path(file).with_suffix(".yaml").read_text("utf-8"), Loader)


def cases(test: Callable[..., Any]) -> Any:
    """Parametrises a test with the rows below its name in the file beside its module, after the row of its names.

    Rows that are mappings name their values themselves. A first value ``id`` is the case's name alone.
    """
    first, *rows = beside(inspect.getfile(test))[test.__name__]
    if isinstance(first, dict):
        names, rows = list(first), [[row[name] for name in first] for row in (first, *rows)]
    else:
        names = first
    named = names[0] == "id"
    params = [pytest.param(*row[named:], id=row[0] if named else None) for row in rows]
    return pytest.mark.parametrize(names[named:], params)(test)
