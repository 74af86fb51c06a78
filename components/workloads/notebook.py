"""Notebooks on GPUs, in a browser: JupyterHub.

The chart's values: https://z2jh.jupyter.org/en/stable/resources/reference.html
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import pulumi

from components.cluster import Cluster
from components.resources import Chart
from components.settings.sections.tools import Notebook
from components.users import open_tool
from components.workloads.charts import forwarded, password, release, values_in
from components.workloads.data import WorkloadArgs
from facts.concepts.kubernetes import (
    DO_NOT_DISRUPT,
    SAFE_TO_EVICT,
    UNINTERRUPTED,
    tolerations,
    uninterrupted_budget,
)
from facts.concepts.pool import POOL_LABEL, Pool, gpus_per_pod, selected_labels

CHART: Final = Chart(
    repository="https://hub.jupyter.org/helm-chart", name="jupyterhub", version="4.4.0", namespace="notebook"
)
SERVICE: Final = "proxy-public"
CHARTS: Final = (CHART,)
USAGE: Final = forwarded(CHART, SERVICE, 8000)
LOGIN: Final = "login"
"""The Secret with the generated password."""

_VARIABLE: Final = "NOTEBOOK_PASSWORD"
# For a notebook that does not stop itself: an image with another server, or a user's own settings.
_SILENT_SECONDS: Final = 24 * 3600
# Logins whose name is not that under which the hub's image registers them: https://oauthenticator.readthedocs.io
_AUTHENTICATORS: Final[Mapping[str, str]] = {"ldap": "ldapauthenticator.LDAPAuthenticator"}
_READ_PASSWORD: Final = f"c.SharedPasswordAuthenticator.user_password = __import__('os').environ['{_VARIABLE}']"


class NotebookHub(pulumi.ComponentResource):
    """JupyterHub behind a Service that is reachable only from the cluster; every user must log in."""

    def __init__(self, name: str, args: WorkloadArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:index:NotebookHub", name, None, opts)
        space = args.cluster.objects.namespace(CHART.namespace, self)
        needs: list[pulumi.Resource] = [space]
        setting = args.workloads.notebook
        assert setting is not None
        generated = setting.login_secret is None
        open_tool(args.cluster, CHART.namespace, self, space, [LOGIN] if generated else [])
        args.cluster.objects.declare(f"{name}-uninterrupted", uninterrupted_budget(CHART.namespace), self, space)
        if generated:
            needs.append(password(args.cluster, LOGIN, CHART.namespace, {}, self, space))
        pools, home_class = _offered(args.cluster)
        release(args.cluster, CHART, values(setting, pools, home_class), self, *needs, *args.after)
        self.register_outputs({"service": f"{CHART.namespace}/{SERVICE}", "sizes": [one.name for one in pools]})


TOOL: Final = NotebookHub


def _offered(cluster: Cluster) -> tuple[Sequence[Pool], str | None]:
    """The pools that attach the users' home volumes, and the StorageClass of those: a user has one home for all."""
    of_pool = {pool.name: cluster.handle.volume_class(pool) for pool in cluster.settings.gpu_pools}
    home_class = None if None in of_pool.values() else next(iter(of_pool.values()), None)
    left_out = [name for name, its in of_pool.items() if its != home_class]
    if left_out:
        pulumi.warn(
            f"workloads.notebook: machines of {', '.join(left_out)} do not attach the disks of users' home volumes, so "
            "notebooks are offered on the other pools"
        )
    return [pool for pool in cluster.settings.gpu_pools if pool.name not in left_out], home_class


def values(notebook: Notebook, pools: Sequence[Pool], home_class: str | None = None) -> dict[str, Any]:
    """The chart's values, with home volumes of ``home_class`` (``None``: the default StorageClass)."""
    image, tag = _image(notebook.image)
    seconds = 60 * notebook.idle_minutes
    chart = values_in(
        "notebook-values.yaml",
        notebook,
        disk_gb=notebook.disk_gb,
        home_gb=notebook.home_gb,
        image=image,
        tag=tag,
        seconds=seconds,
        silent_seconds=max(_SILENT_SECONDS, seconds),
        undisturbed={SAFE_TO_EVICT: "false", DO_NOT_DISRUPT: "true"},
        uninterrupted={UNINTERRUPTED: "true"},
        # A notebook is one pod: it would start all nodes of a slice. Its namespace is no team's.
        profiles=[
            _profile(size)
            for size in _sizes([pool for pool in pools if pool.gpus.slice_nodes <= 1 and not pool.nodes.teams])
        ],
    )
    login = _login(notebook)
    chart["hub"]["extraConfig"] |= login.pop("extraConfig", {})
    chart["hub"] |= login
    if home_class is not None:
        chart["singleuser"]["storage"]["dynamic"] = {"storageClass": home_class}
    return chart


def _login(notebook: Notebook) -> dict[str, Any]:
    """https://jupyterhub.readthedocs.io/en/stable/reference/api/auth.html"""
    login = notebook.login
    if notebook.login_secret is not None:
        return {
            "config": {"JupyterHub": {"admin_access": False, "authenticator_class": _AUTHENTICATORS.get(login, login)}},
            "existingSecret": notebook.login_secret,
        }
    return {
        "config": {
            "JupyterHub": {"admin_access": False, "authenticator_class": "shared-password"},
            # Any user who knows the password.
            "Authenticator": {"allow_all": True},
        },
        "extraEnv": {_VARIABLE: {"valueFrom": {"secretKeyRef": {"name": LOGIN, "key": "password"}}}},
        "extraConfig": {"password": _READ_PASSWORD},
    }


def _image(reference: str) -> tuple[str, str]:
    name, _, tag = reference.rpartition(":")
    return (name, tag) if name and "/" not in tag else (reference, "latest")


def _sizes(pools: Sequence[Pool]) -> Iterator[Sequence[Pool]]:
    """Pools that differ only in their zones are one choice: a notebook must run in the zone of its home volume."""
    sizes: dict[tuple[str, int, bool], list[Pool]] = {}
    for pool in pools:
        sizes.setdefault((pool.declared_at, pool.gpus.per_node, pool.scaling.spot), []).append(pool)
    yield from sizes.values()


def _profile(pools: Sequence[Pool]) -> dict[str, Any]:
    """A choice on the page: https://jupyterhub-kubespawner.readthedocs.io/en/latest/spawner.html"""
    pool = pools[0]
    gpus = gpus_per_pod(pool)
    at_most = "at most " if pool.nodes.price_at_most else ""
    price = "" if pool.nodes.hourly_usd is None else f", {at_most}${pool.nodes.hourly_usd:.2f} an hour"
    ends = "; the cloud may take its machine away at any time" if pool.scaling.spot else ""
    names = [each.name for each in pools]
    most = sum(each.scaling.max_nodes for each in pools)
    selected = {key: [value] for key, value in selected_labels(pool.nodes.labels, pool.nodes.cloud_labels).items()}
    return {
        "display_name": f"{gpus} × {pool.gpus.type}{', spot' if pool.scaling.spot else ''}",
        "slug": pool.name,
        "description": f"{', '.join(names)}: up to {most} machines{price}{ends}",
        "kubespawner_override": {
            "extra_resource_limits": {pool.gpus.resource: str(gpus)},
            "extra_resource_guarantees": {pool.gpus.resource: str(gpus)},
            "node_affinity_required": [
                {
                    "matchExpressions": [
                        {"key": key, "operator": "In", "values": values}
                        for key, values in {POOL_LABEL: names, **selected}.items()
                    ]
                }
            ],
            "tolerations": tolerations(dict.fromkeys(taint for each in pools for taint in each.nodes.taints)),
            **({"extra_pod_config": {"hostIPC": True}} if pool.gpus.mps else {}),
        },
    }
