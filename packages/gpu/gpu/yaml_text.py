"""YAML as it is written, for files whose values are words to people: kubeconfigs and options of a job."""

from __future__ import annotations

from typing import Any, Final

import yaml

from facts.concepts.bounded_yaml import Bounded


class _Loader(Bounded, getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # pyright: ignore[reportGeneralTypeIssues]
    """Text as written for all scalars but null: a token may look like a number, and a version like another one.

    YAML 1.1 reads 1.10 as 1.1, 010 as 8, no as false and 12:30 as 750: https://yaml.org/type/
    """


_RESOLVED: Final = ("tag:yaml.org,2002:null", "tag:yaml.org,2002:merge")
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag in _RESOLVED]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def text_of(content: str | bytes) -> Any:
    """YAML or JSON, with text as written for every scalar but null. Raises YAMLError."""
    return yaml.load(content, _Loader)
