"""The rights of the charts that the program installs, as Helm renders them with the program's values.

``rights.yaml`` records them for the versions that are installed. With the charts at hand (``CHARTS=DIR``: what
``helm pull`` makes), ``GPUCLUSTER_CHARTS=DIR python -m tests.components.workloads.tools.rights`` writes it again.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from rehearsal.providers.kubernetes.helm.charts import FOLDER
from tests.components.workloads.tools.stacks import releases, with_all
from tests.stacks import OWN_MACHINES, ROOT, run_program, run_with

RECORD: Final = Path(__file__).with_name("rights.yaml")
_KARPENTER: Final = ROOT / "examples" / "eks-karpenter.yaml"
_KUBERNETES: Final = "1.34.0"


def installed() -> dict[str, dict[str, Any]]:
    """Every release of the program by its name: its inputs."""
    machines = yaml.safe_load(OWN_MACHINES.read_text())["config"]
    machines["gpucluster:network"] = {
        **machines.get("gpucluster:network", {}),
        "loadBalancerRange": "192.168.1.240-192.168.1.250",
    }
    every = (with_all("eks"), run_with(machines, "kubeadm"), run_program(_KARPENTER))
    return {name: inputs for recording in every for name, inputs in releases(recording).items()}


def archive(name: str, version: str) -> Path | None:
    """The chart in the user's folder, if it is there and Helm is on PATH."""
    file = Path(os.environ.get(FOLDER) or os.devnull) / f"{name}-{version}.tgz"
    return file if file.is_file() and shutil.which("helm") else None


def rendered(inputs: Mapping[str, Any], chart: Path) -> list[str]:
    """One line for each rule that an account of the chart has: ``<account> in <namespace>: <verbs> <resources>``."""
    command = ["helm", "template", inputs["name"], str(chart), "--namespace", inputs["namespace"], "--values", "-"]
    made = subprocess.run(
        [*command, "--kube-version", _KUBERNETES],
        input=json.dumps(inputs.get("values", {})),
        text=True,
        capture_output=True,
        check=True,
    )
    objects = [each for each in yaml.safe_load_all(made.stdout) if each]
    return sorted({*_lines(objects, inputs["namespace"])})


def _lines(objects: list[dict[str, Any]], namespace: str) -> Iterator[str]:
    roles = {(each["kind"], each["metadata"]["name"]): each for each in objects if each["kind"].endswith("Role")}
    for role in roles.values():
        for label in role["metadata"].get("labels") or {}:
            if "aggregate-to-" in label:
                yield from _rules(role, f"users with {label.rpartition('aggregate-to-')[2]}")
    for binding in objects:
        if not binding["kind"].endswith("RoleBinding"):
            continue
        where = "" if binding["kind"] == "ClusterRoleBinding" else binding["metadata"].get("namespace", namespace)
        reference = (binding["roleRef"]["kind"], binding["roleRef"]["name"])
        for subject in binding["subjects"]:
            who = f"{subject['name']}{f' in {where}' if where else ''}"
            if reference in roles:
                yield from _rules(roles[reference], who)
            else:
                yield f"{who}: the role {reference[1]}"


def _rules(role: Mapping[str, Any], who: str) -> Iterator[str]:
    for rule in role.get("rules") or ():
        resources = [
            f"{resource}.{group}" if group else resource
            for group in rule.get("apiGroups") or ()
            for resource in rule.get("resources") or ()
        ]
        named = f" named {', '.join(rule['resourceNames'])}" if rule.get("resourceNames") else ""
        everything = sorted([*resources, *(rule.get("nonResourceURLs") or ())])
        yield f"{who}: {', '.join(sorted(rule['verbs']))} {', '.join(everything)}{named}"


def main() -> None:
    """Write the record of the charts that are at hand; the others keep theirs."""
    record: dict[str, Any] = yaml.safe_load(RECORD.read_text()) if RECORD.is_file() else {}
    for name, inputs in installed().items():
        if chart := archive(name, inputs["version"]):
            record[name] = {"version": inputs["version"], "rights": rendered(inputs, chart)}
    RECORD.write_text(yaml.safe_dump(record, width=110, sort_keys=True))


if __name__ == "__main__":
    main()
