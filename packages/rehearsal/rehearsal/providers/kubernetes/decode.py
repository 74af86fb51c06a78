"""YAML text to manifests, for the components that expand YAML inside the program."""

from __future__ import annotations

import yaml

from rehearsal.providers.base import Properties, ProviderError


def decode_yaml(text: str) -> list[Properties]:
    """The objects of a YAML stream, with lists unfolded. Raises ``ProviderError`` if the text is not YAML objects."""
    try:
        documents = [document for document in yaml.safe_load_all(text) if document is not None]
    except yaml.YAMLError as error:
        raise ProviderError(f"the manifest is not YAML: {error}") from error
    objects: list[Properties] = []
    for document in documents:
        if not isinstance(document, dict) or "kind" not in document:
            raise ProviderError(f"the manifest holds a document without kind: {str(document)[:80]!r}")
        objects += document["items"] if str(document["kind"]).endswith("List") and "items" in document else [document]
    return objects
