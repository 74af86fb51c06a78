"""Reports resources that no reader knows and that mention GPUs or may do anything, so that they do not pass silently.

Reported are: a GPU machine type or an accelerator among the texts, the word "gpu" in a type that makes machines, in
Kubernetes also a number or kind of GPUs and a profile or pool of that name, and opaque resources: a command or a
dynamic resource runs code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache
from typing import Any, Final

from facts.catalog.gpu_names import ACCELERATOR, MACHINE, MODEL, only_gpu_nodes
from facts.catalog.tables import Row
from facts.concepts.declared import NotEvaluated, UnknownReason
from facts.concepts.kubernetes import EVERYBODY, RESOURCES
from facts.concepts.unknown import UNKNOWN, at, items
from policies.readers.registry import is_dialect
from policies.readers.resource import Declared, kind_of, matches
from policies.readers.spelling import manifest_text
from policies.readers.tables import rows

_WORD: Final = re.compile(
    "|".join((r"(?<![a-z])gpus?(?![a-z])|nvidia", *map(re.escape, RESOURCES.values()))), re.IGNORECASE
)
_RESOURCE: Final = re.compile("|".join(map(re.escape, RESOURCES.values())))
_NAMES: Final = re.compile(
    r"(?!.*(?:flavor|size|type|plan|shape)\w*$).*(?:name|prefix|description|tag|label|link|uri|\bid$)", re.IGNORECASE
)
_MAKES_MACHINES: Final = re.compile(
    r"(?:Node|Machine|Agent|Worker|Compute|Container|Instance)(?:s?[Pp]ool|Group|Set|Deployment|Template)"
    r"|^Pool$|Instance$|Server$|Droplet|Fleet|VirtualMachine|Shoot|BareMetal|ComputeEnvironment|Cluster$"
)
# What these hold says something about GPUs, and makes none: rights, limits, alarms, files, images, names.
_HARMLESS: Final = re.compile(
    r"apigateway|appautoscaling|artifactregistry|authorization|bigquery|billing|budgets|ce|cloudquota|cloudtrail|cloudwatch|config|"
    r"consumption|costexplorer|costmanagement|dashboard|datadog|devops|dns|ecr|filestore|github|gitlab|grafana|honeycombio|iam|insights|keyvault|kms|[ae]?lb|loadbalancer|log|logging|monitor|monitoring|newrelic|"
    r"operationalinsights|opsgenie|organizations|orgpolicy|pagerduty|policy|pricing|pubsub|quota|ram|random|resourcegroups|route53|s3|"
    r"secretmanager|secretsmanager|serviceaccount|servicequotas|serviceusage|sns|sqs|ssm|storage|tls|time"
)
# Where machines of others are placed, in modules that make some.
_HARMLESS_KINDS: Final = re.compile(r"(?:Compute)?ResourcePolicy|(?:Proximity)?PlacementGroup")
_HARMLESS_GROUPS: Final = tuple(row["group"] for row in rows("readers", "harmless_groups"))
_OPAQUE: Final = rows("readers", "opaque")
_TOOLS: Final = re.compile(
    r"\b(?:eksctl|gcloud\s+(?:beta\s+)?(?:container|compute)|az\s+(?:aks|vm|vmss)|aws\s+(?:eks|ec2|autoscaling)|kops|"
    r"kubectl|helm|terraform|tofu|karpenter)\b"
)
# A call that adds machines, whatever makes it: by an API's address, or a cloud's command line.
_CALL: Final = re.compile(
    r"https?://(?:[\w-]+\.)*(?:(?:compute|container|ec2|eks|autoscaling|batch|sagemaker|tpu|aiplatform|run)[\w.-]*"
    r"\.(?:googleapis|amazonaws)\.com|management\.azure\.com)"
    r"|:action/|\baws\s+(?:ec2|eks|autoscaling|batch|sagemaker)\s+(?:run|create|start|update|set|modify|request)"
    r"|\bgcloud\s+(?:\w+\s+){1,3}create|\baz\s+(?:aks|vm|vmss|ml)\s+(?:\w+\s+)?(?:create|add|update|scale)|\beksctl\s+(?:create|scale)",
    re.IGNORECASE,
)
# What may hold whole objects: custom resources, and those of tools.
_HOLDERS: Final = re.compile(r"kubectl:|kubernetes:(?:yaml|[^:/]*\.)")
_REMEDY: Final = "Declare it with a provider that the gate reads, or check it by hand and exempt it by name."


def unread(resource: Declared, calls: Iterable[str] = ()) -> Iterable[NotEvaluated]:
    """The report on a resource that no reader knows, or that makes ``calls`` which its reader does not know."""
    if resource.type.startswith("pulumi:") or resource.properties.get("templateBody") is UNKNOWN:
        return
    why = next((f"it calls {call}, which the gate does not read" for call in calls), "") or _opaque(resource)
    mention = _gpu_mention(resource)
    if not why and not mention:
        return
    reasons = [why or "the gate does not know its type", *([f"it mentions '{mention}'"] if mention else [])]
    opaque = bool(why) and not mention and "ClusterClass" not in why and "rights" not in why
    reason = UnknownReason(", and ".join(reasons), _REMEDY)
    yield NotEvaluated(f"{resource.type} '{resource.name}'", reason, resource.urn, opaque=opaque)


def _opaque(resource: Declared) -> str:
    if _HOLDERS.match(resource.type) and any(manifest_text(text) for _, text in _texts(_body(resource.properties))):
        return "it holds a manifest that the gate cannot read"
    unknown = _HOLDERS.match(resource.type) and not _is_harmless(resource.type) and not is_dialect(resource.type)
    if unknown and (group := names_everybody(_body(resource.properties))) is not None:
        return f"the gate does not know what rights it gives to {group}"
    if resource.kind == "Composition" and (step := _unread_function(resource)):
        return f"its function {step} is a program that the gate does not read"
    why = next((row["why"] for row in _OPAQUE if matches(resource.type, row["type"]) and _says(resource, row)), "")
    if "ClusterClass" in why and at(resource.properties, "spec", "topology", "workers") is None:
        return ""  # its machines are declared by themselves
    return "" if _has_its_files(resource) else why


_NAMES_EVERYBODY: Final = re.compile(rf"(?<![\w:-])(?:{'|'.join(map(re.escape, EVERYBODY))})(?![\w:-])")


def names_everybody(value: Any) -> str | None:
    """The first group of everybody that the value names: as a text, in one, or as a key."""
    for path, text in _texts(value):
        if match := _NAMES_EVERYBODY.search(path) or _NAMES_EVERYBODY.search(text):
            return match.group()
    return None


# Crossplane's functions of which what they make is read, or that make nothing; others have programs as their input.
# https://docs.crossplane.io/latest/guides/function-patch-and-transform/, https://github.com/crossplane-contrib?q=function
_READ_FUNCTIONS: Final = re.compile(
    r"(?:pt|gotemplating|environmentconfigs|extra-?resources|sequencer|conditional|status-?transformer|tag-?manager)"
    r"\.fn\.crossplane\.io/.*"
)


def _unread_function(resource: Declared) -> str:
    """The first step of a Composition whose function makes objects by a program of its own."""
    for step in items(at(resource.properties, "spec", "pipeline")):
        version = at(step, "input", "apiVersion")
        if version is not None and not (isinstance(version, str) and _READ_FUNCTIONS.fullmatch(version)):
            return f"'{at(step, 'step')}'"
    return ""


def _says(resource: Declared, row: Row) -> bool:
    """Whether a property says what the row is about; one that is not known may."""
    field, _, pattern = row["if"].partition("=")
    value = at(resource.properties, *field.split(".")) if field else None
    given = value is not None if pattern == "*" else isinstance(value, str) and fnmatchcase(value, pattern)
    return not field or value is UNKNOWN or given


def _has_its_files(resource: Declared) -> bool:
    """Whether what a kind installs, which could be in a repository, is in the program."""
    spec = resource.properties.get("spec")
    fetched = items(at(spec, "fetch"))  # kapp-controller's
    if fetched:
        return all(isinstance(each, Mapping) and [*each] == ["inline"] for each in fetched)
    if not resource.kind.endswith("Profile"):  # Sveltos'
        return False
    kinds = [at(each, "kind") for each in items(at(spec, "policyRefs"))]
    return not items(at(spec, "kustomizationRefs")) and all(kind in ("ConfigMap", "Secret") for kind in kinds)


def _gpu_mention(resource: Declared) -> str:
    """The first text of a resource that looks like GPUs, or in a command like a tool that creates nodes."""
    kubernetes = resource.type.startswith("kubernetes:")
    if _is_harmless(resource.type):
        return _called(resource.properties)
    patterns = [MACHINE] if kubernetes else [MACHINE, ACCELERATOR]
    if _MAKES_MACHINES.search(resource.type.rpartition(":")[2]) and not kubernetes:
        patterns += [_WORD, MODEL]
    if resource.type.startswith("command:"):
        patterns += [_WORD, _TOOLS]
    for key, text in _texts(resource.properties):
        for pattern in patterns:
            if pattern in (_WORD, MODEL) and _NAMES.match(key):
                continue  # a name says what people call it
            if match := pattern.search(text):
                return match.group()
        if match := _RESOURCE.search(text):
            return match.group()
    return _of_object(resource.properties, names=kubernetes)


def _called(properties: Mapping[str, Any]) -> str:
    """The machine with GPUs that a call of a cloud's API or command line among the texts may be about."""
    texts = [text for _, text in _texts(properties)]
    found = next((match for text in texts if (match := MACHINE.search(text) or ACCELERATOR.search(text))), None)
    return found.group() if found and any(map(_CALL.search, texts)) else ""


# What a key of a custom resource says of GPUs by itself, and what it names that may have some.
_GPU_KEY: Final = re.compile(r"(?:^|[a-z_./-])(?:GPU|Gpu)s?|^gpus?(?![a-z])|[_./-]gpus?(?![a-z])|accelerator", re.ASCII)
_GPU_PART: Final = re.compile(r"(?:gpu|accelerator)(?:s|Counts?|Capabilit(?:y|ies))?", re.IGNORECASE)
_AMOUNT_KEY: Final = re.compile(
    r"value|count|num(?:ber)?|quantity|amount\w*|size|limits?|requests?|fraction|memory(?:[GM]i?B?)?|enabled?|type|model"
    r"|m(?:in|ax)\w*",
    re.IGNORECASE,
)
_CHOOSING_KEY: Final = re.compile(
    r"(?:profile|flavou?r|pool|nodegroup|hardware|machine|instance|device|size|sku|shape|plan|resource|nodeselector|class|type)\w*$",
    re.IGNORECASE,
)
_NO_GPUS: Final = re.compile(r"(?:0|false|none|no|off|cpu|disabled|null|)", re.IGNORECASE)


def _of_object(properties: Any, *, names: bool) -> str:
    """The first part of a resource that asks for GPUs; its name and status say nothing. ``names``: also one that names
    a model, a profile or a pool with GPUs."""
    for path, value in _leaves(_body(properties)):
        last, text = path[-1], str(value)
        if _NO_GPUS.fullmatch(text) or (_NAMES.match(last) and not _CHOOSING_KEY.search(last)):
            continue
        if any(each in path or each == text for each in RESOURCES.values()) or _GPU_KEY.search(last):
            return f"{last}: {text}"
        part = next((each for each in path[-3:-1] if _GPU_PART.fullmatch(each)), "")
        if part and _AMOUNT_KEY.fullmatch(last):
            return f"{'.'.join(path[path.index(part) :])}: {text}"
        within = names and (_CHOOSING_KEY.search(last) or any(part.lower() in _CHOICES for part in path))
        if within and (_WORD.search(text) or MODEL.search(text) or only_gpu_nodes(last, [text])):
            return f"{last}: {text}"
    return ""


def _body(properties: Mapping[str, Any]) -> Mapping[str, Any]:
    return {key: part for key, part in properties.items() if key not in ("metadata", "status", "kind", "apiVersion")}


_CHOICES: Final = ("nodeselector", "nodeaffinity", "resources", "accelerators", "devices")


def _leaves(value: Any, path: tuple[str, ...] = ("",)) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every text, number and switch in the value, with the keys that lead to it."""
    if isinstance(value, Mapping):
        for name, part in value.items():
            yield from _leaves(part, (*path, str(name)))
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _leaves(part, path)
    elif isinstance(value, (str, int, float)) and len(str(value)) <= _LONGEST:
        yield path, value


_LONGEST: Final = 200
"""Characters of a text that may be a name or a number; longer ones are scripts and documents."""


_PLACEHOLDER: Final = re.compile(r"\{\{|\$\{|<<")


@cache
def _is_harmless(type_token: str) -> bool:
    package, _, rest = type_token.partition(":")
    module = rest.partition(":")[0]
    if _PLACEHOLDER.search(rest):
        return False  # whatever kind a tool makes of it
    if package == "kubernetes":
        group = module.rpartition("/")[0] or module
        kind = f"{group}:{rest.partition(':')[2]}"
        return "." not in group or any(matches(each, pattern) for pattern in _HARMLESS_GROUPS for each in (group, kind))
    words = (package, module.partition("/")[0].lower())
    return bool(_HARMLESS_KINDS.fullmatch(kind_of(type_token))) or any(map(_HARMLESS.fullmatch, words))


def _texts(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Every text in the value, with the keys that lead to it."""
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, Mapping):
        for name, part in value.items():
            yield from _texts(part, f"{key}.{name}")
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _texts(part, key)
