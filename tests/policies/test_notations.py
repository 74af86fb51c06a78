"""What a reader knows of a cloud's type, the gate knows in every notation of it.

The corpus' cases are translated, resource by resource, into what other tools call the same types, and have to come out
as they do there. The translations know nothing of ``policies/dialects``: they go by what the tools' documents say of
their names (Terraform's blocks in the singular, Crossplane's objects with references, the capitals of Amazon's API).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, Final

import pytest

from facts.concepts.unknown import UNKNOWN, holds_unknown
from policies.readers.eks.subnets import SUBNETS
from policies.readers.registry import is_part, is_taken
from policies.readers.spelling import SINGULAR
from tests.policies.corpus.case import Case, Resource, blockers, doubts, findings
from tests.policies.corpus.programs import read_cases
from tests.policies.sdk_inputs import Input, Type, root, types_in

# Rights and keys are left out: many of them have a kind of their own in each tool.
_TYPE: Final = re.compile(
    r"(aws|azure(?=:(?:compute|containerservice|monitoring)/)|gcp(?=:(?:compute|container|tpu)/)):(\w+)/\w+:(\w+)"
)
# What Terraform calls otherwise than by the service and kind of the bridged provider, or of Azure's by the kind.
_TERRAFORMS: Final = {
    "aws:apigateway/integration:Integration": "apiGatewayIntegration",
    "aws:autoscaling/tag:Tag": "autoscalingGroupTag",
    "aws:ec2/dedicatedHost:DedicatedHost": "ec2Host",
    "azure:containerservice/registry:Registry": "containerRegistry",
    "azure:containerservice/tokenPassword:TokenPassword": "containerRegistryTokenPassword",
    "azure:keyvault/key:Key": "keyVaultKey",
    "azure:monitoring/autoscaleSetting:AutoscaleSetting": "monitorAutoscaleSetting",
}
# Of ec2, the newer ones.
_WITH_SERVICE: Final = ("capacityReservation", "fleet")
_CROSSPLANES: Final = {
    "aws:autoscaling/group:Group": "autoscaling.aws.upbound.io/v1beta1:AutoscalingGroup",
    "aws:autoscaling/tag:Tag": "autoscaling.aws.upbound.io/v1beta1:GroupTag",
    "aws:cloudwatch/eventTarget:EventTarget": "cloudwatchevents.aws.upbound.io/v1beta1:Target",
    "aws:ec2/dedicatedHost:DedicatedHost": "ec2.aws.upbound.io/v1beta1:Host",
    "aws:ec2/launchConfiguration:LaunchConfiguration": "autoscaling.aws.upbound.io/v1beta1:LaunchConfiguration",
    "azure:containerservice/registry:Registry": "containerregistry.azure.upbound.io/v1beta1:Registry",
    "azure:containerservice/tokenPassword:TokenPassword": "containerregistry.azure.upbound.io/v1beta1:TokenPassword",
    "azure:monitoring/autoscaleSetting:AutoscaleSetting": "insights.azure.upbound.io/v1beta1:MonitorAutoscaleSetting",
}
_NATIVES: Final = ("aws-native:eks:", "aws-native:autoscaling:", "aws-native:ec2:", "aws-native:batch:")
_OF_AZURE: Final = re.compile(
    r"azure-native:(?:containerservice:(?:ManagedCluster|AgentPool)|compute:VirtualMachine(?:ScaleSet)?)"
)
_OWN_NAMES: Final = {
    "AgentPool": "agentPoolName",
    "ManagedCluster": "resourceName",
    "VirtualMachine": "vmName",
    "VirtualMachineScaleSet": "vmScaleSetName",
}
_MAPS: Final = ("labels", "nodeLabels", "nodeTaints", "resourceLabels", "tags", "metadata", "parameters")

Translation = Callable[[Resource, Mapping[str, str]], Resource | None]


@cache
def _is_judged(token: str) -> bool:
    return is_taken(token) or is_part(token) or token in SUBNETS


def _terraform(resource: Resource, _: Mapping[str, str]) -> Resource | None:
    token, name, inputs = resource
    if (match := _TYPE.fullmatch(token)) is None or not _is_judged(token):
        return None
    cloud, service, kind = match.groups()
    word = f"{kind[:1].lower()}{kind[1:]}"
    if token in _TERRAFORMS:
        word = _TERRAFORMS[token]
    elif cloud == "gcp" or (cloud == "aws" and (service != "ec2" or word in _WITH_SERVICE)):
        word = f"{service}{kind}"
    package = {"aws": "aws", "azure": "azurerm", "gcp": "google"}[cloud]
    return f"{package}:index/{word}:{word[:1].upper()}{word[1:]}", name, _blocks(inputs)


def _crossplane(resource: Resource, sources: Mapping[str, str]) -> Resource | None:
    token, name, inputs = resource
    if (match := _TYPE.fullmatch(token)) is None or not _is_judged(token):
        return None
    cloud, service, kind = match.groups()
    called = _CROSSPLANES.get(token, f"{service}.{cloud}.upbound.io/v1beta1:{kind}")
    own = next((key for key in ("name", "nodeGroupName") if isinstance(inputs.get(key), str)), "")
    annotations = {"annotations": {"crossplane.io/external-name": inputs[own]}} if own else {}
    inputs = {key: value for key, value in inputs.items() if key != own}
    given = {key: _referring(key, value, sources.get(key)) for key, value in inputs.items()}
    fields = {key: value for pair in given.values() for key, value in pair.items()}
    return (
        f"kubernetes:{called}",
        name,
        {"metadata": {"name": name, **annotations}, "spec": {"forProvider": _blocks(fields)}},
    )


def _referring(key: str, value: Any, source: str | None) -> dict[str, Any]:
    """A value that is another resource's, as a reference to its object."""
    if source is None or not holds_unknown(value):
        return {key: value}
    if value is UNKNOWN:
        return {f"{key}Ref": {"name": source}}
    if isinstance(value, list) and value == [UNKNOWN]:
        return {f"{key.removesuffix('s')}Refs": [{"name": source}]}
    if isinstance(value, Mapping):
        return {
            key: {name: field for at, part in value.items() for name, field in _referring(at, part, source).items()}
        }
    if isinstance(value, list):
        return {key: [_referring(key, each, source).get(key, each) for each in value]}
    return {key: value}


def _blocks(value: Any, key: str = "") -> Any:
    """Terraform's blocks: in the singular, and each a list."""
    if isinstance(value, Mapping):
        return {_singular(name, part): _block(name, part) for name, part in value.items()}
    return [_blocks(each) for each in value] if isinstance(value, list) else value


def _block(name: str, value: Any) -> Any:
    if isinstance(value, Mapping) and name not in _MAPS and not name.endswith(("Ref", "Selector")):
        return [_blocks(value)]
    return value if name in _MAPS and isinstance(value, Mapping) else _blocks(value)


def _singular(name: str, value: Any) -> str:
    blocks = isinstance(value, list) and any(isinstance(each, Mapping) for each in value)
    if not blocks or name.endswith("Refs") or not name.endswith("s"):
        return name
    return name.removesuffix("es") if name.endswith("sses") else name.removesuffix("s")


def _cloud_control(resource: Resource, _: Mapping[str, str]) -> Resource | None:
    token, name, inputs = resource
    if not token.startswith(_NATIVES) or holds_unknown(inputs):
        return None
    service, kind = token.split(":")[1:]
    names = {"autoscaling": "AutoScaling", "batch": "Batch", "ec2": "EC2", "eks": "EKS"}
    desired = json.dumps(_pascal(inputs))
    properties = {"typeName": f"AWS::{names[service]}::{kind}", "desiredState": desired}
    return "aws:cloudcontrol/resource:Resource", name, properties


def _pascal(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {
            ("VPC" + key[3:] if key.startswith("vpcZone") else f"{key[:1].upper()}{key[1:]}"): part
            if key in _MAPS and isinstance(part, Mapping)
            else _pascal(part)
            for key, part in value.items()
        }
    return [_pascal(part) for part in value] if isinstance(value, list) else value


def _awscc(resource: Resource, _: Mapping[str, str]) -> Resource | None:
    token, name, inputs = resource
    if not token.startswith(_NATIVES):
        return None
    service, kind = token.split(":")[1:]
    return f"awscc:index/{service}{kind}:{service.capitalize()}{kind}", name, inputs


def _ack(resource: Resource, _: Mapping[str, str]) -> Resource | None:
    token, name, inputs = resource
    if not token.startswith(_NATIVES):
        return None
    service, kind = token.split(":")[1:]
    return (
        f"kubernetes:{service}.services.k8s.aws/v1alpha1:{kind}",
        name,
        {"metadata": {"name": name}, "spec": _upper(inputs)},
    )


def _upper(value: Any) -> Any:
    """https://github.com/aws-controllers-k8s/pkg/blob/main/names/names.go"""
    if isinstance(value, Mapping):
        return {
            re.sub(r"(?<=[a-z])(Id|Arn|Ip|Cidr|Vpc|Kms|Ebs|Cpu)(?=s?$|[A-Z])", lambda word: word[0].upper(), key): part
            if key in _MAPS and isinstance(part, Mapping)
            else _upper(part)
            for key, part in value.items()
        }
    return [_upper(part) for part in value] if isinstance(value, list) else value


def _azure_operator(resource: Resource, _: Mapping[str, str]) -> Resource | None:
    token, name, inputs = resource
    if _OF_AZURE.fullmatch(token) is None:
        return None
    service, kind = token.split(":")[1:]
    called = "ManagedClustersAgentPool" if kind == "AgentPool" else kind
    own = _OWN_NAMES[kind]
    owner = {"owner": {"name": inputs["resourceName"]}} if kind == "AgentPool" and "resourceName" in inputs else {}
    azure_name = {"azureName": inputs[own]} if own in inputs else {}
    spec = {**{key: part for key, part in inputs.items() if key not in ("resourceName", own)}, **owner, **azure_name}
    return f"kubernetes:{service}.azure.com/v1api20240901:{called}", name, {"metadata": {"name": name}, "spec": spec}


def _azapi(resource: Resource, _: Mapping[str, str]) -> Resource | None:
    token, name, inputs = resource
    if token != "azure-native:containerservice:AgentPool" or "resourceName" not in inputs:
        return None
    names = ("resourceName", "agentPoolName", "resourceGroupName")
    group = "/subscriptions/s/resourceGroups/g/providers"
    parent = f"{group}/Microsoft.ContainerService/managedClusters/{inputs['resourceName']}"
    return (
        "azapi:index/resource:Resource",
        name,
        {
            "type": "Microsoft.ContainerService/managedClusters/agentPools@2025-05-01",
            "name": inputs.get("agentPoolName", name),
            "parentId": parent,
            "body": {"properties": {key: part for key, part in inputs.items() if key not in names}},
        },
    )


NOTATIONS: Final[Mapping[str, Translation]] = {
    "terraform": _terraform,
    "crossplane": _crossplane,
    "cloud control": _cloud_control,
    "awscc": _awscc,
    "ack": _ack,
    "azure service operator": _azure_operator,
    "azapi": _azapi,
}


def _translated(case: Case, notation: str) -> Case | None:
    translation = NOTATIONS[notation]
    resources = []
    for each in case.resources:
        sources = {where: source for user, where, source in case.links if user == each[1]}
        resources.append(translation(each, sources) or each)
    if tuple(resources) == case.resources:
        return None
    return replace(case, id=f"{case.id} by {notation}", resources=tuple(resources))


def _cases(notation: str) -> Iterator[Any]:
    """Each program that reads otherwise in the notation; of those that differ in what is not translated, one."""
    seen: set[str] = set()
    for case in sorted(read_cases(), key=lambda case: case.verdict != "refused"):
        other = _translated(case, notation)
        changed = [each for each in (other or case).resources if each not in case.resources]
        if other is not None and (key := repr(changed)) not in seen:
            seen.add(key)
            yield pytest.param(other, id=other.id)


@pytest.mark.parametrize("case", [each for notation in NOTATIONS for each in _cases(notation)])
def test_a_program_comes_out_as_in_the_words_of_the_sdk(case: Case) -> None:
    if case.verdict == "refused":
        assert case.rule in {violation.rule for violation in findings(case)}
    elif case.verdict == "allowed":
        assert blockers(case) == []
        assert doubts(case) == []
    else:
        assert any(case.reason in why for why in doubts(case))


def test_each_block_of_which_there_is_one_is_known() -> None:
    """Terraform shows them as lists, like those that may occur several times: the bridged SDKs tell them apart."""
    singular = set[str]()
    several = set[str]()
    for sdk, module in _MODULES:
        for each in types_in(root(sdk) / module):
            if _is_judged(each.token):
                for part in _parts(each):
                    (several if part.listed else singular).add(part.name)
    ending = {name for name in singular if name.endswith("s") and not name.endswith("ss")}
    assert ending - several == SINGULAR
    assert not ending & several


_MODULES: Final = (
    *(("pulumi_aws", module) for module in ("autoscaling", "autoscalingplans", "batch", "ec2", "eks", "scheduler")),
    *(("pulumi_gcp", module) for module in ("compute", "container", "tpu")),
)


def _parts(type: Type) -> Iterator[Input]:
    """The inputs of a type that are blocks, at any depth."""
    seen, open_ones = set[str](), [*type.inputs]
    while open_ones:
        each = open_ones.pop()
        if (part := each.part) is None or part not in type.parts:
            continue
        yield each
        if part not in seen:
            seen.add(part)
            open_ones += type.parts[part]
