"""What the schemas say of a provider is what its source says."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from schemas import schema
from schemas.sources import amazon, google, provider
from schemas.sources.collecting import SourceError
from schemas.sources.golang import FunctionCall, Name, Sources
from schemas.sources.google import terraform
from schemas.sources.google.terraform import extracted
from schemas.sources.provider import Fact, mark, recorded

SOURCE = Sources(
    {
        "pools": """
const limit = "4" + "2"

var shared = map[string]*schema.Schema{
	"zone": {Type: schema.TypeString, Optional: true, Computed: true, ForceNew: true},
	// "lost": {Type: schema.TypeString, Optional: true, ForceNew: true},
	"link": {Type: schema.TypeString, Computed: true},
}

func schemaTags(forceNew bool) *schema.Schema {
	return &schema.Schema{
		Type:     schema.TypeSet,
		Optional: true,
		ForceNew: forceNew,
		Set:      func(v interface{}) int { return schema.HashString(v.(string)) },
		Elem:     &schema.Schema{Type: schema.TypeString},
	}
}

func ResourcePool() *schema.Resource {
	return &schema.Resource{
		Create: resourcePoolCreate,
		Update: resourcePoolUpdate,
		CustomizeDiff: customdiff.All(
			tpgresource.DefaultProviderDeletionPolicy("DELETE"),
			tpgresource.DefaultProviderZone,
			customdiff.ForceNewIfChange("policy.0.name", isOther),
			poolCustomizeDiff,
		),
		Timeouts: &schema.ResourceTimeout{Create: schema.DefaultTimeout(2 * time.Hour)},
		Schema: tpgresource.MergeSchemas(shared, map[string]*schema.Schema{
			"deletion_policy": {Type: schema.TypeString, Optional: true, Computed: true},
			"tags": schemaTags(false),
			"policy": {
				Type: schema.TypeList, Optional: true, MaxItems: 1, ForceNew: true,
				Elem: &schema.Resource{Schema: map[string]*schema.Schema{
					"size": {Type: schema.TypeInt, Optional: true, Default: 3, Description: `A "size" {`},
					"secure": {Type: schema.TypeBool, Optional: true, Default: false},
					"name": {Type: schema.TypeString, Required: true},
				}},
			},
		}),
	}
}

func poolCustomizeDiff(_ context.Context, d *schema.ResourceDiff, meta interface{}) error {
	if d.Get("policy.0.size").(int) > 3 {
		return d.ForceNew("policy.0.secure")
	}
	return nil
}

func resourcePoolCreate(d *schema.ResourceData, meta interface{}) error {
	pool := &pools.Pool{
		Size: int64(d.Get("size").(int)),
		Policy: expandPolicy(d.Get("policy")),
		ForceSendFields: []string{"Size"},
	}
	return send(pool)
}

func expandPolicy(v interface{}) *pools.Policy {
	policy := v.(map[string]interface{})
	answer := &pools.Policy{
		Enabled: true,
		Rules: &pools.Rules{Secure: policy["secure"].(bool), Strict: policy["strict"].(bool)},
		ForceSendFields: []string{"Enabled"},
	}
	if v, ok := policy["secure"]; ok {
		answer.Secure = v.(bool)
		answer.ForceSendFields = append(answer.ForceSendFields, "Secure")
	}
	if v, ok := d.GetOkExists("policy.0.open"); ok {
		answer.Open = v.(bool)
		answer.ForceSendFields = append(answer.ForceSendFields, "Open")
	}
	return answer
}

func expandUnused() *pools.Other {
	return &pools.Other{On: d.Get("on").(bool), ForceSendFields: []string{"On"}}
}

func resourcePoolUpdate(d *schema.ResourceData, meta interface{}) error {
	return poolUpdate(d)
}

func poolUpdate(d *schema.ResourceData) error {
	if d.HasChange(prefix + "policy.0.size") {
		return send(d.Get("policy"))
	}
	return nil
}
"""
    },
    terraform.CALLS,
)


def test_the_source_is_read_through_its_functions() -> None:
    assert list(extracted(SOURCE, {"pool": "pools.ResourcePool"}, {"pool": {"deletionPolicy"}})) == [
        Fact("pool", "zone", replaces="change"),
        Fact("pool", "deletion_policy", default="DELETE"),
        Fact("pool", "tags", unordered="yes", sends="creation"),
        Fact("pool", "policy", replaces="presence"),
        Fact("pool", "policy.size", default="3"),
        Fact("pool", "policy.secure", replaces="some"),
        Fact("pool", "policy.name", replaces="some"),
        Fact("pools:Policy", "secure", sends="zero"),
        Fact("pools:Pool", "size", sends="zero"),
    ]


def test_names_of_other_packages_and_calls_stay_what_they_are() -> None:
    assert SOURCE.value("limit", "pools") == "42"
    assert SOURCE.resolved(Name("schema.TypeSet"), "pools") == Name("schema.TypeSet")
    assert SOURCE.resolved(FunctionCall("time.Duration", [2]), "pools") == FunctionCall("time.Duration", [2])


def test_a_property_that_the_sdk_does_not_know_stops_the_generator() -> None:
    objects = {
        "Pool": {
            "properties": {"diskTypes": {"type": "list", "items": {"type": "string"}}, "size": {"type": "integer"}}
        }
    }
    mark(objects, "Pool", [Fact("pool", "disk_type", unordered="yes"), Fact("pool", "size", default="3")])
    assert objects["Pool"]["properties"]["diskTypes"]["unordered"] is True
    assert objects["Pool"]["properties"]["size"]["default"] == 3
    with pytest.raises(SourceError, match="the SDK has no disk_kind"):
        mark(objects, "Pool", [Fact("pool", "disk_kind", unordered="yes")])


@pytest.mark.parametrize(("source", "cloud"), [(google, "gke"), (amazon, "eks")])
def test_every_type_has_facts_of_its_provider(source: ModuleType, cloud: str) -> None:
    assert source.__file__
    sources, facts = recorded(Path(source.__file__).parent)
    assert {fact.resource for fact in facts if fact.sends != "zero"} == {*schema(cloud).resources}
    assert sources.items() <= schema(cloud).sources.items()


def test_the_sources_of_an_extract_are_its_comments(tmp_path: Path) -> None:
    (tmp_path / "provider.csv").write_text(
        f"# https://github.com/us/whole at {'0' * 40}\n"
        "resource,property,replaces,computed,default,unordered\n"
        "# https://github.com/us/part/blob/main/a/pool.go at a version of 2026\n"
        "pool,size,change,,,\n"
    )
    sources = {"whole": f"commit {'0' * 40}", "a/pool.go": "a version of 2026"}
    assert recorded(tmp_path) == (sources, [Fact("pool", "size", replaces="change")])


def test_what_a_program_may_leave_out_is_what_the_sdk_says(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = Fact("aws:eks/addon:Addon", "service_account_role_arn", computed="yes")
    monkeypatch.setattr(provider, "recorded", lambda _: ({}, [wrong]))
    with pytest.raises(SourceError, match="service_account_role_arn may have no value"):
        amazon.made([wrong.resource])


@pytest.mark.parametrize(
    ("token", "path", "replaces", "computed", "default", "unordered"),
    [
        ("aws:eks/cluster:Cluster", "vpcConfig.publicAccessCidrs", "", True, None, True),
        (
            "aws:eks/cluster:Cluster",
            "accessConfig.bootstrapClusterCreatorAdminPermissions",
            "change",
            False,
            None,
            False,
        ),
        ("aws:eks/addon:Addon", "configurationValues", "", True, None, False),
        # The newest inputs are in the SDK, not in the source that was read.
        ("aws:cloudwatch/logGroup:LogGroup", "deletionProtectionEnabled", "", True, None, False),
        ("aws:eks/podIdentityAssociation:PodIdentityAssociation", "disableSessionTags", "", False, False, False),
        ("gcp:container/nodePool:NodePool", "placementPolicy", "presence", False, None, False),
        ("gcp:container/nodePool:NodePool", "nodeConfig.guestAccelerators.count", "change", False, None, False),
        ("gcp:container/nodePool:NodePool", "nodeLocations", "", True, None, True),
        ("gcp:compute/network:Network", "autoCreateSubnetworks", "change", False, True, False),
        ("gcp:compute/routerNat:RouterNat", "udpIdleTimeoutSec", "", False, 30, False),
        ("gcp:storage/bucket:Bucket", "deletionPolicy", "", False, "DELETE", False),
    ],
)
def test_the_schema_has_it(
    token: str, path: str, replaces: str, computed: bool, default: object, unordered: bool
) -> None:
    found = schema({"gcp": "gke", "aws": "eks"}[token.partition(":")[0]]).find(token, path)
    assert found is not None
    assert (found.replaces, found.computed, found.default, found.unordered) == (replaces, computed, default, unordered)


@pytest.mark.parametrize(
    ("token", "path", "sends"),
    [
        ("gcp:container/nodePool:NodePool", "networkConfig.enablePrivateNodes", "zero"),
        ("gcp:container/nodePool:NodePool", "networkConfig.podRange", ""),
        ("gcp:container/nodePool:NodePool", "maintenancePolicies", "creation"),
        ("gcp:container/nodePool:NodePool", "placementPolicy.tpuTopology", "creation"),
        ("gcp:container/nodePool:NodePool", "placementPolicy.policyName", ""),
        ("gcp:container/nodePool:NodePool", "nodeConfig.labels", ""),
        ("gcp:container/cluster:Cluster", "nodePools.placementPolicy.tpuTopology", "creation"),
        ("gcp:container/cluster:Cluster", "nodePools.nodeConfig.labels", ""),
        ("gcp:container/cluster:Cluster", "rbacBindingConfig.enableInsecureBindingSystemAuthenticated", "zero"),
        ("gcp:container/cluster:Cluster", "controlPlaneEndpointsConfig.dnsEndpointConfig.enableK8sCertsViaDns", "zero"),
        # An input that must be declared is never left out.
        ("gcp:container/cluster:Cluster", "costManagementConfig.enabled", ""),
        # Its own code skips one that is left out.
        ("gcp:container/cluster:Cluster", "masterAuthorizedNetworksConfig.gcpPublicCidrsAccessEnabled", ""),
        ("gcp:container/cluster:Cluster", "resourceLabels", ""),
        # The provider's own, which it never sends.
        ("gcp:container/cluster:Cluster", "deletionProtection", ""),
    ],
)
def test_the_schema_has_what_is_sent_unasked_or_only_once(token: str, path: str, sends: str) -> None:
    found = schema("gke").find(token, path)
    assert found is not None
    assert found.sends == sends
