"""A controller in the cluster, as far as AWS sees one: a pod's token, the agent, and signed requests."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import boto3
import urllib3

from packages.rehearsal.tests.providers.eks import account as eks

NAMESPACE, SERVICE_ACCOUNT, TOKEN = "kube-system", "karpenter", "the-pods-token"
AGENT = "eks-pod-identity-agent"
_DAEMON_SETS = "/apis/apps/v1/namespaces/kube-system/daemonsets"


@dataclass
class Controller:
    """The pod ``kube-system/karpenter-0`` on a cluster of ``amazon``."""

    amazon: eks.Amazon

    @property
    def environment(self) -> dict[str, str]:
        return self.amazon.provider.server.pod_environment(NAMESPACE, SERVICE_ACCOUNT)

    @property
    def endpoint(self) -> str:
        return self.environment["AWS_ENDPOINT_URL"]

    def install(self, *statements: dict[str, Any]) -> None:
        """A cluster with the agent, and the controller's role with ``statements``, associated."""
        self.amazon.cluster()
        trusting = {"name": "controller", "assumeRolePolicy": eks.trust("pods.eks.amazonaws.com")}
        self.amazon.create(eks.ROLE, trusting, "controller")
        if statements:
            policy = {"role": "controller", "name": "own", "policy": eks.document(*statements)}
            self.amazon.create(eks.ROLE_POLICY, policy, "controller-own")
        self.associate()
        self.amazon.create(eks.ADDON, {"clusterName": "gpu-dev", "addonName": AGENT}, "agent")
        self.run_agent(1)
        self.know_token()

    def associate(self) -> None:
        inputs = {
            "clusterName": "gpu-dev",
            "namespace": NAMESPACE,
            "serviceAccount": SERVICE_ACCOUNT,
            "roleArn": "arn:aws:iam::123456789012:role/controller",
        }
        self.amazon.create(eks.POD_IDENTITY, inputs, "association")

    def run_agent(self, ready: int) -> None:
        agent = {"metadata": {"name": AGENT, "namespace": NAMESPACE}, "status": {"numberReady": ready}}
        self.amazon.fleet.objects[_DAEMON_SETS] = [agent]

    def know_token(self, service_account: str = SERVICE_ACCOUNT) -> None:
        self.amazon.fleet.tokens[TOKEN, "pods.eks.amazonaws.com"] = {
            "username": f"system:serviceaccount:{NAMESPACE}:{service_account}",
            "extra": {
                "authentication.kubernetes.io/pod-name": ["karpenter-0"],
                "authentication.kubernetes.io/pod-uid": ["0-1-2"],
            },
        }

    def ask_agent(self, token: str = TOKEN) -> tuple[int, str]:
        """Status and text of the agent's answer."""
        url = f"{self.endpoint}/v1/credentials"
        answer = urllib3.request("GET", url, headers={"Authorization": token})
        return answer.status, answer.data.decode()

    def client(self, service: str) -> Any:
        """A boto3 client with the credentials that the agent gives."""
        status, text = self.ask_agent()
        assert status == 200, text
        keys = json.loads(text)
        return self._client(service, keys["AccessKeyId"], keys["SecretAccessKey"], keys["Token"])

    def stranger(self, service: str) -> Any:
        """A client with keys that nobody gave out."""
        return self._client(service, "AKIASTRANGER", "secret")

    def impostor(self, service: str, key_id: str, token: str | None) -> Any:
        """A client with a key that is somebody's."""
        return self._client(service, key_id, "secret", token)

    def _client(self, service: str, key_id: str, key: str, token: str | None = None) -> Any:
        keys = {"aws_access_key_id": key_id, "aws_secret_access_key": key, "aws_session_token": token}
        return boto3.client(service, region_name=eks.REGION, endpoint_url=self.endpoint, **keys)
