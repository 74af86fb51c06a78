"""The clouds' resources as other tools spell them: unbridged Terraform, Crossplane, Config Connector, ACK and ASO.

Each tool calls most types alike, by their service and kind: ``_NOTATIONS`` says how. ``tools.csv`` has one row for each
type token that is called otherwise: the type as which it is read, and where its fields are. Fields are Terraform's
(https://registry.terraform.io/browse/providers) or the API's:

- Terraform: https://www.pulumi.com/docs/iac/concepts/providers/any-terraform-provider/
- Crossplane, in ``spec.forProvider``: https://docs.crossplane.io/latest/managed-resources/managed-resources/
- Config Connector: https://cloud.google.com/config-connector/docs/reference/overview
- ACK: https://aws-controllers-k8s.github.io/docs/api-reference
- Azure Service Operator: https://azure.github.io/azure-service-operator/reference/
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from facts.concepts.unknown import UNKNOWN, at, coalesce, mapping
from policies.dialects import amazon
from policies.readers import keys
from policies.readers.aks import classic
from policies.readers.aks import clusters as aks
from policies.readers.eks import clusters as eks
from policies.readers.eks import machines as ec2
from policies.readers.eks import reservations, roles, services
from policies.readers.eks.subnets import SUBNETS
from policies.readers.gke import clusters as gke
from policies.readers.gke import machines as gce
from policies.readers.gke.machines import OBJECT
from policies.readers.resource import Declared
from policies.readers.spelling import OWN_KEYS, Spelling, in_words, of_terraform, parsed_all, respelled, tags_of_pairs
from policies.readers.tables import rows

_ROWS: Final = rows("dialects", "tools")
# Controllers whose kinds have Terraform's singulars, and drop the plurals that bridged providers have:
# https://cloud.google.com/config-connector/docs/reference/resource-docs/container/containernodepool,
# https://marketplace.upbound.io/providers/upbound/provider-aws-eks
_TERRAFORMS: Final = re.compile(r"^kubernetes:[^/]*(?:cnrm\.cloud\.google\.com|upbound\.io)/")
# Controllers whose kinds have the lists of the cloud's own API.
_APIS: Final = re.compile(r"^kubernetes:[^/]*(?:services\.k8s\.aws|azure\.com)/")
_PLURALS: Final = ("guestAccelerators", "networkInterfaces", "taints")
_ACKS_REGION: Final = "services.k8s.aws/region"
"""https://aws-controllers-k8s.github.io/docs/guides/multi-region"""
# azurerm called it so before version 4.
_OLD: Final = {"enableAutoScaling": "autoScalingEnabled", "enableNodePublicIp": "nodePublicIpEnabled"}
# The readers' type → their names of fields that are called otherwise in all its spellings.
_NAMES: Final[Mapping[str, Mapping[str, str]]] = {
    "aws:eks/cluster:Cluster": {"resourcesVpcConfig": "vpcConfig"},
    "aws:eks/nodeGroup:NodeGroup": {"name": "nodeGroupName", "subnets": "subnetIds"},
}
# The readers' type → their name of the field that an object in Kubernetes has as ``azureName`` or as its own name.
_OWN_NAME: Final[Mapping[str, str]] = {
    "azure-native:compute:VirtualMachine": "vmName",
    "azure-native:compute:VirtualMachineScaleSet": "vmScaleSetName",
    "azure-native:containerservice:AgentPool": "agentPoolName",
    "azure-native:containerservice:ManagedCluster": "resourceName",
}
_TYPE: Final = re.compile(r"(aws|azure|azure-native|gcp):(?!index/)(\w+)(?:/\w+)?:(\w+)")
_CROSSPLANES: Final = ("spec", "forProvider")
_ACK: Final = "kubernetes:{}.services.k8s.aws/*:{}"
# Cloud → how each tool calls a type of it, and where it has the fields. Terraform leaves out the service of the oldest
# types of Amazon's, and of all of Azure's.
_NOTATIONS: Final[Mapping[str, Sequence[tuple[str, Sequence[str]]]]] = {
    "aws": (
        ("aws:index/{service}{Kind}:{Service}{Kind}", ()),
        ("aws:index/{kind}:{Kind}", ()),
        ("kubernetes:{service}.aws.*:{Kind}", _CROSSPLANES),
        ("kubernetes:{service}.aws.*:{Service}{Kind}", _CROSSPLANES),
        (_ACK.format("{service}", "{Kind}"), ("spec",)),
    ),
    "azure": (
        ("azurerm:index/{kind}:{Kind}", ()),
        ("kubernetes:{service}.azure.*upbound.io/*:{Kind}", _CROSSPLANES),
    ),
    "azure-native": (("kubernetes:{service}.azure.com/*:{Kind}", ("spec",)),),
    "gcp": (
        ("google*:index/{service}{Kind}:{Service}{Kind}", ()),
        ("kubernetes:{service}.cnrm.cloud.google.com/*:{Service}{Kind}", ("spec",)),
        ("kubernetes:{service}.gcp.*upbound.io/*:{Kind}", _CROSSPLANES),
    ),
}
_READ: Final = (
    *eks.READERS,
    *ec2.READERS,
    *ec2.PARTS,
    *SUBNETS,
    *reservations.READERS,
    *services.READERS,
    *services.TASKS,
    *services.TARGETS,
    roles.ASSOCIATION,
    *classic.READERS,
    *aks.READERS,
    *gke.READERS,
    *gce.READERS,
    *gce.PARTS,
    *keys.READERS,
)
_REFERENCE: Final = re.compile(r"(\w+)(Refs?|Selector)")
# https://docs.crossplane.io/latest/managed-resources/managed-resources/#naming-external-resources
_EXTERNAL_NAME: Final = "crossplane.io/external-name"
# Controllers whose objects have a namespace; Crossplane's older kinds have none.
_NAMESPACED: Final = re.compile(r"cnrm\.cloud\.google\.com|\.m\.upbound\.io")


def _spelled(type_token: str, path: Sequence[str]) -> Spelling:
    names = _OLD if type_token.startswith("azure:") else _NAMES.get(type_token, {})

    def spelled(declared: Declared) -> Iterable[Declared]:
        fields = _fields(declared, type_token, path)
        if isinstance(fields, Mapping):
            yield respelled(declared, type_token, {**fields, **_own(declared, fields, type_token, path)}, names)

    return spelled


def _fields(declared: Declared, type_token: str, path: Sequence[str]) -> Any:
    foreign = _PLURALS if _TERRAFORMS.search(declared.type) else ()
    own = at(declared.properties, *path)
    if "forProvider" in path and "upbound.io/" in declared.type:
        own = _filled(own, at(declared.properties, *path[:-1], "initProvider"))
    fields = own if _APIS.search(declared.type) else of_terraform(own, foreign)
    if not path or type_token.startswith("gcp:compute/"):
        return fields
    return _followed(in_words(fields) if type_token.startswith("aws:") else fields)


def _own(declared: Declared, fields: Mapping[str, Any], type_token: str, path: Sequence[str]) -> dict[str, Any]:
    """What an object says of itself outside its fields: the cloud's name of what a controller makes of it, its labels,
    its region.

    https://docs.cloud.google.com/config-connector/docs/how-to/managing-resources-with-resource-ids
    """
    metadata = declared.properties.get("metadata")
    given = (fields.get(key) for key in ("azureName", "resourceID"))
    name = coalesce(*given, at(metadata, "annotations", _EXTERNAL_NAME), at(metadata, "name"))
    region = coalesce(fields.get("region"), at(metadata, "annotations", _ACKS_REGION))
    values: dict[str, Any] = {"region": region, "resourceName": at(fields, "owner", "name")}
    if path:
        own = _OWN_NAME.get(type_token, "name")
        values |= {own: coalesce(fields.get(own), name)}
    if path and type_token.startswith("gcp:compute/"):
        values |= {"name": name, OBJECT: _object(declared)}
    if path and type_token.startswith("aws:"):
        values |= {"id": at(metadata, "name"), "matchLabels": at(metadata, "labels")}
    if type_token in SUBNETS:
        values |= {"tags": tags_of_pairs(fields.get("tags"))}
    return {key: value for key, value in values.items() if value is not None}


def _followed(value: Any) -> Any:
    """Fields with what is known of the objects that references name, and labels (``{"matchLabels": …}``) select:
    ``clusterNameRef``, ``subnetIdRefs``, ``launchConfigurationSelector`` of Crossplane, ``clusterRef`` of controllers
    that leave the name's last word out.

    https://docs.crossplane.io/latest/managed-resources/managed-resources/#referencing-other-resources,
    https://aws-controllers-k8s.github.io/docs/guides/cross-resource-references
    """
    if isinstance(value, (list, tuple)):
        return [_followed(each) for each in value]
    if not isinstance(value, Mapping):
        return value
    found: dict[str, Any] = {}
    for key, part in value.items():
        match = _REFERENCE.fullmatch(key) if isinstance(key, str) else None
        if match is None or part is None:
            continue
        field, how = match.groups()
        meant = [_meant(each, how) for each in (part if isinstance(part, (list, tuple)) else (part,))]
        if how != "Ref":
            found[f"{field}s"] = [*found.get(f"{field}s", ()), *meant]
        if how != "Refs":
            found |= dict.fromkeys((field, f"{field}Name"), meant[0] if how == "Ref" and meant else UNKNOWN)
    own = {key: part if key in OWN_KEYS else _followed(part) for key, part in value.items()}
    return {**found, **{key: part for key, part in own.items() if part is not None}}


def _meant(reference: Any, how: str) -> Any:
    """The name of the object that a reference has, or the labels that a selector selects by."""
    if how == "Selector":
        return {"matchLabels": coalesce(at(reference, "matchLabels"), UNKNOWN)}
    return coalesce(*(at(reference, *place) for place in (("name",), ("from", "name"), ("external",))), UNKNOWN)


def _object(declared: Declared) -> dict[str, Any]:
    """What others find the object by."""
    metadata = mapping(declared.properties.get("metadata"))
    space = declared.place_in_cluster if _NAMESPACED.search(declared.type) else None
    known = {} if metadata is UNKNOWN else metadata
    return {**known, "namespace": space if isinstance(space, str) else UNKNOWN}


def _judged() -> Iterator[tuple[str, Spelling]]:
    """Types that readers know, as each tool calls them."""
    for token in _READ:
        if (match := _TYPE.fullmatch(token.replace("*", ""))) is None:
            continue
        cloud, service, kind = match.groups()
        words = {"service": service, "Service": f"{service[:1].upper()}{service[1:]}", "Kind": kind}
        words |= {"kind": f"{kind[:1].lower()}{kind[1:]}"}
        for notation, path in _NOTATIONS[cloud]:
            yield notation.format(**words), _spelled(token.replace("*", ""), path)


def _of_the_api(name: str) -> Spelling:
    """An object of ACK, whose fields are those of Amazon's API."""
    spelling = amazon.RESOURCES[name]

    def spelled(declared: Declared) -> Iterable[Declared]:
        token = f"aws:{name}"
        fields = _fields(declared, token, ("spec",))
        if isinstance(fields, Mapping):
            flat = {**fields, "launchTemplateData": data} if (data := fields.get("data")) is not None else fields
            for each in spelling(replace(declared, properties=flat)):
                own = _own(declared, each.properties, each.type, ("spec",))
                yield replace(each, properties={**each.properties, **own})

    return spelled


def _filled(own: Any, initial: Any) -> Any:
    """What Crossplane creates: ``initProvider`` gives what ``forProvider`` leaves out, in lists by position.

    https://docs.crossplane.io/latest/managed-resources/managed-resources/#initprovider,
    https://github.com/crossplane/upjet/blob/main/pkg/pipeline/templates/terraformed.go.tmpl (``GetMergedParameters``)
    """
    if own is None:
        return initial
    if isinstance(own, Mapping) and isinstance(initial, Mapping):
        return {**initial, **{key: _filled(part, initial.get(key)) for key, part in own.items()}}
    if isinstance(own, (list, tuple)) and isinstance(initial, (list, tuple)):
        return [*map(_filled, own, initial), *own[len(initial) :]]
    return own


def _manifest(declared: Declared) -> Iterable[Declared]:
    """An object of Kubernetes that an unbridged provider applies, as a structure or as YAML.

    https://registry.terraform.io/providers/gavinbunney/kubectl, https://registry.terraform.io/providers/hashicorp/kubernetes
    """
    body = coalesce(declared.properties.get("manifest"), declared.properties.get("yamlBody"))
    objects = [*parsed_all(body)] if isinstance(body, str) else [body]
    listed = [each for each in objects if isinstance(at(each, "apiVersion"), str) and isinstance(at(each, "kind"), str)]
    for each in listed:
        version = each["apiVersion"] if "/" in each["apiVersion"] else f"core/{each['apiVersion']}"
        yield respelled(declared, f"kubernetes:{version}:{each['kind']}", each)
    if not listed:
        yield declared


SPELLINGS: Final[Mapping[str, Spelling]] = {
    **dict(_judged()),
    **{_ACK.format(*name.split(":")): _of_the_api(name) for name in amazon.RESOURCES},
    **{row["type"]: _spelled(row["read_as"], row["fields"].split(".") if row["fields"] else ()) for row in _ROWS},
    "kubectl:index/*:*Manifest*": _manifest,
    "kubernetes:index/manifest:Manifest": _manifest,
}
