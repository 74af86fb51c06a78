"""Tables of cases: YAML with ``!of`` for what the cloud chose, ``!json`` for text and ``!unknown``."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from facts.concepts.unknown import UNKNOWN
from packages.rehearsal.tests.providers.driver import Of


class _Loader(yaml.SafeLoader):
    """Reads the three tags, too."""


def _of(loader: yaml.SafeLoader, node: yaml.Node) -> Of:
    if isinstance(node, yaml.MappingNode):
        return Of(**{str(key): value for key, value in loader.construct_mapping(node, deep=True).items()})
    assert isinstance(node, yaml.ScalarNode)
    return Of(loader.construct_scalar(node))


def _json(loader: yaml.SafeLoader, node: yaml.Node) -> str:
    assert isinstance(node, yaml.MappingNode)
    return json.dumps(loader.construct_mapping(node, deep=True))


_Loader.add_constructor("!of", _of)
_Loader.add_constructor("!json", _json)
_Loader.add_constructor("!unknown", lambda *_: UNKNOWN)


def table(name: str) -> Any:
    """The content of ``<name>.yaml``, a path from this folder."""
    return yaml.load((Path(__file__).parent / f"{name}.yaml").read_text("utf-8"), _Loader)


def cases(test: Callable[..., None]) -> Any:
    """Parametrises a test with the rows below its name in the table beside its module."""
    path = Path(inspect.getfile(test)).with_suffix(".yaml")
    rows = yaml.load(path.read_text("utf-8"), _Loader)[test.__name__]
    names = list(rows[0])
    return pytest.mark.parametrize(names, [[row[name] for name in names] for row in rows])(test)
