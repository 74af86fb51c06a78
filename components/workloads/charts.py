"""Third-party charts on the admin pool: pinned, each in its own namespace."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pulumi

from components.cluster import Cluster
from components.resources import Chart, CustomResource, documents
from components.settings.sections.tools import Tool
from facts.catalog.model import Resources
from facts.concepts.kubernetes import manifest
from facts.concepts.pool import ROLE_LABEL

ON_ADMIN: Final = {ROLE_LABEL: "admin"}
"""The node selector of every pod of a chart."""

REACHED_PORT: Final = 10250
"""Port for calls from the control plane to a pod (webhooks, aggregated APIs). A cloud's firewall admits the control
plane to nodes and pods on this port (the kubelet's) and on 443, but not on the default ports of charts.
https://cloud.google.com/kubernetes-engine/docs/concepts/firewall-rules#cluster-fws
https://github.com/kedacore/keda-docs/issues/384
"""

_PASSWORD_BYTES: Final = 24


def release(
    cluster: Cluster, chart: Chart, values: Mapping[str, Any], parent: pulumi.Resource, *after: pulumi.Resource
) -> CustomResource:
    """The chart with these ``values``, installed after its dependencies."""
    return cluster.objects.helm_release(chart.name, {**chart.where, "values": values}, parent, *after)


def forwarded(chart: Chart, service: str, port: int) -> str:
    """The command that forwards ``port`` to the chart's ``service``."""
    return f"kubectl -n {chart.namespace} port-forward svc/{service} {port}:80"


def values_in(file: str, tool: type[Tool] | Tool, **values: object) -> dict[str, Any]:
    """The values of a chart, in ``file`` beside this module: ``${<pod>}`` stands for the ``resources`` of a pod of the
    ``tool``, ``${admin}`` for the admin pool's node selector, ``${port}`` for ``REACHED_PORT``."""
    known = {"admin": ON_ADMIN, "port": REACHED_PORT, **{pod: requests(asked) for pod, asked in tool.pods.items()}}
    (content,) = documents(Path(__file__).parent / file, **{**known, **values})
    return dict(content)


def requests(resources: Resources, *, limited: bool = True) -> dict[str, Any]:
    """A container's ``resources``; ``limited``: with a memory limit of twice its request."""
    requested = {"cpu": f"{resources.milli_cpu}m", "memory": f"{resources.memory_mib}Mi"}
    return {"requests": requested, **({"limits": {"memory": f"{2 * resources.memory_mib}Mi"}} if limited else {})}


def password(
    cluster: Cluster, name: str, space: str, keys: Mapping[str, str], parent: pulumi.Resource, *after: pulumi.Resource
) -> CustomResource:
    """A Secret with ``keys`` and a generated password under the key ``password``.

    It is also secret in the state, and the password does not change after its creation.
    """
    content = {**keys, "password": secrets.token_urlsafe(_PASSWORD_BYTES)}
    data = {key: base64.b64encode(value.encode()).decode() for key, value in content.items()}
    secret = manifest("v1", "Secret", name, space, data=pulumi.Output.secret(data))
    return cluster.objects.declare(f"{space}-{name}", secret, parent, *after, as_made=("data",))
