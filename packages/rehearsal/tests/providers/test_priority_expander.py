"""What the priority expander reads of its ConfigMap."""

from __future__ import annotations

from typing import Any

import pytest

from rehearsal.providers.priority_expander import NAME, priorities, rank


def config_map(text: str, namespace: str = "kube-system") -> dict[str, Any]:
    return {"metadata": {"namespace": namespace, "name": NAME}, "data": {"priorities": text}}


def test_the_highest_number_that_matches_ranks_first_and_what_none_matches_has_no_rank() -> None:
    numbers = priorities([config_map("10: ['^eks-.*-']\n50: ['spot']\n30: ['^eks-gpu-1-']")], "kube-system")
    assert not isinstance(numbers, str)
    ranks = [rank(name, numbers) for name in ("eks-gpu-1-spot-x", "eks-gpu-1-x", "eks-gpu-8-x", "other")]
    assert ranks == [-50, -30, -10, None]


@pytest.mark.parametrize("text", ["", "10: ['*']", "ten: [.*]", "10: 5", "- 10", "{", "10: [.*]\n20: ['(']"])
def test_one_invalid_part_spoils_all(text: str) -> None:
    assert "not a map" in str(priorities([config_map(text)], "kube-system"))
    assert "not a map" in str(priorities([{"metadata": config_map("")["metadata"]}], "kube-system"))


def test_it_is_in_the_autoscalers_namespace() -> None:
    assert "does not exist" in str(priorities([config_map("10: [.*]", "default")], "kube-system"))
    assert "does not exist" in str(priorities([], "kube-system"))
