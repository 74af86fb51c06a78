"""Cases in YAML beside a test module of the simulator.

``!json`` is text that holds JSON, ``!unknown`` what only an update knows.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from facts.concepts.unknown import UNKNOWN
from tests.yaml_file import LOADER


class Loader(LOADER):
    """Reads the tags, too."""


def _json(loader: yaml.SafeLoader, node: yaml.Node) -> str:
    assert isinstance(node, yaml.MappingNode)
    return json.dumps(loader.construct_mapping(node, deep=True))


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
