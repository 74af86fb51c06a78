"""In the process of the program: changes what it registers, and records what it registered before the change."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pulumi
from google.protobuf import json_format
from pulumi.runtime import settings

from rehearsal.mutants.mutation import DEPENDS_ON, Mutant, ordered


def run(program: Callable[[], None], plan: Path, record: Path) -> None:
    """Run ``program`` with the mutants in ``plan``; ``record`` gets a line of JSON per resource of a provider."""
    mutants = ordered(Mutant(**{**each, "path": tuple(each["path"])}) for each in json.loads(plan.read_text()))
    hasty = {(one.type, one.name) for one in mutants if one.path == DEPENDS_ON}
    waiting: set[tuple[str, str]] = set()
    writing = threading.Lock()
    monitor: Any = settings.get_monitor()
    register_unchanged = monitor.RegisterResource

    def transform(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
        if args.opts.depends_on:
            waiting.add((args.type_, args.name))
        if (args.type_, args.name) not in hasty:
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
            raw["waits"] = resource in waiting
            raw["dependencies"] = {key: list(each.urns) for key, each in request.propertyDependencies.items()}
            with writing, record.open("a") as lines:
                lines.write(json.dumps(raw) + "\n")
        return response

    pulumi.runtime.register_stack_transformation(transform)
    monitor.RegisterResource = register
    program()
