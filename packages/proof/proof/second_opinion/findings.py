"""What Checkov reports about declared resources, and the answers to it in ``answers.csv``.

Resources of Google and Amazon become a Terraform plan: Pulumi's providers for them are made from Terraform's, so names
differ only in their spelling. Azure's become a template of Azure Resource Manager, whose properties they have.
"""

from __future__ import annotations

import csv
import json
import re
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

import yaml

from facts.concepts.unknown import UNKNOWN
from policies.readers.resource import Declared

_TOKEN: Final = re.compile(r"(?P<provider>[^:]+):(?P<module>[^:/]+)[^:]*:(?P<name>.+)")
_WORDS: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_PROVIDERS: Final = {"gcp": "google", "aws": "aws"}
# Terraform names these without the module, or with another one.
_MODULES: Final = {"gcp": {"projects": "project", "serviceaccount": "service"}, "aws": {"ec2": ""}}
# Their keys are a user's, not the provider's.
_FREE_KEYS: Final = frozenset({"labels", "tags", "resourceLabels", "metadata", "nodeSelector"})
_SCHEMA: Final = "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#"
_ARM: Final = {"ManagedCluster": "managedClusters", "AgentPool": "managedClusters/agentPools"}
_FRAMEWORKS: Final = {"plan.json": "terraform_plan", "template.json": "arm", "objects.yaml": "kubernetes"}
"""File → Checkov's name of what reads it."""
_NAMESPACES: Final = {"containerservice": "ContainerService", "authorization": "Authorization", "storage": "Storage"}


def documents(resources: Iterable[Declared]) -> dict[str, str]:
    """File name → text: the resources of each kind that there are."""
    plan: list[dict[str, Any]] = []
    template: list[dict[str, Any]] = []
    objects: list[Any] = []
    for each in resources:
        provider = each.type.partition(":")[0]
        inputs = _known(each.properties)
        if provider in _PROVIDERS:
            type, common = terraform_type(each.type), {"mode": "managed", "provider_name": "pulumi"}
            address = {"address": f"{type}.{each.name}", "type": type, "name": each.name, **common}
            plan.append({**address, "values": _blocks(inputs)})
        elif provider == "azure-native":
            template.append(_arm_resource(each, inputs))
        elif provider == "kubernetes" and "kind" in inputs:
            objects.append({**inputs, "metadata": {"name": each.name, **(inputs.get("metadata") or {})}})
    files = {
        "plan.json": json.dumps(_plan(plan)) if plan else "",
        "template.json": json.dumps({"$schema": _SCHEMA, "contentVersion": "1.0.0.0", "resources": template})
        if template
        else "",
        "objects.yaml": yaml.safe_dump_all(objects) if objects else "",
    }
    return {name: text for name, text in files.items() if text}


def terraform_type(token: str) -> str:
    """``gcp:container/nodePool:NodePool`` is ``google_container_node_pool``."""
    match = _TOKEN.fullmatch(token)
    assert match is not None, token
    provider, module, name = match["provider"], match["module"], match["name"]
    module = _MODULES[provider].get(module, module)
    return "_".join(filter(None, (_PROVIDERS[provider], module, _snake(name))))


def _snake(name: str) -> str:
    # pydantic's to_snake also splits before digits, which Terraform does not (ipv4_cidr_block).
    return _WORDS.sub("_", name).lower()


def _known(value: Any) -> Any:
    """The value without what only an update knows."""
    if isinstance(value, Mapping):
        return {key: _known(part) for key, part in value.items() if not key.startswith("__") and part is not UNKNOWN}
    if isinstance(value, (list, tuple)):
        return [_known(part) for part in value if part is not UNKNOWN]
    return value


def _blocks(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Terraform's spelling: keys in snake case, an object is a block, which is a list of one."""
    return {_snake(key): part if key in _FREE_KEYS else _block(part) for key, part in inputs.items()}


def _block(value: Any) -> Any:
    if isinstance(value, Mapping):
        return [_blocks(value)]
    if isinstance(value, list):
        return [_blocks(part) if isinstance(part, Mapping) else part for part in value]
    return value


def _plan(resources: list[dict[str, Any]]) -> dict[str, Any]:
    """https://developer.hashicorp.com/terraform/internals/json-format"""
    changes = [
        {**each, "change": {"actions": ["create"], "before": None, "after": each["values"], "after_unknown": {}}}
        for each in resources
    ]
    return {
        "format_version": "1.2",
        "terraform_version": "1.9.0",
        "planned_values": {"root_module": {"resources": resources}},
        "resource_changes": changes,
        "configuration": {"root_module": {}},
    }


def _arm_resource(each: Declared, inputs: Mapping[str, Any]) -> dict[str, Any]:
    _, module, name = each.type.split(":")
    outside = {key: inputs[key] for key in ("location", "sku", "identity", "tags") if key in inputs}
    type = f"Microsoft.{_NAMESPACES.get(module, module)}/{_ARM.get(name, name)}"
    return {"type": type, "apiVersion": "2025-09-01", "name": each.name, **outside, "properties": inputs}


ANSWERS: Final = Path(__file__).with_name("answers.csv")


class ScannerFailed(Exception):
    """Checkov did not run to its end; the message has its last lines."""


@dataclass(frozen=True, order=True)
class ScannerFinding:
    """A check that a resource does not pass, with the check's title."""

    check: str
    resource: str
    title: str


@dataclass(frozen=True)
class Answer:
    """Why findings of ``check`` on the resources that match ``resources`` stand, until the day ``ends``."""

    check: str
    resources: str
    why: str
    ends: date

    def covers(self, finding: ScannerFinding, today: date) -> bool:
        """Whether it is about the finding, and still holds."""
        return self.check == finding.check and fnmatchcase(finding.resource, self.resources) and today <= self.ends


@dataclass(frozen=True)
class Opinion:
    """The number of checks that passed, and the findings."""

    passed: int
    findings: tuple[ScannerFinding, ...]


def answers(file: Path = ANSWERS) -> list[Answer]:
    """The committed answers."""
    with file.open(encoding="utf-8", newline="") as rows:
        return [
            Answer(row["check"], row["resources"], row["why"], date.fromisoformat(row["ends"]))
            for row in csv.DictReader(rows)
        ]


def unanswered(findings: Iterable[ScannerFinding], known: Sequence[Answer], today: date) -> list[ScannerFinding]:
    """Findings that no answer covers, in order."""
    return sorted(each for each in findings if not any(answer.covers(each, today) for answer in known))


def scan(checkov: Path, files: Mapping[str, str]) -> Opinion:
    """Run the program ``checkov`` on the files, without network.

    Raises:
        ScannerFailed: it printed no result.
    """
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            Path(folder, name).write_text(text, encoding="utf-8")
        options = ["--compact", "--quiet", "--skip-download", "--soft-fail", "--output", "json"]
        command = [str(checkov), "--directory", folder, "--framework", *(_FRAMEWORKS[name] for name in files), *options]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
    try:
        return opinion(done.stdout)
    except (ValueError, KeyError, TypeError):
        raise ScannerFailed("\n".join((done.stderr or done.stdout).splitlines()[-5:])) from None


def opinion(output: str) -> Opinion:
    """What the scanner's JSON says; one report, or a list of them."""
    reports = json.loads(output)
    reports = reports if isinstance(reports, list) else [reports]
    findings = {
        ScannerFinding(each["check_id"], each["resource"], each["check_name"])
        for report in reports
        for each in report["results"]["failed_checks"]
    }
    return Opinion(sum(report["summary"]["passed"] for report in reports), tuple(sorted(findings)))
