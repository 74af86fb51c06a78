"""What counts on EKS: tags of a group, and groups of a cluster."""

from __future__ import annotations

from typing import Any

import pytest

from tests.components.settings.test_stack_cases import FILES, check, problems, with_changes


@pytest.mark.parametrize(
    ("autoscaler", "labels", "groups", "refused"),
    [
        ("cluster-autoscaler", 35, 1, {}),
        ("cluster-autoscaler", 60, 1, {"gpuPools[0].labels": "Remove"}),
        ("karpenter", 60, 1, {}),
        ("cluster-autoscaler", 1, 28, {}),
        ("cluster-autoscaler", 1, 29, {"gpuPools": "karpenter"}),
        ("karpenter", 1, 29, {}),
    ],
)
def test_karpenter_has_no_tags_and_groups_that_could_be_too_many(
    autoscaler: str, labels: int, groups: int, refused: dict[str, str]
) -> None:
    case: dict[str, Any] = {
        "pool": {"labels": {f"label-{number}": "x" for number in range(labels)}},
        "keys": {
            "autoscaling": {"autoscaler": autoscaler},
            "cpuPools": [{"name": f"c{number}", "maxNodes": 1} for number in range(groups)],
        },
        "refused": refused,
    }
    check(problems(with_changes(FILES["eks"]["base"], case), "us-west-2"), case)
