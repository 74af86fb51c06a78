"""The clouds' resources as other tools spell them: unbridged Terraform, Crossplane, Config Connector, ACK and ASO.

``tools.csv`` has one row for each type token: the type as which it is read, and where its fields are. Google's machines
and clusters need no row: all tools call them alike. Fields are Terraform's
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
from typing import Any, Final

from facts.concepts.unknown import UNKNOWN, at, coalesce, items, mapping
from policies.readers.eks.subnets import SUBNETS
from policies.readers.gke import clusters, machines
from policies.readers.gke.machines import GROUPS, OBJECT
from policies.readers.resource import Declared
from policies.readers.spelling import Spelling, of_terraform, parsed_all, respelled, tags_of_pairs
from policies.readers.tables import rows

_ROWS: Final = rows("dialects", "tools")
# Terraform's blocks that may occur several times → the bridged providers' plurals.
_LISTS: Final = {
    "blockDeviceMapping": "blockDeviceMappings",
    "guestAccelerator": "guestAccelerators",
    "launchTemplateConfig": "launchTemplateConfigs",
    "networkInterface": "networkInterfaces",
    "nodePool": "nodePools",
    "override": "overrides",
    "profile": "profiles",
    "resourceLimit": "resourceLimits",
    "scalingInstruction": "scalingInstructions",
    "selector": "selectors",
    "tag": "tags",
    "tagSpecification": "tagSpecifications",
    "taint": "taints",
}
# Controllers whose kinds have Terraform's singulars, and drop the plurals that bridged providers have:
# https://cloud.google.com/config-connector/docs/reference/resource-docs/container/containernodepool,
# https://marketplace.upbound.io/providers/upbound/provider-aws-eks
_TERRAFORMS: Final = re.compile(r"^kubernetes:[^/]*(?:cnrm\.cloud\.google\.com|upbound\.io)/")
_PLURALS: Final = ("guestAccelerators", "networkInterfaces", "taints")
# The readers' name of the cluster that a pool is in → where controllers refer to its object.
_REFERENCES: Final = {
    "cluster": (("clusterRef", "name"), ("clusterSelector", "name"), ("clusterRef", "external")),
    "clusterName": (("clusterNameRef", "name"), ("clusterRef", "from", "name")),
    "kubernetesClusterId": (("kubernetesClusterIdRef", "name"),),
    "resourceName": (("owner", "name"),),
}
# The same of lists of objects → where each of a list of references has the object's name.
_LISTED: Final = {
    "subnetIds": (("subnetIdRefs", ("name",)), ("subnetRefs", ("from", "name")), ("subnetRefs", ("name",))),
    "vpcZoneIdentifier": (("vpcZoneIdentifierRefs", ("name",)),),
}
# The same lists → where Crossplane has the labels of objects that it puts into them:
# https://docs.crossplane.io/latest/managed-resources/managed-resources/#matching-by-label
_SELECTED: Final = {
    "subnetIds": ("subnetIdSelector", "subnetSelector"),
    "vpcZoneIdentifier": ("vpcZoneIdentifierSelector",),
}
# azurerm called it so before version 4.
_ACKS_REGION: Final = "services.k8s.aws/region"
"""https://aws-controllers-k8s.github.io/docs/guides/multi-region"""
_OLD: Final = {"enableAutoScaling": "autoScalingEnabled", "enableNodePublicIp": "nodePublicIpEnabled"}
# The readers' type → their names of fields that are called otherwise in all its spellings.
_NAMES: Final[Mapping[str, Mapping[str, str]]] = {
    "aws:autoscaling/group:Group": {"vpcZoneIdentifier": "vpcZoneIdentifiers"},
    "aws:ec2/subnet:Subnet": {"mapPublicIPOnLaunch": "mapPublicIpOnLaunch"},
    "aws:eks/cluster:Cluster": {"resourcesVPCConfig": "vpcConfig"},
    "aws:eks/nodeGroup:NodeGroup": {"name": "nodeGroupName", "subnets": "subnetIds"},
    **{group: {"version": "versions"} for group in GROUPS},
}
# The readers' type → their name of the field that an object in Kubernetes has as ``azureName`` or as its own name.
_OWN_NAME: Final[Mapping[str, str]] = {
    "aws:ec2/subnet:Subnet": "id",
    "azure-native:compute:VirtualMachine": "vmName",
    "azure-native:compute:VirtualMachineScaleSet": "vmScaleSetName",
    "azure-native:containerservice:AgentPool": "agentPoolName",
    "azure-native:containerservice:ManagedCluster": "resourceName",
}
_OF_GOOGLE: Final = re.compile(r"gcp:(compute|container|tpu)/\w+:(\w+)")
# https://docs.crossplane.io/latest/managed-resources/managed-resources/#naming-external-resources
_EXTERNAL_NAME: Final = "crossplane.io/external-name"
# Controllers whose objects have a namespace; Crossplane's older kinds have none.
_NAMESPACED: Final = re.compile(r"cnrm\.cloud\.google\.com|\.m\.upbound\.io")


def _spelled(type_token: str, path: Sequence[str]) -> Spelling:
    names = _OLD if type_token.startswith("azure:") else _NAMES.get(type_token, {})

    def spelled(declared: Declared) -> Iterable[Declared]:
        foreign = _PLURALS if _TERRAFORMS.search(declared.type) else ()
        own = at(declared.properties, *path)
        if "forProvider" in path and "upbound.io/" in declared.type:
            own = _filled(own, at(declared.properties, *path[:-1], "initProvider"))
        fields = of_terraform(own, _LISTS, foreign)
        if isinstance(fields, Mapping):
            values = {
                field: coalesce(fields.get(field), *(at(fields, *place) for place in places))
                for field, places in _REFERENCES.items()
            }
            values |= {field: objects for field in _LISTED if (objects := [*_objects(fields, field)])}
            name = coalesce(fields.get("azureName"), at(declared.properties, "metadata", "name"))
            values |= {_OWN_NAME[type_token]: name} if path and type_token in _OWN_NAME else {}
            if path and type_token.startswith("gcp:compute/"):
                values |= _of_object(declared, fields)
            if path and type_token in SUBNETS:
                values |= {"matchLabels": at(declared.properties, "metadata", "labels")}
            if type_token in SUBNETS:
                values |= {"tags": tags_of_pairs(fields.get("tags"))}
            region = coalesce(fields.get("region"), at(declared.properties, "metadata", "annotations", _ACKS_REGION))
            known = {name: value for name, value in (*values.items(), ("region", region)) if value is not None}
            yield respelled(declared, type_token, {**fields, **known}, names)

    return spelled


def _of_object(declared: Declared, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The cloud's name of what a controller makes of an object, and what others find the object by.

    https://docs.cloud.google.com/config-connector/docs/how-to/managing-resources-with-resource-ids
    """
    metadata = mapping(declared.properties.get("metadata"))
    known = {} if metadata is UNKNOWN else metadata
    space = declared.place_in_cluster if _NAMESPACED.search(declared.type) else None
    name = coalesce(fields.get("resourceID"), at(known, "annotations", _EXTERNAL_NAME), known.get("name"))
    return {"name": name, OBJECT: {**known, "namespace": space if isinstance(space, str) else UNKNOWN}}


def _googles() -> Iterator[tuple[str, Spelling]]:
    """Google's machines and clusters: Terraform, Config Connector and Crossplane have one kind for each."""
    for token in (*clusters.READERS, *machines.READERS, *machines.PARTS):
        if (match := _OF_GOOGLE.fullmatch(token)) is not None:
            service, kind = match.groups()
            named = f"{service.title()}{kind}"
            yield f"google*:index/{service}{kind}:{named}", _spelled(token, ())
            yield f"kubernetes:{service}.cnrm.cloud.google.com/*:{named}", _spelled(token, ("spec",))
            yield f"kubernetes:{service}.gcp.*upbound.io/*:{kind}", _spelled(token, ("spec", "forProvider"))


def _objects(fields: Mapping[str, Any], field: str) -> Iterator[Any]:
    """The names of objects that a list of references has, and labels (``{"matchLabels": …}``) that select some."""
    for key, path in _LISTED[field]:
        yield from (name for each in items(fields.get(key)) if (name := at(each, *path)) is not None)
    for key in _SELECTED[field]:
        if (labels := at(fields.get(key), "matchLabels")) is not None:
            yield {"matchLabels": labels}


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


def _ack_template(declared: Declared) -> Iterable[Declared]:
    spec = declared.properties.get("spec")
    data = coalesce(at(spec, "launchTemplateData"), at(spec, "data"))
    if isinstance(data, Mapping):
        name = coalesce(at(spec, "launchTemplateName"), at(spec, "name"))
        yield respelled(declared, "aws:ec2/launchTemplate:LaunchTemplate", {**data, "name": name})


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
    **{row["type"]: _spelled(row["read_as"], row["fields"].split(".") if row["fields"] else ()) for row in _ROWS},
    **dict(_googles()),
    "kubernetes:ec2.services.k8s.aws/*:LaunchTemplate": _ack_template,
    "kubectl:index/*:*Manifest*": _manifest,
    "kubernetes:index/manifest:Manifest": _manifest,
}
