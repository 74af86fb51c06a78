"""The package's schema, from the model of a stack file: https://www.pulumi.com/docs/iac/guides/building-extending/packages/schema/"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from components.gpu_pools import MAY_BE_OUTPUTS
from components.settings.limits import joining
from components.settings.sections.cluster import ExistingCluster
from components.settings.sections.stack_file import StackFile

PACKAGE: Final = "gpucluster"
GPU_CLUSTER: Final = f"{PACKAGE}:index:GpuCluster"
GPU_POOLS: Final = f"{PACKAGE}:index:GpuPools"
_LANGUAGES: Final[Mapping[str, Mapping[str, Any]]] = {
    **{language: {"respectSchemaVersion": True} for language in ("nodejs", "python", "csharp", "java")},
    # Without them the generator leaves out the type of `access`, a list of plain objects:
    # https://github.com/pulumi/pulumi/blob/v3.200.0/pkg/codegen/go/gen.go (populateDetailsForPropertyTypes)
    "go": {"respectSchemaVersion": True, "generateExtraInputTypes": True},
}
_ANY: Final[Mapping[str, Any]] = {"$ref": "pulumi.json#/Any"}
_OUTPUTS: Final[Mapping[str, Mapping[str, Any]]] = yaml.safe_load(
    Path(__file__).with_name("outputs.yaml").read_text(encoding="utf-8")
)


def package_schema() -> dict[str, Any]:
    """The schema of the package: its components with the keys of a stack file as inputs, and a type per section.

    No input is required here: languages would report a missing one alone, the settings report it with all problems.
    """
    stack_file = StackFile.model_json_schema()
    types = {
        f"{PACKAGE}:index:{name}": {
            "type": "object",
            "description": section["description"],
            "properties": _keys(section, MAY_BE_OUTPUTS if name == ExistingCluster.__name__ else ()),
        }
        for name, section in stack_file["$defs"].items()
    }
    return {
        "name": PACKAGE,
        "displayName": PACKAGE,
        "version": "0.0.0",  # the engine takes that of the Git tag
        "description": "A Kubernetes cluster whose GPU pools scale from zero",
        "language": _LANGUAGES,
        "types": types,
        "resources": {
            GPU_CLUSTER: {
                "isComponent": True,
                "description": "A GPU cluster; its inputs are the keys of a stack file: docs/configuration.md",
                "inputProperties": {key: each for key, each in _keys(stack_file).items() if key != joining.KEY},
                "properties": {**_OUTPUTS["of_all"], **_OUTPUTS["of_keys"]},
                "required": list(_OUTPUTS["of_all"]),
            },
            GPU_POOLS: {
                "isComponent": True,
                "description": "GPU pools on a cluster that somebody else made; its inputs are the keys of a stack "
                "file with existingCluster: docs/pools-on-your-cluster.md",
                "inputProperties": {
                    key: each
                    for key, each in _keys(stack_file, (joining.KEY,)).items()
                    if key not in joining.REFUSED or key in joining.SOME_OF
                },
                "properties": dict(_OUTPUTS["of_all"]),
                "required": list(_OUTPUTS["of_all"]),
            },
        },
    }


def _keys(section: Mapping[str, Any], may_be_outputs: Collection[str] = ()) -> dict[str, Any]:
    return {
        key: {
            **_type(each),
            "plain": key not in may_be_outputs,
            "description": each["description"] + (f" ({', '.join(each['enum'])})" if "enum" in each else ""),
        }
        for key, each in section["properties"].items()
    }


def _type(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The type of a plain key: the settings decide which resources there are, so a preview must know them."""
    return {**_form(spec), "plain": True}


def _form(spec: Mapping[str, Any]) -> dict[str, Any]:
    if "anyOf" in spec:
        forms = [_type(each) for each in spec["anyOf"] if each.get("type") != "null"]
        forms = [form for index, form in enumerate(forms) if form not in forms[:index]]
        numbers = {form.get("type") for form in forms} == {"number", "integer"}
        return forms[0] if numbers or len(forms) == 1 else {"oneOf": forms}
    if "$ref" in spec:
        return {"$ref": f"#/types/{PACKAGE}:index:{spec['$ref'].rpartition('/')[2]}"}
    if spec["type"] == "array":
        return {"type": "array", "items": _type(spec["items"])}
    if spec["type"] == "object":
        values = spec["additionalProperties"]
        return {"type": "object", "additionalProperties": dict(_ANY) if values is True else _type(values)}
    return {"type": spec["type"]}
