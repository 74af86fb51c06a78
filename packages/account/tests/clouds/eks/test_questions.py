"""What an account of AWS is asked, against moto and botocore's models: all problems at once, and nothing is changed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
import yaml
from botocore.exceptions import EndpointConnectionError

from account.asking import AccountError, answers
from account.clouds.eks import rights
from account.clouds.eks.questions import AwsAccount
from account.command import ask
from account.rows import ShownRow
from components.settings import Settings, from_stack_file
from components.settings.quotas import quotas
from packages.account.tests.clouds.eks.aws import REGION, Answer, FakeAws, aws, refusal
from rehearsal.providers import account_limits
from tests.stacks import ROOT, stack_file

ROLE = "arn:aws:iam::123456789012:role/deployers/ci"
SESSION = {"Account": "123456789012", "Arn": "arn:aws:sts::123456789012:assumed-role/ci/me", "UserId": "A:me"}
KARPENTER = ROOT / "examples" / "eks-karpenter.yaml"


def limit(value: float) -> Answer:
    return {"Quota": {"Value": value}}


def simulated(*missing: str) -> Callable[[Mapping[str, Any]], Mapping[str, Any]]:
    def answer(parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        decisions = {name: "implicitDeny" if name in missing else "allowed" for name in parameters["ActionNames"]}
        results = [{"EvalActionName": name, "EvalDecision": decision} for name, decision in decisions.items()]
        return {"EvaluationResults": results, "IsTruncated": False}

    return answer


def offered(parameters: Mapping[str, Any]) -> Mapping[str, Any]:
    """All that is asked for, in two zones."""
    (types,) = (each["Values"] for each in parameters["Filters"])
    return {
        "InstanceTypeOfferings": [
            {"InstanceType": type, "LocationType": "availability-zone", "Location": f"{REGION}{zone}"}
            for type in types
            for zone in "ab"
        ]
    }


ROOMY: Mapping[str, Answer] = {
    "sts.GetCallerIdentity": SESSION,
    "iam.GetRole": {
        "Role": {
            "Path": "/deployers/",
            "RoleName": "ci",
            "RoleId": "AROA00000000000000",
            "Arn": ROLE,
            "CreateDate": datetime(2026, 1, 1, tzinfo=timezone.utc),
        }
    },
    "iam.SimulatePrincipalPolicy": simulated(),
    "service-quotas.GetServiceQuota": limit(1_000_000),
    "ec2.DescribeInstanceTypeOfferings": offered,
}


def settings_with(**changes: Any) -> Settings:
    config = yaml.safe_load(KARPENTER.read_text())["config"]
    return from_stack_file(stack_file("asked", {**config, **changes}))


def rows_of(fake: FakeAws, settings: Settings) -> dict[str, ShownRow]:
    account = AwsAccount(settings, fake.session)
    return {row.id: row for row in answers(account.questions(), account.unanswered)}


def rows_with(settings: Settings, **changed: Answer) -> dict[str, ShownRow]:
    """``changed``: service__Operation → the answer in the place of the roomy account's."""
    own = {name.replace("__", ".").replace("_", "-"): answer for name, answer in changed.items()}
    with aws({**ROOMY, **own}) as fake:
        return rows_of(fake, settings)


def test_a_roomy_account_has_no_problem_and_is_only_read() -> None:
    with aws(ROOMY) as fake:
        rows = rows_of(fake, settings_with())
        assert {row.result for row in rows.values()} == {"shown"}, rows
        assert {"zone:us-west-2a", "machine:t4-1-spot", "names", "roles", "network", "rights"} <= {*rows}
        reading = ("Describe", "Get", "List", "Simulate")
        assert [sent for sent in fake.sent if not sent.operation.startswith(reading)] == []


def test_each_quota_of_the_stack_is_asked_by_its_code() -> None:
    settings = settings_with()
    with aws(ROOMY) as fake:
        rows = rows_of(fake, settings)
        assert {f"quota:{quota.name}" for quota in quotas(settings)} <= {*rows}
        asked = {each.parameters["QuotaCode"] for each in fake.sent if each.operation == "GetServiceQuota"}
    assert all(any(code in quota.name for code in asked) for quota in quotas(settings))


@pytest.mark.parametrize(
    ("changed", "row", "words", "remedy"),
    [
        (
            {"service_quotas__GetServiceQuota": limit(4)},
            "quota:All G and VT Spot Instance Requests (L-3819A6DF)",
            "limit 4 vCPUs, needed ",
            "request-service-quota-increase --service-code ec2 --quota-code L-3819A6DF --desired-value",
        ),
        (
            {"ec2__DescribeInstanceTypeOfferings": {"InstanceTypeOfferings": []}},
            "machine:t4-4-spot",
            "g4dn.12xlarge is not offered in us-west-2a, but in no zone here",
            "write other zones in `gpuPools[0].zones`",
        ),
        (
            {"iam__SimulatePrincipalPolicy": simulated("eks:CreateCluster", "ec2:CreateVpc")},
            "rights",
            "2 are missing: ec2:CreateVpc (Vpc); eks:CreateCluster (Cluster)",
            "attach the policies",
        ),
        (
            {
                "ec2__DescribeAvailabilityZones": {
                    "AvailabilityZones": [{"ZoneName": "us-west-2b", "State": "available"}]
                }
            },
            "zone:us-west-2a",
            "your account has no such zone",
            "write any of us-west-2b in `zones`",
        ),
    ],
)
def test_what_the_account_lacks_is_said_with_the_command_that_mends_it(
    changed: dict[str, Answer], row: str, words: str, remedy: str
) -> None:
    answered = rows_with(settings_with(), **changed)[row]
    assert (answered.result, words in answered.detail, remedy in answered.remedy) == ("failed", True, True), answered


def test_a_quota_without_a_value_of_its_own_has_awss_and_disks_count_in_tib() -> None:
    rows = rows_with(
        settings_with(),
        service_quotas__GetServiceQuota=refusal("NoSuchResourceException"),
        service_quotas__GetAWSDefaultServiceQuota=limit(50),
    )
    disks = rows["quota:Storage for General Purpose SSD (gp3) volumes (L-7A658B76)"]
    assert (disks.result, disks.detail.partition(",")[0]) == ("shown", "limit 51200 GB")


OPERATIONS = (
    "ec2__DescribeAvailabilityZones", "ec2__DescribeInstanceTypeOfferings", "service_quotas__GetServiceQuota",
    "eks__DescribeCluster", "iam__ListRoles", "ec2__DescribeVpcs", "iam__SimulatePrincipalPolicy",
)  # fmt: skip


@pytest.mark.parametrize("operation", OPERATIONS)
def test_no_right_to_ask_is_said_in_its_row_and_the_rest_goes_on(operation: str) -> None:
    rows = rows_with(settings_with(), **{operation: refusal("AccessDenied")})
    unanswered = [row for row in rows.values() if row.result == "not shown"]
    assert unanswered
    assert {row.detail for row in unanswered} == {"you may not ask"}
    assert all(row.remedy for row in unanswered)
    assert {row.result for row in rows.values()} == {"shown", "not shown"}


# Services refuse in words of their own.
@pytest.mark.parametrize("code", ["AccessDenied", "AccessDeniedException", "UnauthorizedOperation"])
def test_who_may_ask_nothing_gets_all_rows(code: str) -> None:
    rows = rows_with(settings_with(), **dict.fromkeys(OPERATIONS, refusal(code)))
    assert {(row.result, row.detail) for row in rows.values()} == {("not shown", "you may not ask")}


def test_a_service_that_does_not_answer_is_a_row_and_a_defect_is_raised() -> None:
    rows = rows_with(settings_with(), eks__DescribeCluster=EndpointConnectionError(endpoint_url="https://eks"))
    assert (rows["names"].result, "https://eks" in rows["names"].detail) == ("not shown", True)
    with pytest.raises(ZeroDivisionError):
        rows_with(settings_with(), eks__DescribeCluster=ZeroDivisionError())


def test_nobody_logged_in_is_said_before_anything_else() -> None:
    with aws({"sts.GetCallerIdentity": refusal("ExpiredToken")}) as fake, pytest.raises(AccountError, match="Log in"):
        AwsAccount(settings_with(), fake.session)


@pytest.mark.parametrize("arn", ["arn:aws:iam::123456789012:root", "arn:aws:sts::123456789012:federated-user/x"])
def test_a_principal_whose_rights_aws_does_not_simulate_is_not_shown(arn: str) -> None:
    rows = rows_with(settings_with(), sts__GetCallerIdentity={**SESSION, "Arn": arn})
    assert (rows["rights"].result, arn in rows["rights"].detail) == ("not shown", True)


def test_the_role_of_a_session_is_asked_with_its_path() -> None:
    with aws(ROOMY) as fake:
        rows_of(fake, settings_with())
    simulations = [each.parameters for each in fake.sent if each.operation == "SimulatePrincipalPolicy"]
    asked = {each["PolicySourceArn"] for each in simulations}
    actions = [action for each in simulations for action in each["ActionNames"]]
    assert asked == {ROLE}
    assert {*actions} == {*rights.actions(settings_with())}


def listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def by_policies(*documents: Mapping[str, Any]) -> Answer:
    """AWS's simulation of policies that allow: of actions, resources with ``*``, and conditions ``StringEquals``."""

    def allows(statement: Mapping[str, Any], action: str, resource: str, context: Mapping[str, str]) -> bool:
        conditions = statement.get("Condition", {}).get("StringEquals", {})
        return (
            action in listed(statement["Action"])
            and any(fnmatchcase(resource, each) for each in listed(statement["Resource"]))
            and all(context.get(key) in listed(values) for key, values in conditions.items())
        )

    def answer(parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        (resource,) = parameters.get("ResourceArns") or ["*"]
        entries = parameters.get("ContextEntries") or ()
        context = {each["ContextKeyName"]: each["ContextKeyValues"][0] for each in entries}
        statements = [each for document in documents for each in document["Statement"]]
        missing = [
            action
            for action in parameters["ActionNames"]
            if not any(allows(each, action, resource, context) for each in statements)
        ]
        return simulated(*missing)(parameters)

    return answer


def only(question: str, fake: FakeAws, settings: Settings) -> ShownRow:
    account = AwsAccount(settings, fake.session)
    (row,) = answers((each for each in account.questions() if each.id == question), account.unanswered)
    return row


@pytest.mark.parametrize(("name", "result", "words"), [("limit", "shown", ""), ("limti", "failed", "is not there")])
def test_a_permissions_boundary_has_to_exist(name: str, result: str, words: str) -> None:
    arn = f"arn:aws:iam::123456789012:policy/platform/{name}"
    with aws(ROOMY) as fake:
        document = json.dumps(
            {"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "*", "Resource": "*"}}
        )
        fake.client("iam").create_policy(PolicyName="limit", Path="/platform/", PolicyDocument=document)
        row = only("boundary", fake, settings_with(**{"gpucluster:security": {"permissionsBoundary": arn}}))
        assert (row.result, words in row.detail) == (result, True)
        assert "boundary" not in {each.id for each in AwsAccount(settings_with(), fake.session).questions()}


def test_a_deployer_with_the_generated_policies_lacks_nothing() -> None:
    """They are limited to the stack's roles, and companies add a condition on the permissions boundary."""
    boundary = "arn:aws:iam::123456789012:policy/boundary"
    security = {"rolePath": "/platform/", "permissionsBoundary": boundary}
    settings = settings_with(**{"gpucluster:security": security})
    documents = rights.documents(settings, "aws", "123456789012")
    statements = [each for document in documents for each in document["Statement"]]
    (of_roles,) = (each for each in statements if "iam:CreateRole" in each["Action"])
    for company in (False, True):
        if company:
            roles, profiles = of_roles["Resource"]
            named = [each for each in of_roles["Action"] if "Profile" in each and not each.endswith("ForRole")]
            on_profiles = {"Effect": "Allow", "Action": named, "Resource": profiles}
            of_roles |= {"Resource": roles, "Condition": {"StringEquals": {"iam:PermissionsBoundary": boundary}}}
            documents.append({"Statement": [on_profiles]})
        with aws({**ROOMY, "iam.SimulatePrincipalPolicy": by_policies(*documents)}) as fake:
            row = only("rights", fake, settings)
        assert row.result == "shown", row
    elsewhere = rights.documents(settings_with(**{"gpucluster:clusterName": "other"}), "aws", "123456789012")
    with aws({**ROOMY, "iam.SimulatePrincipalPolicy": by_policies(*elsewhere)}) as fake:
        row = only("rights", fake, settings)
    assert (row.result, "iam:CreateRole (Role)" in row.detail) == ("failed", True)


def test_clusters_roles_and_networks_that_are_there_are_warned_about() -> None:
    settings = settings_with()
    with aws(ROOMY) as fake:
        ec2, name = fake.client("ec2"), settings.cluster_name
        other = ec2.create_vpc(CidrBlock=settings.network.node_cidr)["Vpc"]["VpcId"]
        own = ec2.create_vpc(CidrBlock=settings.network.node_cidr)["Vpc"]["VpcId"]
        ec2.create_tags(Resources=[own], Tags=[{"Key": "Name", "Value": name}])
        fake.client("iam").create_role(RoleName=f"{name}-nodes", AssumeRolePolicyDocument="{}")
        subnet = ec2.create_subnet(VpcId=own, CidrBlock=settings.network.node_cidr)["Subnet"]["SubnetId"]
        fake.client("eks").create_cluster(
            name=name, roleArn=ROLE, resourcesVpcConfig={"subnetIds": [subnet], "securityGroupIds": []}
        )
        rows = rows_of(fake, settings)
    assert {id for id, row in rows.items() if row.result == "warning"} == {"names", "roles", "network"}
    assert other in rows["network"].detail
    assert own not in rows["network"].detail
    assert f"{name}-nodes" in rows["roles"].detail


def existing(network: str, *subnets: str) -> Settings:
    own = {
        "authorizedNetworks": [{"name": "me", "cidr": "203.0.113.17/32"}],
        "existing": {"network": network, "subnets": [*subnets]},
    }
    return settings_with(**{"gpucluster:network": own})


def test_an_existing_network_has_to_be_there_with_its_subnets() -> None:
    with aws(ROOMY) as fake:
        ec2 = fake.client("ec2")
        vpc, elsewhere = (ec2.create_vpc(CidrBlock="10.9.0.0/16")["Vpc"]["VpcId"] for _ in range(2))
        ids = [
            ec2.create_subnet(VpcId=each, CidrBlock="10.9.0.0/20")["Subnet"]["SubnetId"] for each in (vpc, elsewhere)
        ]
        assert rows_of(fake, existing(vpc, ids[0]))["network"].result == "shown"
        wrong = rows_of(fake, existing(vpc, *ids, "subnet-0123456789abcdef0"))["network"]
        assert wrong.result == "failed"
        assert wrong.detail == f"subnet-0123456789abcdef0 is not there; {ids[1]} is in {elsewhere}"
        assert "is not there" in rows_of(fake, existing("vpc-0123456789abcdef0", ids[0]))["network"].detail


RESERVATION = {
    "CapacityReservationId": "cr-0123456789abcdef0",
    "InstanceType": "g4dn.xlarge",
    "AvailabilityZone": "us-west-2a",
    "TotalInstanceCount": 2,
    "State": "active",
}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, ""),
        ({"State": "expired"}, "its state is expired"),
        ({"InstanceType": "g5.xlarge"}, "it has g5.xlarge, pool t4-1 asks for g4dn.xlarge"),
        ({"AvailabilityZone": "us-west-2b"}, "it is in us-west-2b, pool t4-1 in us-west-2a"),
        ({"TotalInstanceCount": 1}, "it has 1 machines, the stack says 2"),
    ],
)
def test_a_reservation_has_to_be_the_pools(changes: dict[str, Any], words: str) -> None:
    pools = [
        {
            "name": "t4", "gpu": "nvidia-t4", "maxNodes": 2, "zones": ["us-west-2a"], "capacity": "reserved",
            "reservation": {"name": "cr-0123456789abcdef0", "nodes": 2},
        }
    ]  # fmt: skip
    settings = settings_with(**{"gpucluster:gpuPools": pools})
    with aws(
        {**ROOMY, "ec2.DescribeCapacityReservations": {"CapacityReservations": [{**RESERVATION, **changes}]}}
    ) as fake:
        account = AwsAccount(settings, fake.session)
        rows = {row.id: row for row in answers(account.questions(), account.unanswered)}
    row = rows["reservation:cr-0123456789abcdef0"]
    assert (row.result, words in row.detail) == ("failed" if words else "shown", True), row
    assert account.facts.reservations == {"cr-0123456789abcdef0": changes.get("TotalInstanceCount", 2)}


@pytest.mark.parametrize(
    ("state", "result"), [("Enabled", "shown"), ("Disabled", "failed"), ("PendingDeletion", "failed")]
)
def test_a_key_has_to_be_enabled(state: str, result: str) -> None:
    key = "arn:aws:kms:us-west-2:123456789012:key/11111111-2222-3333-4444-555555555555"
    settings = settings_with(**{"gpucluster:security": {"kmsKey": key}})
    rows = rows_with(settings, kms__DescribeKey={"KeyMetadata": {"KeyId": key, "KeyState": state}})
    assert rows[f"key:{key}"].result == result


def test_the_command_writes_a_file_that_rehearsals_read_and_the_deployers_rights(tmp_path: Path) -> None:
    settings, lines = settings_with(), list[str]()
    quota = "quota:All G and VT Spot Instance Requests (L-3819A6DF)"
    small = {
        **ROOMY,
        "service-quotas.GetServiceQuota": limit(4),
        "iam.SimulatePrincipalPolicy": simulated("ec2:CreateVpc"),
    }
    with aws(small) as fake:
        code = ask(settings, tmp_path, lines.append, AwsAccount(settings, fake.session))
    assert code == 1
    limits = account_limits.read(tmp_path / "account.yaml", [each.name for each in quotas(settings)])
    assert limits.quotas[quota.removeprefix("quota:")] == 4
    assert limits.missing_rights == ("ec2:CreateVpc",)
    assert not limits.may("ec2:CreateVpc")
    assert len([*tmp_path.glob("deployer-*.json")]) == len(rights.documents(settings, "aws", "123456789012"))
    assert lines[-1].startswith("FAIL asked: ")
