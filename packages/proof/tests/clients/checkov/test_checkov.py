"""Checkov reads what stacks of each cloud declare: every finding has an answer, and a mistake has none."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from packages.rehearsal.tests.clients.environment import programs
from policies.readers.resource import Declared
from proof.second_opinion.findings import answers, documents, scan, unanswered
from rehearsal.engine.stack import resolve
from rehearsal.run.preview import preview

pytestmark = pytest.mark.rehearsal
STACKS = ("dev", "prod", "examples/eks-research.yaml", "examples/aks-company.yaml")


@pytest.mark.parametrize("stack", STACKS)
def test_every_finding_has_an_answer(stack: str, tools: Path) -> None:
    checkov = programs("checkov", Path(__file__).parents[1]) / "checkov"
    previewed = preview(resolve(stack), tools=tools, gate=None)
    assert previewed.ok, previewed.output
    result = scan(checkov, documents(previewed.change.after.declared))
    assert result.passed > 50, "Checkov understands what is declared"
    assert unanswered(result.findings, answers(), date.today()) == []


def test_nodes_with_public_addresses_are_findings() -> None:
    checkov = programs("checkov", Path(__file__).parents[1]) / "checkov"
    everybody = {"masterAuthorizedNetworksConfig": {"cidrBlocks": [{"cidrBlock": "0.0.0.0/0"}]}}
    urn = "urn:pulumi:dev::p::gcp:container/cluster:Cluster::cluster"
    cluster = Declared("gcp:container/cluster:Cluster", "cluster", urn, {"name": "one", **everybody})
    private = replace(cluster, properties={**cluster.properties, "privateClusterConfig": {"enablePrivateNodes": True}})
    names = [{each.check for each in scan(checkov, documents([one])).findings} for one in (cluster, private)]
    assert names[0] - names[1] == {"CKV_GCP_25", "CKV_GCP_64"}
