"""The kubeconfig of each cloud: it trusts the cluster alone, and its plugin logs in as the cloud's provider does."""

from __future__ import annotations

import yaml

from tests import one_stack
from tests.stacks import run_program
from tests.tables import cases


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
