"""Which changes replace a resource, which update it in place, and which are none."""

from __future__ import annotations

import pytest

from packages.rehearsal.tests.providers.gke.account import POOL, Google, gpu_pool
from rehearsal.providers.differences import parse_path


def test_a_replacement_of_the_same_name_deletes_first(google: Google) -> None:
    assert google.diff(POOL, gpu_pool(), gpu_pool(nodeConfig={"spot": False})).delete_before_replace
    assert not google.diff(POOL, gpu_pool(), gpu_pool(name="other")).delete_before_replace
    auto_named = gpu_pool(name=None)
    assert not google.diff(POOL, auto_named, gpu_pool(name=None, nodeConfig={"spot": False})).delete_before_replace


@pytest.mark.parametrize(
    "ignored",
    ["nodeConfig", "nodeConfig.labels", "nodeConfig.labels.team", 'nodeConfig["labels"]', "nodeConfig.labels.*"],
)
def test_ignored_changes(google: Google, ignored: str) -> None:
    new = gpu_pool(nodeConfig={"labels": {"team": "speech"}})
    assert google.diff(POOL, gpu_pool(), new, (ignored,)).changes == ()
    assert google.diff(POOL, gpu_pool(), new, ("nodeConfig.label", "autoscaling")).changes == (
        "nodeConfig.labels.team",
    )


def test_ignored_elements(google: Google) -> None:
    new = gpu_pool(nodeConfig={"taints": [{"key": "nvidia.com/gpu", "value": "no", "effect": "NO_SCHEDULE"}]})
    for path in ("nodeConfig.taints[*].value", "nodeConfig.taints[0]", "nodeConfig.taints[*]"):
        assert google.diff(POOL, gpu_pool(), new, (path,)).changes == ()


def test_keys_that_need_quotes(google: Google) -> None:
    old = gpu_pool(nodeConfig={"labels": {"gpucluster.dev/pool": "a"}})
    new = gpu_pool(nodeConfig={"labels": {"gpucluster.dev/pool": "b"}})
    path = 'nodeConfig.labels["gpucluster.dev/pool"]'
    assert google.diff(POOL, old, new).changes == (path,)
    assert google.diff(POOL, old, new, (path,)).changes == ()
    assert google.diff(POOL, old, new, ("nodeConfig.labels",)).changes == ()


def test_a_key_is_no_index() -> None:
    assert parse_path('a["0"][0].b') == ("a", "0", 0, "b")
