"""The kubeconfig of each cloud: it trusts the cluster alone, and its plugin logs in as the cloud's provider does."""

from __future__ import annotations

import pytest
import yaml

from tests import one_stack
from tests.stacks import run_program

# Cloud → context, server, and the credential plugin's command.
WRITTEN = {
    "gke": (
        "gke_my-gcp-project_us-central1_one-stack",
        "https://203.0.113.7",
        # As the Google Cloud provider logs in: another account must not declare the objects.
        "gke-gcloud-auth-plugin --use_application_default_credentials",
    ),
    "eks": (
        "eks_us-west-2_one-stack",
        "https://control-plane.example",
        "aws eks get-token --cluster-name one-stack --region us-west-2 --output json",
    ),
    # AKS's own application in Entra: https://learn.microsoft.com/azure/aks/kubelogin-authentication
    "aks": (
        "one-stack",
        "https://203.0.113.9:443",
        "kubelogin get-token --login azurecli --server-id 6dae42f8-4368-4678-94ff-3960e28e3630",
    ),
}


@pytest.mark.parametrize("cloud", WRITTEN)
def test_the_kubeconfig_trusts_the_cluster_and_logs_in_by_plugin(cloud: str) -> None:
    context, server, command = WRITTEN[cloud]
    config = yaml.safe_load(run_program(one_stack.file(cloud)).stack_outputs["kubeconfig"])
    assert config["current-context"] == config["contexts"][0]["name"] == context
    assert config["clusters"][0]["cluster"] == {"server": server, "certificate-authority-data": "Q0E="}
    plugin = config["users"][0]["user"]["exec"]
    assert plugin["apiVersion"] == "client.authentication.k8s.io/v1beta1"
    assert plugin["interactiveMode"] == "IfAvailable"
    assert [plugin["command"], *plugin["args"]] == command.split()
    assert plugin.get("provideClusterInfo", False) is (cloud == "gke")
