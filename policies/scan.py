"""Makes the gate's SARIF file one of a stack file of this repository, for code scanning: ``make scan``.

``python -m policies.scan FILE STACK`` gives each result the line of the pool that it is about, else the stack file's
first line, and each rule a link.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any, Final

import yaml

_POOLS: Final = ("gpucluster:gpuPools", "gpucluster:cpuPools")


def pool_lines(text: str) -> dict[str, tuple[int, str]]:
    """The pools of a stack file: name → its line, from 1, and its key."""
    root = yaml.compose(text, yaml.SafeLoader)
    lines = {}
    for key, listed in _entries(_entries(root).get("config")).items():
        for entry in listed.value if key in _POOLS and isinstance(listed, yaml.SequenceNode) else ():
            name = _entries(entry).get("name")
            if name is not None:
                lines[str(name.value)] = (entry.start_mark.line + 1, f"{key}.{name.value}")
    return lines


def locate(run: dict[str, Any], stack: str, file: str, text: str, pages: str) -> None:
    """Add locations in the stack file to a ``run`` of SARIF; links start from the folder at the address ``pages``."""
    driver = run["tool"]["driver"]
    driver["informationUri"] = f"{pages}{driver['informationUri']}"
    for rule in driver["rules"]:
        rule["helpUri"] = f"{pages}{rule['helpUri']}"
    # Keeps the results of different stacks apart.
    run["automationDetails"] = {"id": f"gate/{stack}/"}
    lines = pool_lines(text)
    for result in run["results"]:
        (location,) = result["locations"]
        logical = location.get("logicalLocations", [])
        resource = logical[0]["fullyQualifiedName"].rpartition("::")[2] if logical else ""
        # Resources of the pool `t4` are `t4-1`, `t4-1-pool`; the longest name of a pool is the pool's own.
        pool = max((name for name in lines if f"{resource}-".startswith(f"{name}-")), key=len, default="")
        line, key = lines.get(pool, (1, ""))
        location["physicalLocation"] = {"artifactLocation": {"uri": file}, "region": {"startLine": line}}
        if key:
            logical.insert(0, {"fullyQualifiedName": key})


def _entries(node: yaml.Node | None) -> dict[str, yaml.Node]:
    pairs = node.value if isinstance(node, yaml.MappingNode) else ()
    return {key.value: value for key, value in pairs}


def main(arguments: list[str]) -> int:
    """Rewrite the file; 1 if the gate wrote none, because the preview did not come that far."""
    path, stack = Path(arguments[0]), arguments[1]
    file = stack if stack.endswith((".yaml", ".yml")) else f"Pulumi.{stack}.yaml"
    if not path.exists():
        sys.stderr.write(f"{path}: the gate wrote no result; correct what the preview reports, then run it again\n")
        return 1
    names = ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_SHA")
    server, repository, commit = (os.environ.get(name, "") for name in names)
    pages = f"{server}/{repository}/blob/{commit}/" if repository else ""
    sarif = json.loads(path.read_text(encoding="utf-8"))
    locate(sarif["runs"][0], Path(stack).stem, file, Path(file).read_text(encoding="utf-8"), pages)
    path.write_text(json.dumps(sarif, indent=1) + "\n", encoding="utf-8")
    sys.stdout.write(f"{path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
