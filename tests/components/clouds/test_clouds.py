"""Clouds as such: names within their limits, what they cannot do, and how kubeconfigs log in."""

from __future__ import annotations

import subprocess
import sys

import pytest
import yaml

from components.clouds.base import cloud_names, load_cloud
from components.clouds.names import shortened
from tests import one_stack
from tests.stacks import ROOT, run_program
from tests.tables import cases


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


@cases
def test_the_kubeconfig_trusts_the_cluster_and_logs_in_by_plugin(
    cloud: str, context: str, server: str, command: str
) -> None:
    config = yaml.safe_load(run_program(one_stack.file(cloud)).stack_outputs["kubeconfig"])
    assert config["current-context"] == config["contexts"][0]["name"] == context
    assert config["clusters"][0]["cluster"] == {"server": server, "certificate-authority-data": "Q0E="}
    plugin = config["users"][0]["user"]["exec"]
    assert plugin["apiVersion"] == "client.authentication.k8s.io/v1beta1"
    assert plugin["interactiveMode"] == "IfAvailable"
    assert [plugin["command"], *plugin["args"]] == command.split()
    assert plugin.get("provideClusterInfo", False) is (cloud == "gke")
