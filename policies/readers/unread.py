"""Reports resources that no reader knows and that mention GPUs or may do anything, so that they do not pass silently.

Reported are: a GPU machine type or an accelerator among the texts, the word "gpu" in a type that makes machines, and
opaque resources: a command or a dynamic resource runs code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Final

from facts.concepts.declared import NotEvaluated, UnknownReason
from facts.concepts.unknown import UNKNOWN, at
from policies.readers.patterns import matches
from policies.readers.resource import Declared

# GPU machines by the names of those who sell them:
# https://docs.aws.amazon.com/ec2/latest/instancetypes/ac.html, https://cloud.google.com/compute/docs/gpus,
# https://learn.microsoft.com/azure/virtual-machines/sizes/overview#gpu-accelerated,
# https://docs.oracle.com/iaas/Content/Compute/References/computeshapes.htm#vm-gpu,
# https://www.alibabacloud.com/help/en/ecs/user-guide/gpu-accelerated-compute-optimized-and-vgpu-accelerated-instance-families-1,
# https://docs.digitalocean.com/products/droplets/details/features/#gpu-droplets,
# https://techdocs.akamai.com/cloud-computing/docs/gpu-compute-instances,
# https://www.scaleway.com/en/docs/gpu/reference-content/choosing-gpu-instance-type/,
# https://cloud.ibm.com/docs/vpc?topic=vpc-accelerated-profile-family
_MACHINE: Final = re.compile(
    r"(?<![\w.-])(?:"
    r"(?:ml\.)?(?!g4ad\.)(?:p[2-9]|gr?[2-9])[a-z]{0,3}(?:-[a-z]{2,3}\d{3})?\.(?:\d{0,3}x?large|metal(?:-\d+xl)?)"
    r"|(?:a[2-9]x?|g[2-9])-(?:highgpu|megagpu|ultragpu|edgegpu|maxgpu|standard)-\d+g?(?:-\w+)?"
    r"|standard_n(?:cc?|d|v)\d+\w*"
    r"|(?:vm|bm)\.gpu[\w.]*"
    r"|ecs\.(?:e?v?gn)\d[\w.-]*"
    r"|gpu-\w+x\d+-\d+gb(?:-\w+)*"
    r"|g\d-(?:gpu|accelerated)-[\w-]+"
    r"|(?:h100|l40s|l4|b300)-[\w-]*\d+g\b"
    r"|gx\d-\d+x\d+x\d+\w*"
    r")(?![\w.])",
    re.IGNORECASE,
)
# https://cloud.google.com/compute/docs/gpus: types of attached accelerators.
_ACCELERATOR: Final = re.compile(r"(?<![\w/.-])nvidia-(?:tesla-)?[a-z]{0,3}\d{1,4}[\w-]*", re.IGNORECASE)
_WORD: Final = re.compile(r"(?<![a-z])gpus?(?![a-z])|nvidia", re.IGNORECASE)
_NAMES: Final = re.compile(r"name|prefix|description|tag|label|link|uri|\bid$", re.IGNORECASE)
_MAKES_MACHINES: Final = re.compile(
    r"(?:Node|Machine|Agent|Worker|Compute|Instance)(?:s?Pool|Group|Set|Deployment|Template)"
    r"|Instance$|Server$|Droplet|Fleet|VirtualMachine|Shoot|BareMetal|ComputeEnvironment|Cluster$"
)
# What these hold says something about GPUs, and makes none: rights, limits, alarms, files, images, names.
_HARMLESS: Final = re.compile(
    r"apigateway|appautoscaling|artifactregistry|authorization|bigquery|billing|budgets|cloudtrail|cloudwatch|config|"
    r"costexplorer|dashboard|devops|dns|ecr|iam|insights|keyvault|kms|log|logging|monitor|monitoring|"
    r"operationalinsights|organizations|orgpolicy|policy|pricing|pubsub|ram|random|resourcegroups|route53|s3|"
    r"secretmanager|secretsmanager|serviceaccount|servicequotas|sns|sqs|ssm|storage|tls|time"
)
# Groups of Kubernetes' kinds that are about pods, quotas, rights and metrics, or that others refer to.
_HARMLESS_GROUPS: Final = (
    "*admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "argoproj.io",
    "*batch*",
    "bootstrap.cluster.x-k8s.io",
    "controlplane.cluster.x-k8s.io",
    "*flowcontrol*",
    "gateway.networking*",
    "helm*",
    "infrastructure.cluster.x-k8s.io",
    "karpenter*",
    "kueue.x-k8s.io",
    "kyverno.io",
    "*gatekeeper.sh",
    "monitoring.*",
    "nfd.k8s-sigs.io",
    "node.k8s.io",
    "nvidia.com",
    "policy",
    "*policies*",
    "rbac.*",
    "resource.k8s.io",
    "scheduling.*",
    "storage.k8s.io",
)
_OPAQUE: Final = {
    "command:*": "it runs a command",
    "pulumi-*:dynamic*": "it is a dynamic resource, which runs code of the program",
    "aws:cloudformation/*": "its template is not in this program, or the gate cannot read it",
    "aws:cloudcontrol/*": "its properties have a form that the gate does not read",
    "azure-native*:resources*:Deployment*": "its template is not in this program, or the gate cannot read it",
    "azure-native*:resources*:Azure*Script*": "it runs a script",
    "azure:core/*Template*": "its template is not in this program, or the gate cannot read it",
    "azapi:*": "the gate does not read its type or its body",
    "kubernetes:cluster.x-k8s.io/*:Cluster": "its machines come from a ClusterClass",
}
_TOOLS: Final = re.compile(
    r"\b(?:eksctl|gcloud\s+(?:beta\s+)?(?:container|compute)|az\s+(?:aks|vm|vmss)|aws\s+(?:eks|ec2|autoscaling)|kops|"
    r"kubectl|helm|terraform|tofu|karpenter)\b"
)
_REMEDY: Final = "Declare it with a provider that the gate reads, or check it by hand and exempt it by name."


def unread(resource: Declared) -> Iterable[NotEvaluated]:
    """The report on a resource that no reader knows."""
    if resource.type.startswith("pulumi:") or resource.properties.get("templateBody") is UNKNOWN:
        return
    why = _opaque(resource)
    mention = _gpu_mention(resource)
    if not why and not mention:
        return
    reasons = [why or "the gate does not know its type", *([f"it mentions '{mention}'"] if mention else [])]
    opaque = bool(why) and not mention and "ClusterClass" not in why
    reason = UnknownReason(", and ".join(reasons), _REMEDY)
    yield NotEvaluated(f"{resource.type} '{resource.name}'", reason, resource.urn, opaque=opaque)


def _opaque(resource: Declared) -> str:
    why = next((reason for pattern, reason in _OPAQUE.items() if matches(resource.type, pattern)), "")
    if "ClusterClass" in why and at(resource.properties, "spec", "topology", "workers") is None:
        return ""  # its machines are declared by themselves
    return why


def _gpu_mention(resource: Declared) -> str:
    """The first text of a resource that looks like GPUs, or in a command like a tool that creates nodes."""
    kubernetes = resource.type.startswith("kubernetes:")
    if _is_harmless(resource.type):
        return ""
    patterns = [_MACHINE] if kubernetes else [_MACHINE, _ACCELERATOR]
    if _MAKES_MACHINES.search(resource.type.rpartition(":")[2]) and not kubernetes:
        patterns.append(_WORD)
    if resource.type.startswith("command:"):
        patterns += [_WORD, _TOOLS]
    for key, text in _texts(resource.properties):
        for pattern in patterns:
            if pattern is _WORD and _NAMES.search(key):
                continue  # a name is only a label
            if match := pattern.search(text):
                return match.group()
    return ""


@cache
def _is_harmless(type_token: str) -> bool:
    package, _, rest = type_token.partition(":")
    module = rest.partition(":")[0]
    if package == "kubernetes":
        group = module.rpartition("/")[0] or module
        return "." not in group or any(matches(group, pattern) for pattern in _HARMLESS_GROUPS)
    return any(_HARMLESS.fullmatch(word) for word in (package, module.partition("/")[0].lower()))


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
