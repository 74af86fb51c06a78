"""The JSON Schema of stack files, for editors: keys, types, meanings and choices. ``make docs`` writes it.

It knows the form of a file. What depends on the cloud, the region or another key is checked by ``components.settings``.
Draft 7, which every version of yaml-language-server reads (https://github.com/redhat-developer/yaml-language-server).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from components.settings.fields.types import Section
from components.settings.read import NAMESPACE
from components.settings.sections.stack_file import StackFile
from facts import catalog

TARGET: Final = Path(__file__).resolve().parents[2] / "schemas" / "stack.schema.json"
_SECRET: Final = {"type": "object", "required": ["secure"], "description": "a secret: pulumi config set --secret"}


def render() -> str:
    """The file's text."""
    return json.dumps(stack_schema(), indent=1, ensure_ascii=False) + "\n"


def stack_schema() -> dict[str, Any]:
    """The schema of a whole stack file."""
    definitions: dict[str, Any] = {}
    own = {cloud: import_module(f"components.settings.limits.{cloud}").STACK_FILE for cloud in catalog.OWN_MACHINES}
    sections: dict[str, type[Section]] = {**dict.fromkeys(catalog.clouds(), StackFile), **own}
    keys = {cloud: dict(_keys(cloud, section, definitions)) for cloud, section in sections.items()}
    cloud_key = f"{NAMESPACE}:cloud"
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Stack file of gpucluster (Pulumi.<stack>.yaml)",
        "type": "object",
        "required": ["config"],
        "properties": {
            "config": {
                "type": "object",
                "required": [cloud_key],
                "properties": {cloud_key: {"enum": [*sections], "description": "the cloud"}},
                "allOf": [
                    {
                        "if": {"required": [cloud_key], "properties": {cloud_key: {"const": cloud}}},
                        "then": _only(keys[cloud], section),
                    }
                    for cloud, section in sections.items()
                ],
            }
        },
        "definitions": definitions,
    }


def _only(keys: Mapping[str, Any], section: type[Section]) -> dict[str, Any]:
    """These keys of ours, and any key of other namespaces."""
    # A network has defaults: the file may leave it out although its section has required keys.
    required = [
        f"{NAMESPACE}:{field.alias or name}"
        for name, field in section.model_fields.items()
        if field.is_required() and name != "network"
    ]
    names = {"anyOf": [{"enum": [*keys]}, {"pattern": f"^(?!{NAMESPACE}:)"}]}
    return {"required": required, "properties": dict(keys), "propertyNames": names}


def _keys(cloud: str, section: type[Section], definitions: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Key of the file → its schema; what several use is put into ``definitions``."""
    schema = section.model_json_schema(ref_template="#/definitions/{model}")
    definitions.update(schema["$defs"])
    # An editor completes the names that the catalogue has; your own machines may have others.
    for definition in schema["$defs"].values():
        # A key with nothing after it is refused there, wherever the default is none.
        for each in definition["properties"].values():
            each["anyOf"] = [form for form in each.get("anyOf", ()) if form != {"type": "null"}]
            if not each["anyOf"]:
                del each["anyOf"]
            if each.get("default", "") is None:
                del each["default"]
        if "gpu" in definition["properties"]:
            definition["properties"]["gpu"]["anyOf"] = [{"enum": [*catalog.GPUS]}, {"type": "string"}]
    for key, value in schema["properties"].items():
        yield f"{NAMESPACE}:{key}", value
    secret = catalog.OWN_SECRETS.get(cloud)
    if secret is not None:
        yield f"{NAMESPACE}:{secret}", _SECRET
