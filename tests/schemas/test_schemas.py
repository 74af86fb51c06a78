"""The generated schemas hold what the simulated providers refer to; their generator leaves nothing out in silence."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import botocore.session
import pytest

from facts.catalog.plugins import plugin_version
from rehearsal.providers.aks import AzureNativeProvider
from rehearsal.providers.eks import AwsProvider
from rehearsal.providers.eks.row import Row
from rehearsal.providers.gke import GcpProvider
from rehearsal.providers.resource import SimulatedResource
from schemas import FOLDER, generate, schema
from schemas.sources import amazon, azure, google
from schemas.sources.amazon import REQUESTS
from schemas.sources.collecting import SourceError
from schemas.used import USED
from tests.stacks import ROOT

ROWS: list[tuple[str, SimulatedResource[Any]]] = [
    (provider.cloud_name, row)
    for provider in (GcpProvider, AwsProvider, AzureNativeProvider)
    for row in provider.rows.values()
]
TYPES = [row.token for _, row in ROWS]
# Given by the provider's configuration, or made up.
CONFIGURED = {"project", "region", "zone", "location"}
every_row = pytest.mark.parametrize(("cloud", "row"), ROWS, ids=TYPES)


def test_every_type_in_use_has_a_row_and_every_row_a_schema() -> None:
    assert sorted(TYPES) == sorted(token for tokens in USED.values() for token in tokens)
    assert {cloud: set(schema(cloud).resources) for cloud in USED} == {cloud: set(each) for cloud, each in USED.items()}


@every_row
def test_the_inputs_that_a_row_names_exist(cloud: str, row: SimulatedResource[Any]) -> None:
    """A misspelt path would quietly turn a replacement or a refusal into an update."""
    paths = (*row.replaces, *row.immutable, *row.unordered, *row.links, *row.required, *row.defaults, *row.replaces_if)
    more = row.one_of if isinstance(row, Row) else ()
    for path in (*paths, *more, *row.references, *([row.name] if row.name else [])):
        assert schema(cloud).find(row.token, path.removesuffix("[]")), path


@every_row
def test_the_outputs_of_a_row_exist(cloud: str, row: SimulatedResource[Any]) -> None:
    known = set(schema(cloud).resources[row.token].outputs)
    assert set(row.outputs) <= known
    assert {path.partition(".")[0] for path in row.unknown} <= set(row.outputs)
    assert set(row.early) <= set(row.outputs)


@every_row
def test_an_id_is_made_of_inputs_that_must_be_there(cloud: str, row: SimulatedResource[Any]) -> None:
    properties = schema(cloud).inputs(row.token).properties
    for name in row.address:
        if name != "subscription":
            assert properties[name].required or name in CONFIGURED | {row.name} | set(row.required), name


@every_row
def test_what_refers_refers_to_a_row(cloud: str, row: SimulatedResource[Any]) -> None:
    assert {reference.token for reference in row.references.values()} <= set(TYPES)


@pytest.mark.parametrize("token", sorted(REQUESTS))
def test_the_names_of_aws_are_in_its_models(token: str) -> None:
    """A misspelt structure would quietly leave its inputs under the names that they have by default."""
    request = REQUESTS[token]
    model = botocore.session.get_session().get_service_model(request["request"].split()[0])
    for structure, names in request.get("names", {}).items():
        members = model.shape_for(structure).members
        sent = {name for name in names.values() if isinstance(name, str)}
        assert sent <= set(members), structure


@pytest.mark.parametrize(
    ("cloud", "token", "path", "fact"),
    [
        (
            "gke",
            "gcp:container/nodePool:NodePool",
            "nodeConfig.guestAccelerators.count",
            {"format": "int64", "required": True},
        ),
        ("gke", "gcp:container/nodePool:NodePool", "nodeConfig.taints.effect", {"type": "string"}),
        ("gke", "gcp:container/nodePool:NodePool", "maxPodsPerNode", {"type": "integer"}),
        ("gke", "gcp:container/nodePool:NodePool", "deletionPolicy", {"enum": ["DELETE", "PREVENT", "ABANDON"]}),
        ("gke", "gcp:compute/network:Network", "name", {"type": "string"}),
        (
            "gke",
            "gcp:container/cluster:Cluster",
            "maintenancePolicy.maintenanceExclusions.startTime",
            {"format": "google-datetime"},
        ),
        ("gke", "gcp:container/cluster:Cluster", "addonsConfig.rayOperatorConfigs", {"longest": 1}),
        (
            "gke",
            "gcp:container/cluster:Cluster",
            "nodePoolDefaults.nodeConfigDefaults.insecureKubeletReadonlyPortEnabled",
            {"enum": ["TRUE", "FALSE"]},
        ),
        ("gke", "gcp:projects/iAMMember:IAMMember", "member", {"type": "string", "required": True}),
        ("aks", "azure-native:containerservice:AgentPool", "agentPoolName", {"pattern": "[a-z][a-z0-9]{0,11}"}),
        ("aks", "azure-native:containerservice:AgentPool", "mode", {"enum": ["System", "User", "Gateway"]}),
        ("aks", "azure-native:containerservice:AgentPool", "osDiskSizeGB", {"minimum": 0, "maximum": 2048}),
        ("aks", "azure-native:containerservice:ManagedCluster", "identity.userAssignedIdentities", {"type": "list"}),
        ("aks", "azure-native:containerservice:ManagedCluster", "location", {"required": True}),
        ("aks", "azure-native:compute:DiskEncryptionSet", "activeKey.keyUrl", {"required": True}),
        ("aks", "azure-native:network:VirtualNetwork", "subnets.addressPrefix", {"type": "string"}),
        ("eks", "aws:eks/nodeGroup:NodeGroup", "subnetIds", {"type": "list", "required": True, "sent": "subnets"}),
        ("eks", "aws:eks/nodeGroup:NodeGroup", "taints.effect", {"required": True, "sent": "effect"}),
        ("eks", "aws:eks/nodeGroup:NodeGroup", "scalingConfig.maxSize", {"type": "integer", "minimum": 1}),
        (
            "eks",
            "aws:eks/cluster:Cluster",
            "name",
            {"shortest": 1, "longest": 100, "pattern": "^[0-9A-Za-z][A-Za-z0-9\\-_]*"},
        ),
        ("eks", "aws:eks/cluster:Cluster", "encryptionConfig", {"format": "list"}),
        ("eks", "aws:ec2/vpc:Vpc", "enableDnsSupport", {"sent": ""}),
        (
            "eks",
            "aws:ec2/vpc:Vpc",
            "assignGeneratedIpv6CidrBlock",
            {"refused": "is not an input that the rehearsal simulates"},
        ),
        ("eks", "aws:ec2/launchTemplate:LaunchTemplate", "blockDeviceMappings.ebs.encrypted", {"format": "boolean"}),
        ("eks", "aws:ec2/launchTemplate:LaunchTemplate", "tagSpecifications.tags", {"format": "pairs"}),
        ("eks", "aws:ec2/routeTable:RouteTable", "routes.cidrBlock", {"sent": "DestinationCidrBlock"}),
    ],
)
def test_facts_of_the_sdk_and_of_the_vendor_are_one(cloud: str, token: str, path: str, fact: dict[str, Any]) -> None:
    property = schema(cloud).find(token, path)
    assert property is not None
    known = {key: getattr(property, key) for key in fact}
    assert {key: list(value) if isinstance(value, tuple) else value for key, value in known.items()} == fact


def test_names_that_the_vendor_knows_and_the_provider_does_not() -> None:
    pool = schema("aks").inputs("azure-native:containerservice:AgentPool")
    assert "artifactStreamingProfile" in pool.lacking
    assert "provisioningState" in pool.server
    assert schema("aks").resources["azure-native:containerservice:AgentPool"].api == "2025-09-01"
    google = schema("gke").inputs("gcp:container/nodePool:NodePool")
    assert {"status", "podIpv4CidrSize"} <= set(google.server)
    # Called otherwise or put elsewhere by the provider is not lacking (config, maxPodsConstraint).
    assert google.lacking == ("autopilotConfig", "conditions", "etag")


def test_the_plugins_have_the_versions_that_requirements_txt_pins() -> None:
    pins = dict(re.findall(r"^pulumi-([a-z-]+)==(\S+)", (ROOT / "requirements.txt").read_text(), re.MULTILINE))
    del pins["policy"]
    assert sorted(pins) == ["aws", "azure-native", "gcp", "kubernetes"]
    assert {name: plugin_version(name) for name in pins} == pins


def test_a_plugin_that_no_resource_uses_has_no_version() -> None:
    with pytest.raises(KeyError, match="random"):
        plugin_version("random")


SERVICE = "gcp:projects/service:Service"
GROUP = "azure-native:resources:ResourceGroup"

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:pulumi_gcp")


def test_a_stale_file_is_named_and_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(generate, "FOLDER", tmp_path)
    monkeypatch.setattr(generate, "USED", {"gke": (SERVICE,)})
    assert generate.main(["--check", "gke"]) == 1
    assert "gke.json" in capsys.readouterr().err
    assert generate.main(["gke"]) == 0
    assert generate.main(["--check", "gke"]) == 0
    made = json.loads((tmp_path / "gke.json").read_text())
    stored = json.loads((FOLDER / "gke.json").read_text())
    assert made["resources"][SERVICE]["outputs"] == stored["resources"][SERVICE]["outputs"]
    assert made["objects"]["EnableServiceRequest"] == stored["objects"]["EnableServiceRequest"]


TOPIC = "gcp:pubsub/topic:Topic"
QUEUE = "aws:sqs/queue:Queue"
GATEWAY = "azure-native:network:NatGateway"
GOOGLE = "schemas/sources/google/names.yaml"
AMAZON = "schemas/sources/amazon/names.yaml"
AZURE = "schemas/sources/azure/models.yaml"


def topic(request: str = "pubsub.v1 Topic", **table: Any) -> dict[str, Any]:
    """The row of a Google topic, whose third input has no type in the API."""
    return {"request": request, "table": {"Topic": {"project": {}, "deletionPolicy": {}, "tags": {}, **table}}}


def queue(request: str = "sqs CreateQueue", **names: Any) -> dict[str, Any]:
    return {"request": request, "names": {"CreateQueueRequest": names}}


@pytest.mark.parametrize(
    ("source", "token", "row", "about", "reason", "file"),
    [
        (google, TOPIC, {"request": "pubsub.v1 Topic", "table": {"Topic": {"project": {}}}},
         "Topic.deletionPolicy", "the API's Topic has no deletionPolicy", GOOGLE),
        (google, TOPIC, topic(), "UnstructuredInference.parameters", "string in pulumi-gcp, and any in", GOOGLE),
        (google, TOPIC, topic(messageTransforms="nowhere"), "Topic.messageTransforms", "has no nowhere", GOOGLE),
        (google, TOPIC, topic("pubsub.v1 Topik"), "", "there is no 'Topik'", GOOGLE),
        (google, TOPIC, topic("pubsub.v9 Topic"), "", "pubsub.v9.json", GOOGLE),
        (amazon, QUEUE, queue(delaySeconds={"like": "Nowhere"}),
         "CreateQueueRequest.delaySeconds", "there is no 'Nowhere'", AMAZON),
        (amazon, QUEUE, queue(name={"each": "Tag"}), "CreateQueueRequest.name", "none in pulumi-aws", AMAZON),
        (amazon, QUEUE, queue("sqs MakeQueue"), "", "MakeQueue", AMAZON),
        (amazon, QUEUE, queue("sqsx CreateQueue"), "", "sqsx", AMAZON),
        (azure, GATEWAY, ["network", "NatGatewey"], "", "no attribute 'NatGatewey'", AZURE),
    ],
)  # fmt: skip
def test_what_nobody_accounts_for_is_named_with_its_type_and_the_file_that_has_to_say_it(
    source: ModuleType, token: str, row: Any, about: str, reason: str, file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if source is azure:
        monkeypatch.setattr(azure, "_MODELS", {"models": {token: row}, "required": {}})
    else:
        monkeypatch.setattr(source, "REQUESTS", {token: row})
    with pytest.raises(SourceError) as raised:
        source.made([token])
    message = str(raised.value)
    assert message.startswith(f"{token}: {about}: " if about else f"{token}: ")
    assert reason in message
    assert file in message
    if about:
        key = "table" if source is google else "names"
        structure, _, name = about.partition(".")
        assert message.endswith(
            f"under {token} what becomes of it, for example {{{key}: {{{structure}: {{{name}: {{}}}}}}}}"
        )


@pytest.mark.parametrize(("source", "token"), [(google, "gcp:a/b:B"), (amazon, "aws:a/b:B")])
def test_a_type_whose_request_nobody_names_is_named_with_the_place_to_say_it(source: ModuleType, token: str) -> None:
    with pytest.raises(SourceError, match=f"{token}: say in {source.NAMES} which request makes it"):
        source.made([token])


@pytest.mark.parametrize("token", ["gcp:pubsub/topic:Topc", "gcp:pubsubb/topic:Topic", "gcp:pubsub"])
def test_a_type_that_the_sdk_does_not_have_is_one_line(
    token: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(generate, "USED", {"gke": (token,)})
    assert generate.main(["--check", "gke"]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"schemas: {token}: ")
    assert "schemas/sources/google/names.yaml" in error
    assert error.count("\n") == 1


def test_a_limit_of_nothing_stops_the_generator(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = azure.LIMITS
    monkeypatch.setattr(azure, "LIMITS", {"ResourceGroup": {"resourceGroupNam": "x"}})
    with pytest.raises(ValueError, match="resourceGroupNam"):
        azure.made([GROUP])
    monkeypatch.setattr(azure, "LIMITS", {"ResourceGrup": limits["Subnet"]})
    with pytest.raises(ValueError, match="ResourceGrup"):
        azure.made([GROUP])
