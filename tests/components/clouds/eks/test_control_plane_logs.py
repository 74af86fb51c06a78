"""The log group of a control plane, which EKS makes again when a cluster has gone."""

from __future__ import annotations

import pytest

from tests import eks_answers, recorder
from tests.components import eks_specs

LOG_GROUP = "aws:cloudwatch/logGroup:LogGroup"
OURS = "/aws/eks/gpu-test/cluster"


def logs(monkeypatch: pytest.MonkeyPatch, *, exist: bool, cluster: bool) -> recorder.Recording:
    answers = {
        "aws:cloudwatch/getLogGroups:getLogGroups": {"logGroupNames": [OURS] if exist else [f"{OURS}-of-another"]},
        "aws:eks/getClusters:getClusters": {"names": ["gpu-test"] if cluster else []},
        "aws:eks/getNodeGroups:getNodeGroups": {"names": []},
    }
    for token, answer in answers.items():
        monkeypatch.setitem(eks_answers.CALLS, token, answer)
    return eks_specs.run()


@pytest.mark.parametrize(
    ("exist", "cluster", "taken_over"), [(True, False, True), (False, False, False), (True, True, False)]
)
def test_a_group_that_an_earlier_cluster_left_is_taken_over(
    monkeypatch: pytest.MonkeyPatch, exist: bool, cluster: bool, taken_over: bool
) -> None:
    recording = logs(monkeypatch, exist=exist, cluster=cluster)
    group = recording.only(LOG_GROUP)
    assert group.imported == (OURS if taken_over else "")
    # What is taken over has to be as it is declared, or the engine refuses it.
    assert set(group.ignore_changes) == ({"retentionInDays", "tags"} if taken_over else set())
    assert group.urn in recording.only("aws:eks/cluster:Cluster").depends_on
