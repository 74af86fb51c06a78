"""A cloud takes tags in its own grammar, and refuses those of another."""

from __future__ import annotations

from pathlib import Path

import pytest

from packages.rehearsal.tests.providers.aks.account import Microsoft
from packages.rehearsal.tests.providers.driver import Account
from packages.rehearsal.tests.providers.eks.account import Amazon
from packages.rehearsal.tests.providers.gke.account import Google
from packages.rehearsal.tests.providers.test_contract import before
from rehearsal.providers.base import Properties, ProviderError

# Of each cloud a resource that carries them, by which input, a tag that is one and some that are none.
KINDS: tuple[tuple[type[Account], str, str, dict[str, str], tuple[dict[str, str], ...]], ...] = (
    (
        Google,
        "gcp:container/cluster:Cluster",
        "resourceLabels",
        {"cost-center": "a_1"},
        ({"CostCenter": "a"}, {"cost-center": "A"}, {f"k{index}": "" for index in range(65)}),
    ),
    (
        Amazon,
        "aws:ec2/vpc:Vpc",
        "tags",
        {"CostCenter": "a/b c"},
        ({"aws:x": "a"}, {"x?": "a"}, {"k" * 129: ""}, {"k": "v" * 257}, {f"k{index}": "" for index in range(51)}),
    ),
    (
        Microsoft,
        "azure-native:resources:ResourceGroup",
        "tags",
        {"Cost Center": "a/b?"},
        ({"cost/center": "a"}, {"Azure-x": "a"}, {"Team": "a", "team": "b"}, {f"k{index}": "" for index in range(51)}),
    ),
)
each_cloud = pytest.mark.parametrize(
    ("cloud", "type", "key", "good", "bad"), KINDS, ids=[cloud.__name__ for cloud, *_ in KINDS]
)


@each_cloud
def test_tags_are_taken_or_refused_as_the_cloud_writes_them(
    cloud: type[Account], type: str, key: str, good: dict[str, str], bad: tuple[dict[str, str], ...], tmp_path: Path
) -> None:
    step = next(step for step in cloud.steps() if step.type == type)
    case = before(cloud, step, tmp_path)
    inputs: Properties = {**step.inputs, key: good}
    try:
        assert case.account.preview(type, inputs)[key] == good
        for tags in bad:
            with pytest.raises(ProviderError):
                case.account.preview(type, {**inputs, key: tags})
    finally:
        case.account.stop()
