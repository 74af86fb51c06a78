"""In the process of the program: changes what it registers, and records what it registered before the change."""

from __future__ import annotations

import json
import runpy
import threading
from pathlib import Path
from typing import Any

import pulumi
from google.protobuf import json_format
from pulumi.runtime import settings

from proof.mutants.mutation import DEPENDS_ON, Mutant, ordered


def run(program: str, plan: str, record: str) -> None:
    """Run the file ``program`` with the mutants in the file ``plan``; ``record`` gets a line of JSON per resource."""
    planned = json.loads(Path(plan).read_text())
    mutants = ordered(Mutant(**{**each, "path": tuple(each["path"])}) for each in planned)
    created_early = {(one.type, one.name) for one in mutants if one.path == DEPENDS_ON}
    waiting: set[tuple[str, str]] = set()
    writing = threading.Lock()
    monitor: Any = settings.get_monitor()
    register_unchanged = monitor.RegisterResource

    def transform(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
        if args.opts.depends_on:
            waiting.add((args.type_, args.name))
        if (args.type_, args.name) not in created_early:
            return None
        args.opts.depends_on = []
        return pulumi.ResourceTransformationResult(args.props, args.opts)

    def register(request: Any) -> Any:
        resource = request.type, request.name
        changed = declared = json_format.MessageToDict(request.object)
        for one in mutants:
            if (one.type, one.name) == resource:
                changed = one.applied(changed)
        if changed is not declared:
            request.object.Clear()
            json_format.ParseDict(changed, request.object)
        response = register_unchanged(request)
        if request.custom:
            raw = {"type": request.type, "name": request.name, "urn": response.urn, "inputs": declared}
            raw["id"] = response.id
            raw["outputs"] = json_format.MessageToDict(response.object)
            raw["waits"] = resource in waiting
            raw["after"] = list(request.dependencies)
            raw["dependencies"] = {key: list(each.urns) for key, each in request.propertyDependencies.items()}
            with writing, Path(record).open("a") as lines:
                lines.write(json.dumps(raw) + "\n")
        return response

    pulumi.runtime.register_stack_transformation(transform)
    monitor.RegisterResource = register
    runpy.run_path(program, run_name="__main__")
