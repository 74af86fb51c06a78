"""What functions of the clouds' templates come to: literals, parameters and maps are evaluated, all else is unknown."""

from __future__ import annotations

import json
from typing import Any

import pytest

from facts.concepts.declared import NodeGroup, NotEvaluated
from facts.concepts.unknown import UNKNOWN
from policies.readers import read
from policies.readers.aks.template_expressions import evaluated
from policies.readers.resource import Declared

KNOWN = {"env": "prod", "warm": True, "pools": [{"min": 2}, {"min": 0}], "text": "it's"}


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("if(equals(parameters('env'), 'prod'), 1, 0)", 1),
        ("IF(not(equals(variables('env'), 'prod')), 1, 0)", 0),
        ("if(and(parameters('warm'), or(false(), true())), max(2, 3), 0)", 3),
        ("parameters('pools')[1].min", 0),
        ("variables('pools')[add(0, 1)].min", 0),
        ("if(empty(parameters('pools')), 0, length(parameters('pools')))", 2),
        ("int(format('{0}{1}', 1, '2'))", 12),
        ("concat('ml/', toLower('GPU'))", "ml/gpu"),
        ("concat(createArray('a'), createArray('b'))", ["a", "b"]),
        ("if(equals(parameters('text'), 'it''s'), 1, 0)", 1),
        ("sub(5, mul(2, 2))", 1),
        ("coalesce(json('true'), 1)", True),
        # Azure compares values of one type only.
        ("equals(1, '1')", UNKNOWN),
        ("if(equals(resourceGroup().location, 'westeurope'), 1, 0)", UNKNOWN),
        ("reference('x').min", UNKNOWN),
        ("parameters('missing')", UNKNOWN),
        ("parameters('pools')[7].min", UNKNOWN),
        ("copyIndex()", UNKNOWN),
        ("int('two')", UNKNOWN),
        ("div(1, 0)", UNKNOWN),
        ("format('{0.__class__}', 1)", UNKNOWN),
        ("1 2", UNKNOWN),
        ("if(true(), 1", UNKNOWN),
        ("if(true() 1, 0)", UNKNOWN),
        ("§", UNKNOWN),
        ("", UNKNOWN),
    ],
)
def test_azure(expression: str, expected: Any) -> None:
    assert evaluated(expression, lambda _, name: KNOWN.get(name, UNKNOWN)) == expected


def agent_pool(minimum: Any, parameters: Any, given: Any, **template: Any) -> Declared:
    properties = {"vmSize": "Standard_NC4as_T4_v3", "minCount": minimum, "maxCount": 4, "enableAutoScaling": True}
    pool = {"type": "Microsoft.ContainerService/managedClusters/agentPools", "name": "ml/gpu", "properties": properties}
    body = {"parameters": parameters, "resources": [pool], **template}
    return Declared(
        "azure-native:resources:Deployment", "x", "urn:x", {"properties": {"template": body, "parameters": given}}
    )


def nested(scope: str) -> Declared:
    """A template whose own parameter has another value than the outer one's of its name."""
    inner = agent_pool("[parameters('min')]", {"min": {"defaultValue": 0}}, {}).properties["properties"]["template"]
    options = {"template": inner, "expressionEvaluationOptions": {"scope": scope}}
    deployment = {"type": "Microsoft.Resources/deployments", "name": "inner", "properties": options}
    outer = {"parameters": {"min": {"defaultValue": 2}}, "resources": [deployment]}
    return Declared("azure-native:resources:Deployment", "x", "urn:x", {"properties": {"template": outer}})


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        (agent_pool("[parameters('min')]", {"min": {"defaultValue": 2}}, None), 2),
        (agent_pool("[parameters('min')]", {"min": {"defaultValue": 0}}, {"min": {"value": 2}}), 2),
        (agent_pool("[parameters('min')]", {"min": {"defaultValue": "[int('2')]"}}, {}), 2),
        (agent_pool("[variables('min')]", {}, {}, variables={"min": "[if(true(), 2, 0)]"}), 2),
        # Its value is in a key vault, its default is not its value.
        (agent_pool("[parameters('min')]", {"min": {"defaultValue": 0}}, {"min": {"reference": {}}}), UNKNOWN),
        (nested("outer"), 2),
        (nested("inner"), 0),
    ],
)
def test_azures_parameters(declared: Declared, expected: Any) -> None:
    groups = [item for item in read(declared) if isinstance(item, NodeGroup)]
    assert [group.scaling.min_nodes for group in groups] == [expected]


def test_azures_loop_over_a_property_makes_a_list() -> None:
    pool = {"name": "gpu", "vmSize": "Standard_NC4as_T4_v3", "count": 1, "mode": "User"}
    loop = {"name": "agentPoolProfiles", "count": 2, "input": pool}
    cluster = {"type": "Microsoft.ContainerService/managedClusters", "name": "ml", "properties": {"copy": [loop]}}
    inputs = {"properties": {"template": {"resources": [cluster]}}}
    items = read(Declared("azure-native:resources:Deployment", "x", "urn:x", inputs))
    assert len([item for item in items if isinstance(item, NodeGroup)]) == 2


def test_azures_loop_over_resources_that_are_not_read_is_named_once() -> None:
    pool = {"copy": {"name": "pools", "count": 5}, "type": "[reference('x').type]", "name": "a", "properties": {}}
    inputs = {"properties": {"template": {"resources": [pool]}}}
    items = read(Declared("azure-native:resources:Deployment", "x", "urn:x", inputs))
    assert [type(item) for item in items] == [NotEvaluated]


MAP = {"Sizes": {"eu-west-1": {"min": 2}, "prod": {"min": 1, "list": "0,1"}}}


@pytest.mark.parametrize(
    ("minimum", "expected"),
    [
        ({"Fn::FindInMap": ["Sizes", {"Ref": "Env"}, "min"]}, 1),
        ({"Fn::FindInMap": ["Sizes", {"Ref": "AWS::Region"}, "min"]}, 2),
        ({"Fn::FindInMap": ["Sizes", "missing", "min", {"DefaultValue": 3}]}, 3),
        ({"Fn::FindInMap": ["Sizes", "missing", "min"]}, UNKNOWN),
        ({"Fn::FindInMap": ["Sizes", {"Ref": "AWS::AccountId"}, "min"]}, UNKNOWN),
        ({"Fn::Select": [1, {"Fn::Split": [",", {"Fn::FindInMap": ["Sizes", "prod", "list"]}]}]}, 1),
        ({"Fn::Select": ["1", ["0", "2"]]}, 2),
        ({"Fn::Select": [7, ["0", "2"]]}, UNKNOWN),
        ({"Fn::Join": ["", ["1", 2]]}, 12),
        ({"Fn::Join": ["", ["1", {"Ref": "AWS::AccountId"}]]}, UNKNOWN),
        ({"Fn::Sub": "${Count}"}, 2),
        ({"Fn::Sub": ["${own}${Count}", {"own": {"Ref": "Count"}}]}, 22),
        ({"Fn::Sub": "${!Count}"}, UNKNOWN),
        ({"Fn::Sub": "${AWS::StackName}"}, UNKNOWN),
        ({"Fn::ImportValue": "min"}, UNKNOWN),
    ],
)
@pytest.mark.parametrize(
    ("token", "given"),
    [
        ("aws:cloudformation/stack:Stack", {"Count": "2"}),
        ("aws-native:cloudformation:Stack", {"Count": 2}),
        ("aws-native:cloudformation:StackSet", [{"parameterKey": "Count", "parameterValue": "2"}]),
    ],
)
def test_amazon(token: str, given: Any, minimum: Any, expected: Any) -> None:
    scaling = {"MinSize": minimum, "MaxSize": 3}
    group = {"Type": "AWS::EKS::Nodegroup", "Properties": {"InstanceTypes": ["g5.xlarge"], "ScalingConfig": scaling}}
    parameters = {"Env": {"Type": "String", "Default": "prod"}, "Count": {"Type": "Number", "Default": 0}}
    template = {"Parameters": parameters, "Mappings": MAP, "Resources": {"Gpu": group}}
    inputs = {"region": "eu-west-1", "templateBody": json.dumps(template), "parameters": given}
    groups = [item for item in read(Declared(token, "x", "urn:x", inputs)) if isinstance(item, NodeGroup)]
    assert [group.scaling.min_nodes for group in groups] == [expected]


SETS = [{"name": "sizes", "patches": [{"fromFieldPath": "spec.min", "toFieldPath": "spec.replicas"}]}]


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        ({"type": "FromCompositeFieldPath", "fromFieldPath": "spec.min", "toFieldPath": "spec.replicas"}, UNKNOWN),
        ({"fromFieldPath": "spec.replicas"}, UNKNOWN),
        ({"type": "PatchSet", "patchSetName": "sizes"}, UNKNOWN),
        ({"type": "CombineFromComposite", "toFieldPath": "spec[replicas]"}, UNKNOWN),
        ({"toFieldPath": "spec.template.metadata.labels[example.com/pool]"}, 0),
        ({"toFieldPath": "spec.limits[0].cpu"}, 0),
        ({"toFieldPath": "spec.limits[*]"}, 0),
        ({"type": "ToCompositeFieldPath", "fromFieldPath": "status.x", "toFieldPath": "spec.replicas"}, 0),
    ],
)
@pytest.mark.parametrize("pipeline", [False, True])
def test_a_field_that_a_composition_patches_is_unknown(pipeline: bool, patch: Any, expected: Any) -> None:
    reference = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "d"}
    spec = {"replicas": 0, "template": {"spec": {"nodeClassRef": reference, "requirements": []}}}
    base = {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "gpu"}, "spec": spec}
    own = {"patchSets": SETS, "resources": [{"name": "pool", "base": base, "patches": [patch]}]}
    inputs = {"spec": {"pipeline": [{"input": own}]} if pipeline else own}
    items = read(Declared("kubernetes:apiextensions.crossplane.io/v1:Composition", "x", "urn:x", inputs))
    assert [item.scaling.min_nodes for item in items if isinstance(item, NodeGroup)] == [expected]
