"""Notebooks on GPUs, in a browser: JupyterHub.

The chart's values: https://z2jh.jupyter.org/en/stable/resources/reference.html
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pulumi

from components.cluster import Cluster
from components.resources import Chart
from components.settings.tools import Notebook
from components.users import open_tool
from components.workloads.charts import ON_ADMIN, password, release, requests
from facts.concepts.kubernetes import (
    DO_NOT_DISRUPT,
    GPU_RESOURCE,
    SAFE_TO_EVICT,
    UNINTERRUPTED,
    tolerations,
    uninterrupted_budget,
)
from facts.concepts.pool import POOL_LABEL, Pool, gpus_per_pod

CHART: Final = Chart(
    repository="https://hub.jupyter.org/helm-chart", name="jupyterhub", version="4.4.0", namespace="notebook"
)
SERVICE: Final = "proxy-public"
LOGIN: Final = "login"
"""The Secret with the generated password."""

_VARIABLE: Final = "NOTEBOOK_PASSWORD"
# An empty pool takes minutes to start a node, and the image has about 10 GB.
_START_SECONDS: Final = 1800
# The hub treats traffic and output as activity. So an open tab, which sends requests all the time, would keep a GPU
# forever, and a program without output would be stopped:
# https://github.com/jupyterlab/jupyterlab/issues/19796, https://github.com/jupyterhub/jupyterhub-idle-culler/issues/55
# The notebook server itself knows what runs, so it stops itself. The directory is unused in the usual images.
# https://jupyter-server.readthedocs.io/en/latest/other/full-config.html
_SERVER_SETTINGS: Final = "/usr/local/etc/jupyter/jupyter_server_config.py"
_END_WHEN_IDLE: Final = """\
from jupyter_server.base.handlers import APIHandler

# Requests that a browser sends by itself are not activity.
APIHandler._track_activity = False
c = get_config()
c.MappingKernelManager.cull_idle_timeout = {seconds}
c.MappingKernelManager.cull_interval = 60
c.MappingKernelManager.cull_connected = True
c.MappingKernelManager.cull_busy = False
c.TerminalManager.cull_inactive_timeout = {seconds}
c.TerminalManager.cull_interval = 60
c.ServerApp.shutdown_no_activity_timeout = {seconds}
"""
# For a notebook that does not stop itself: an image with another server, or a user's own settings.
_SILENT_SECONDS: Final = 24 * 3600
_READ_PASSWORD: Final = f"c.SharedPasswordAuthenticator.user_password = __import__('os').environ['{_VARIABLE}']"


@dataclass(frozen=True, kw_only=True)
class NotebookHubArgs:
    """Notebooks on the GPU ``pools`` of ``cluster``, after the admin pool and the StorageClass (``after``)."""

    cluster: Cluster
    notebook: Notebook
    pools: Sequence[Pool]
    after: tuple[pulumi.Resource, ...] = ()


class NotebookHub(pulumi.ComponentResource):
    """JupyterHub behind a Service that is reachable only from the cluster; every user must log in."""

    def __init__(self, name: str, args: NotebookHubArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:index:NotebookHub", name, None, opts)
        space = args.cluster.objects.namespace(CHART.namespace, self)
        needs: list[pulumi.Resource] = [space]
        generated = args.notebook.login_secret is None
        open_tool(args.cluster, CHART.namespace, self, space, [LOGIN] if generated else [])
        args.cluster.objects.declare(f"{name}-uninterrupted", uninterrupted_budget(CHART.namespace), self, space)
        if generated:
            needs.append(password(args.cluster, LOGIN, CHART.namespace, {}, self, space))
        pools, home_class = _offered(args)
        release(args.cluster, CHART, values(args.notebook, pools, home_class), self, *needs, *args.after)
        self.register_outputs({"service": f"{CHART.namespace}/{SERVICE}", "sizes": [one.name for one in pools]})


def _offered(args: NotebookHubArgs) -> tuple[Sequence[Pool], str | None]:
    """The pools that attach the users' home volumes, and the StorageClass of those: a user has one home for all."""
    of_pool = {pool.name: args.cluster.handle.volume_class(pool) for pool in args.pools}
    home_class = None if None in of_pool.values() else next(iter(of_pool.values()), None)
    left_out = [name for name, its in of_pool.items() if its != home_class]
    if left_out:
        pulumi.warn(
            f"workloads.notebook: machines of {', '.join(left_out)} do not attach the disks of users' home volumes, so "
            "notebooks are offered on the other pools"
        )
    return [pool for pool in args.pools if pool.name not in left_out], home_class


def values(notebook: Notebook, pools: Sequence[Pool], home_class: str | None = None) -> dict[str, Any]:
    """The chart's values, with home volumes of ``home_class`` (``None``: the default StorageClass).

    By default the chart admits everyone, through a public load balancer.
    """
    return {
        "hub": {
            **_login(notebook),
            "resources": requests(notebook.pods["hub"]),
            "nodeSelector": ON_ADMIN,
            "db": {"pvc": {"storage": f"{notebook.disk_gb}Gi"}},
        },
        "proxy": {
            "service": {"type": "ClusterIP"},
            "chp": {"resources": requests(notebook.pods["proxy"]), "nodeSelector": ON_ADMIN},
        },
        "singleuser": {
            "image": dict(zip(("name", "tag"), _image(notebook.image), strict=True)),
            "startTimeout": _START_SECONDS,
            "storage": {
                "capacity": f"{notebook.home_gb}Gi",
                **({} if home_class is None else {"dynamic": {"storageClass": home_class}}),
            },
            # Neither an autoscaler nor an upgrade evicts it; it stops itself when nothing runs in it.
            "extraLabels": {UNINTERRUPTED: "true"},
            "extraAnnotations": {SAFE_TO_EVICT: "false", DO_NOT_DISRUPT: "true"},
            "extraFiles": {
                "idle.py": {
                    "mountPath": _SERVER_SETTINGS,
                    "stringData": _END_WHEN_IDLE.format(seconds=60 * notebook.idle_minutes),
                }
            },
            # Only GPU pools: the admin pool has no room for users' work.
            "profileList": [_profile(size) for size in _sizes(pools)],
        },
        # Disable the chart's scheduler, and its DaemonSet that pulls the image to unused nodes.
        "scheduling": {"userScheduler": {"enabled": False}, "userPlaceholder": {"enabled": False}},
        "prePuller": {"hook": {"enabled": False}, "continuous": {"enabled": False}},
        "cull": {
            "enabled": True,
            "timeout": max(_SILENT_SECONDS, 60 * notebook.idle_minutes),
            "every": 600,
            "adminUsers": True,
        },
    }


def _login(notebook: Notebook) -> dict[str, Any]:
    """https://jupyterhub.readthedocs.io/en/stable/reference/api/auth.html"""
    if notebook.login_secret is not None:
        return {
            "config": {"JupyterHub": {"admin_access": False, "authenticator_class": _CLASSES[notebook.login]}},
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


# The names under which the hub's image registers them: https://oauthenticator.readthedocs.io
_CLASSES: Final = {
    "native": "native",
    "github": "github",
    "gitlab": "gitlab",
    "google": "google",
    "azuread": "azuread",
    "generic-oauth": "generic-oauth",
    "ldap": "ldapauthenticator.LDAPAuthenticator",
}


def _image(reference: str) -> tuple[str, str]:
    name, _, tag = reference.rpartition(":")
    return (name, tag) if name and "/" not in tag else (reference, "latest")


def _sizes(pools: Sequence[Pool]) -> Iterator[Sequence[Pool]]:
    """Pools that differ only in their zones are one choice: a notebook must run in the zone of its home volume."""
    sizes: dict[tuple[str, int, bool], list[Pool]] = {}
    for pool in pools:
        sizes.setdefault((pool.declared_at, pool.gpus_per_node, pool.spot), []).append(pool)
    yield from sizes.values()


def _profile(pools: Sequence[Pool]) -> dict[str, Any]:
    """A choice on the page: https://jupyterhub-kubespawner.readthedocs.io/en/latest/spawner.html"""
    pool = pools[0]
    gpus = gpus_per_pod(pool)
    price = "" if pool.hourly_usd is None else f", ${pool.hourly_usd:.2f} an hour"
    ends = "; the cloud may take its machine away at any time" if pool.spot else ""
    names = [each.name for each in pools]
    most = sum(each.max_nodes for each in pools)
    return {
        "display_name": f"{gpus} × {pool.gpus.type}{', spot' if pool.spot else ''}",
        "slug": pool.name,
        "description": f"{', '.join(names)}: up to {most} machines{price}{ends}",
        "kubespawner_override": {
            "extra_resource_limits": {GPU_RESOURCE: str(gpus)},
            "extra_resource_guarantees": {GPU_RESOURCE: str(gpus)},
            "node_affinity_required": [{"matchExpressions": [{"key": POOL_LABEL, "operator": "In", "values": names}]}],
            "tolerations": tolerations(dict.fromkeys(taint for each in pools for taint in each.taints)),
        },
    }
