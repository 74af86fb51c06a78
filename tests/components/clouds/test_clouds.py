"""Clouds as such: names, what they cannot do, how kubeconfigs log in; and the order of pools for an autoscaler."""

from __future__ import annotations

import random
import re
import subprocess
import sys

import pytest
import yaml

from components.clouds.base import cloud_names, load_cloud
from components.clouds.names import shortened
from components.clouds.priority_expander import Pool, priorities, priority_config_map
from tests import one_stack
from tests.components import specs
from tests.stacks import ROOT, run_program


@pytest.mark.parametrize(
    ("name", "limit", "suffix", "made"),
    [("gpu", 10, "", "gpu"), ("gpu", 10, "-nodes", "gpu-nodes"), ("a" * 10, 10, "", "a" * 10)],
)
def test_a_name_that_fits_stays(name: str, limit: int, suffix: str, made: str) -> None:
    assert shortened(name, limit, suffix=suffix) == made


@pytest.mark.parametrize("limit", [12, 20, 40])
@pytest.mark.parametrize("name", ["a" * 41, "gpu-team-research-and-development-of-the-west"])
def test_a_name_that_does_not_fit_ends_as_it_should(name: str, limit: int) -> None:
    made = shortened(name, limit, suffix="-abc")
    assert len(made) <= limit
    assert made.endswith("-abc")
    assert "--" not in made


def test_names_with_the_same_beginning_stay_apart() -> None:
    assert shortened("gpu-team-of-research-a", 20) != shortened("gpu-team-of-research-b", 20)


def test_a_limit_without_room_is_an_error() -> None:
    with pytest.raises(ValueError, match="no name fits into 10"):
        shortened("gpu-dev-gpu-dev", 10, suffix="-nodes")


def test_an_unknown_cloud_is_an_error_that_lists_those_there_are() -> None:
    with pytest.raises(ValueError, match=r"cloud: 'gcp' is not supported; write one of .*gke"):
        load_cloud("gcp")


def test_what_a_cloud_cannot_do_is_known_without_pulumi() -> None:
    limits = "; ".join(f"import components.settings.limits.{name}" for name in cloud_names())
    script = f"{limits}\nimport sys\nassert 'pulumi' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True)


@pytest.mark.parametrize(
    ("cloud", "context", "server", "command"),
    [
        (
            "gke",
            "gke_my-gcp-project_us-central1_one-stack",
            "https://203.0.113.7",
            # As the Google Cloud provider logs in: another account must not declare the objects.
            "gke-gcloud-auth-plugin --use_application_default_credentials",
        ),
        (
            "eks",
            "eks_us-west-2_one-stack",
            "https://control-plane.example",
            "aws eks get-token --cluster-name one-stack --region us-west-2 --output json",
        ),
        (
            "aks",
            "one-stack",
            "https://203.0.113.9:443",
            # AKS's own application in Entra: https://learn.microsoft.com/azure/aks/kubelogin-authentication
            "kubelogin get-token --login azurecli --server-id 6dae42f8-4368-4678-94ff-3960e28e3630",
        ),
    ],
)
def test_a_kubeconfig_trusts_the_cluster_and_has_a_plugin(cloud: str, context: str, server: str, command: str) -> None:
    config = yaml.safe_load(run_program(one_stack.file(cloud)).stack_outputs["kubeconfig"])
    assert config["current-context"] == config["contexts"][0]["name"] == context
    assert config["clusters"][0]["cluster"] == {"server": server, "certificate-authority-data": "Q0E="}
    plugin = config["users"][0]["user"]["exec"]
    assert plugin["apiVersion"] == "client.authentication.k8s.io/v1beta1"
    assert plugin["interactiveMode"] == "IfAvailable"
    assert [plugin["command"], *plugin["args"]] == command.split()
    assert plugin.get("provideClusterInfo", False) is (cloud == "gke")


SPOT = specs.gpu_pool("spot-1")
FALLBACK = specs.gpu_pool("spot-1-ondemand", capacity_type="on-demand", preference=1)
ALWAYS = specs.gpu_pool("always-1", capacity_type="on-demand")
BIG = specs.gpu_pool("big-8", size=8)
RESERVED = specs.gpu_pool("reserved-1", reservation="cr-0123456789abcdef0")
CHEAP = specs.gpu_pool("cheap-1", hourly_usd=0.2)
DEAR = specs.gpu_pool("dear-1", hourly_usd=3.0)
POOLS = {pool.name: pool for pool in (SPOT, FALLBACK, ALWAYS, BIG, RESERVED, CHEAP, DEAR)}


def exactly(pool: Pool) -> str:
    return f"^{re.escape(pool.name)}$"


def order(*pools: Pool) -> list[list[str]]:
    """Names of the pools in the order in which the expander tries them, as it reads the object's own text."""
    text = priority_config_map(priorities(pools, exactly))["data"]["priorities"]
    read: dict[int, list[str]] = yaml.safe_load(text)
    assert all(number > 0 for number in read)
    names = [pool.name for pool in pools]
    (last,) = read.pop(min(read))
    assert all(re.search(last, name) for name in ("any-group", *names))
    return [
        [name for name in names if any(re.search(expression, name) for expression in read[number])]
        for number in sorted(read, reverse=True)
    ]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("spot-1", "spot-1-ondemand"),
        ("spot-1", "always-1"),
        ("big-8", "spot-1-ondemand"),
        ("always-1", "spot-1-ondemand"),
        ("spot-1", "big-8"),
        ("cheap-1", "dear-1"),
        ("dear-1", "spot-1"),
        ("cheap-1", "big-8"),
        # Reserved machines cost the same whether they are used or not.
        ("reserved-1", "always-1"),
        ("reserved-1", "cheap-1"),
        ("reserved-1", "spot-1"),
        ("reserved-1", "spot-1-ondemand"),
    ],
)
def test_one_pool_comes_before_the_other_however_they_are_written(first: str, second: str) -> None:
    one, other = POOLS[first], POOLS[second]
    assert order(one, other) == order(other, one) == [[first], [second]]


def test_pools_that_nothing_tells_apart_share_a_priority() -> None:
    zones = [specs.gpu_pool(f"t4-1-{letter}", hourly_usd=0.2) for letter in "abc"]
    assert order(*zones, FALLBACK) == [["t4-1-a", "t4-1-b", "t4-1-c"], ["spot-1-ondemand"]]


def test_every_pool_has_exactly_one_place() -> None:
    pools = [SPOT, FALLBACK, ALWAYS, BIG, CHEAP, DEAR, RESERVED, specs.cpu_pool("cpu")]
    random.Random(4).shuffle(pools)
    tried = [name for names in order(*pools) for name in names]
    assert sorted(tried) == sorted(pool.name for pool in pools)


def test_the_expander_finds_the_object() -> None:
    metadata = priority_config_map({10: ["a"]})["metadata"]
    assert metadata == {"name": "cluster-autoscaler-priority-expander", "namespace": "kube-system"}
