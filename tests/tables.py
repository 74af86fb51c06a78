"""Cases in YAML beside a test module: ``!json`` is text that holds JSON, ``!unknown`` what only an update knows."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from facts.concepts.unknown import UNKNOWN


class Loader(yaml.SafeLoader):
    """Reads the tags, too."""


def _json(loader: yaml.SafeLoader, node: yaml.Node) -> str:
    assert isinstance(node, yaml.MappingNode)
    return json.dumps(loader.construct_mapping(node, deep=True))


Loader.add_constructor("!json", _json)
Loader.add_constructor("!unknown", lambda *_: UNKNOWN)


def cases(test: Callable[..., None]) -> Any:
    """Parametrises a test with the rows below its name in the file beside its module, after the row of its names.

    Rows that are mappings name their values themselves.
    """
    path = Path(inspect.getfile(test)).with_suffix(".yaml")
    first, *others = yaml.load(path.read_text("utf-8"), Loader)[test.__name__]
    if isinstance(first, list):
        return pytest.mark.parametrize(first, others)(test)
    return pytest.mark.parametrize(list(first), [[row[name] for name in first] for row in (first, *others)])(test)
