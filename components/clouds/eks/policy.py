"""IAM policy documents: who may assume a role, and what a role may do. The documents become JSON here.

https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements.html
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from components.resources import documents

_VERSION: Final = "2012-10-17"
POD_IDENTITY: Final = "pods.eks.amazonaws.com"

Statement = Mapping[str, Any]


def document(*statements: Statement) -> str:
    """A policy document."""
    return json.dumps({"Version": _VERSION, "Statement": [dict(statement) for statement in statements]})


def of(name: str, **values: object) -> str:
    """The policy document of ``statements``."""
    return document(*statements(name, **values))


def statements(name: str, **values: object) -> list[Statement]:
    """Those of ``<name>-policy.yaml``, with ``values`` in place of ``${…}``."""
    (listed,) = documents(Path(__file__).with_name(f"{name}-policy.yaml"), **values)
    return listed


def trust(service: str) -> str:
    """Who may assume a role: an AWS service, such as ``ec2.amazonaws.com``."""
    # EKS Pod Identity also names the cluster, the namespace and the service account in tags of the session:
    # https://docs.aws.amazon.com/eks/latest/userguide/pod-id-role.html
    actions = ["sts:AssumeRole", "sts:TagSession"] if service == POD_IDENTITY else ["sts:AssumeRole"]
    return document({"Effect": "Allow", "Principal": {"Service": service}, "Action": actions})
