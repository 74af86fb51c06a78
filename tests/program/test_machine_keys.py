"""As ``test_every_key``, of own machines and of existing clusters: each key changes the program, or is refused."""

from __future__ import annotations

import base64
import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pulumi
import pytest
import yaml
from pydantic import BaseModel

from components.settings.docs import type_name
from components.settings.own.existing_sections import ExistingStackFile
from components.settings.own.sections import OwnStackFile
from components.settings.problems import models_in
from tests.program import test_existing, test_own_machines
from tests.stacks import EXISTING, OWN_MACHINES
from tests.tables import cases

FILES = {"own": OWN_MACHINES, "existing": EXISTING}
RECORDINGS = {"own": test_own_machines.recording, "existing": test_existing.recording}
MODELS: dict[str, type[BaseModel]] = {"own": OwnStackFile, "existing": ExistingStackFile}
CA = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"
EXAMPLES: dict[str, Any] = {stack: yaml.safe_load(file.read_text())["config"] for stack, file in FILES.items()}
CHANGES: dict[str, dict[str, dict[str, Any] | None]] = {
    stack: yaml.safe_load(Path(__file__).with_name(f"{stack}_every_key.yaml").read_text()) for stack in FILES
}


def keys(stack: str, model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    """The keys of the sections that only such stack files have; what a cloud's file has too is one key."""
    modules = {MODELS[stack].__module__, OwnStackFile.__module__}
    for name, field in model.model_fields.items():
        path = f"{prefix}{field.alias or name}"
        nested = [each for each in models_in(field.annotation) if each.__module__ in modules]
        listed = "[]" if type_name(field.annotation).startswith("list") else ""
        for each in nested:
            yield from keys(stack, each, f"{path}{listed}.")
        if not nested:
            yield path


def host_key(number: int) -> str:
    key = base64.b64encode(b"\0\0\0\x0bssh-ed25519" + bytes([number] * 36)).decode()
    return f"ssh-ed25519 {key}"


def written(stack: str, value: Any) -> Any:
    """A value of the table with its words replaced: ``{$pool: …}`` is the example's GPU pool with other values; of
    null, without the key."""
    if isinstance(value, list):
        return [written(stack, each) for each in value]
    if isinstance(value, dict) and "$pool" in value:
        pool = {**EXAMPLES[stack]["gpucluster:gpuPools"][0], **written(stack, value["$pool"])}
        return {name: each for name, each in pool.items() if each is not None}
    if isinstance(value, dict):
        return {name: written(stack, each) for name, each in value.items()}
    own_key = EXAMPLES["own"]["gpucluster:adminPool"]["machines"][0]["hostKey"]
    words = {"$key1": own_key, "$key3": host_key(3), "$key4": host_key(4), "$fingerprint": "A" * 40, "$ca": CA}
    return words.get(value, value) if isinstance(value, str) else value


@functools.cache
def declared_by(stack: str, changed: str) -> str:
    """All that the program registers and puts out, or why it refuses the file; ``changed`` is JSON."""
    try:
        # Not without any change, which would be a stack of another name.
        teams = EXAMPLES[stack]["gpucluster:teams"]
        program = RECORDINGS[stack](**{"teams": teams, **written(stack, json.loads(changed))})
    except pulumi.RunError as refusal:
        return str(refusal)
    resources = [(each.type, each.name, each.inputs, each.protect) for each in program.resources]
    return json.dumps([sorted(resources, key=str), program.stack_outputs], sort_keys=True)


# Machines and sources of packages are tried where they are written first.
@cases
def test_every_key_is_tried(stack: str, once: list[str]) -> None:
    inside = tuple(f"{path}{end}" for path in once for end in ("[].", "."))
    tried = {path for path in keys(stack, MODELS[stack]) if not path.startswith(inside)}
    assert tried | {*once} == set(CHANGES[stack])


@pytest.mark.parametrize(
    ("stack", "key"),
    [(stack, key) for stack, changes in CHANGES.items() for key, changed in changes.items() if changed is not None],
)
def test_a_key_changes_the_program_or_refuses_the_file(stack: str, key: str) -> None:
    changed = CHANGES[stack][key]
    others = [other for other in CHANGES[stack].values() if other is not None and other != changed]
    # Also those of the same section, so that what stands beside the key is not taken for it.
    beside = [{}, *(other for other in others if changed is not None and other.keys() == changed.keys())]
    mine = declared_by(stack, json.dumps(changed))
    assert [other for other in beside if declared_by(stack, json.dumps(other)) == mine] == []
