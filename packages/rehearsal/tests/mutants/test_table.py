"""The committed tables: how many harmful mutants are noticed, and that whatever is not is named in the verdict."""

from __future__ import annotations

import itertools

import pytest

from rehearsal.engine.stack import ROOT, resolve
from rehearsal.mutants import table
from rehearsal.report.record import scope_of

# Only goes up: measured with `make mutants STACK=… UPDATE=1`.
TABLES = sorted(path.stem for path in table.FOLDER.glob("*.csv") if path.stem != "judgements")
FLOORS = {"dev": 0.97, "examples/aks-train-infer.yaml": 0.85, "examples/eks-spot.yaml": 0.96}


@pytest.mark.parametrize("stack", FLOORS)
def test_most_harmful_mutants_are_noticed(stack: str) -> None:
    rows = [row for row in table.read(resolve(stack).name).values() if row["harm"] == "harmful"]
    noticed = sum(row["noticed_by"] in table.NOTICED for row in rows)
    assert noticed >= FLOORS[stack] * len(rows) > 0, f"{noticed} of {len(rows)}"


@pytest.mark.parametrize("stack", FLOORS)
def test_what_is_called_named_has_its_subject_in_the_verdict(stack: str) -> None:
    resolved = resolve(stack)
    subjects = scope_of(resolved.settings).not_rehearsed
    named = {row["why"].partition(":")[0] for row in table.read(resolved.name).values() if row["harm"] == "named"}
    assert named
    assert named <= subjects.keys()


def test_every_judgement_has_a_reason_and_a_source() -> None:
    for row in itertools.chain.from_iterable(map(table.judgements, TABLES)):
        assert row["harm"] in ("harmful", "harmless", "named")
        assert row["why"]
        assert row["source"].startswith("https://") or (ROOT / "packages" / "rehearsal" / row["source"]).is_file()


@pytest.mark.parametrize("stack", TABLES)
def test_a_table_has_the_harm_that_the_judgements_give(stack: str) -> None:
    known = table.judgements(stack)
    for row in table.read(stack).values():
        assert table.judged(row, known) == row


HARMFUL = {
    "aws:cloudwatch/logGroup:LogGroup cluster-control-plane-logs name moved": "EKS writes to a group of a fixed name",
    "aws:eks/cluster:Cluster cluster-control-plane name moved": "its roles allow one name of the cluster",
    "aws:iam/role:Role autoscaler-role name moved": "another role has this name",
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment admin-pool-aws-fsx-csi-driver-role-AmazonFSxFullAccess "
    "role moved": "another role gets these rights",
    "aws:iam/rolePolicy:RolePolicy admin-pool-load-balancer-role-policy role moved": "another role gets these rights",
    'aws:iam/rolePolicy:RolePolicy admin-pool-load-balancer-role-policy policy["{}"].Statement[10].Condition '
    "dropped": "more rights",
    "aws:eks/addon:Addon cluster-vpc-cni podIdentityAssociations dropped": "no pod gets an address",
    "aws:ec2/vpcEndpoint:VpcEndpoint cluster-endpoint-s3 serviceName moved": "the endpoint of another service",
    "aws:ec2/launchTemplate:LaunchTemplate admin-pool-template metadataOptions.httpEndpoint moved": "no node joins",
}


def test_a_judgement_covers_no_more_than_its_reason() -> None:
    rows = table.read("eks-spot").values()
    harms = {" ".join(table.key_of(row)): row["harm"] for row in rows}
    assert {key: harms[key] for key in HARMFUL} == dict.fromkeys(HARMFUL, "harmful")


def test_a_judgement_of_one_stack_is_none_of_another() -> None:
    row = {"type": "aws:iam/role:Role", "resource": "r", "path": "tags", "mutation": "dropped", "noticed_by": "nobody"}
    assert table.judged(row, table.judgements("eks-spot"))["harm"] == "harmless"
    assert table.judged(row, table.judgements("eks-company"))["harm"] == "harmful"
