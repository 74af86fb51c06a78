"""Tables of cases of AWS: YAML with the tags of the simulator's ``tables.py``, and ``!of`` for what the cloud chose."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from packages.rehearsal.tests.providers.driver import Of
from packages.rehearsal.tests.tables import Loader


def _of(loader: yaml.SafeLoader, node: yaml.Node) -> Of:
    if isinstance(node, yaml.MappingNode):
        return Of(**{str(key): value for key, value in loader.construct_mapping(node, deep=True).items()})
    assert isinstance(node, yaml.ScalarNode)
    return Of(loader.construct_scalar(node))


Loader.add_constructor("!of", _of)


def table(name: str) -> Any:
    """The content of ``<name>.yaml``, a path from this folder."""
    return yaml.load((Path(__file__).parent / f"{name}.yaml").read_text("utf-8"), Loader)
