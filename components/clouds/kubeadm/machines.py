"""Machines as resources: all are looked at before anything changes, then each becomes a node."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pulumi

from components.clouds.kubeadm import configuration
from components.clouds.kubeadm.declare import declare
from components.resources import CustomResource
from components.settings import Settings
from components.settings.own.resolve import OwnMachines
from components.settings.own.sections import Machine
from facts.catalog.kubeadm.packages import REPOSITORIES
from facts.concepts.pool import Pool

_TOKENS = "gpucluster-machines:index"


@dataclass(frozen=True, kw_only=True)
class Context:
    """What the machines of a stack share: ``first`` is looked at, and reached by, the plugin's ``provider``."""

    settings: Settings
    own: OwnMachines
    options: pulumi.ResourceOptions


def preflight(context: Context, name: str) -> CustomResource:
    """All machines, which are looked at together before anything changes on one of them."""
    settings, own = context.settings, context.own
    pools = (settings.admin_pool, *settings.pools)
    checked = [
        {
            "machine": machine_input(machine),
            "role": _role(pool),
            "gpus": pool.gpus_per_node if own.driver.get(pool.name) else 0,
        }
        for pool in pools
        for machine in own.machines[pool.name]
    ]
    inputs = {"machines": checked, "podCidr": own.pod_cidr, "serviceCidr": own.service_cidr}
    return declare(f"{_TOKENS}:Preflight", name, inputs, context.options)


def control_plane(context: Context, name: str, after: pulumi.Resource) -> CustomResource:
    """The machine on which ``kubeadm init`` runs."""
    own, pool = context.own, context.settings.admin_pool
    inputs = {
        **_node(context, own.control_plane, pool),
        "kubeadm": configuration.control_plane(context.settings.cluster_name, own, pool),
        "files": {configuration.AUDIT: dict(configuration.AUDIT_POLICY)},
        "encryptionConfig": configuration.ENCRYPTION,
    }
    protected = context.settings.security.deletion_protection or None
    options = pulumi.ResourceOptions.merge(
        context.options, pulumi.ResourceOptions(depends_on=[after], protect=protected)
    )
    outputs = ("endpoint", "caCertificate", "caHash", "adminKubeconfig", "userKubeconfig")
    return declare(f"{_TOKENS}:ControlPlane", name, inputs, options, outputs=outputs)


def workers(
    context: Context, name: str, pool: Pool, control_plane: CustomResource, opts: pulumi.ResourceOptions
) -> Iterator[CustomResource]:
    """The machines of a pool, each a node after ``kubeadm join``."""
    own = context.own
    for machine in own.machines[pool.name]:
        inputs = {
            **_node(context, machine, pool),
            "controlPlane": {"machine": machine_input(own.control_plane)},
            "endpoint": control_plane.output("endpoint"),
            "caHash": control_plane.output("caHash"),
            "kubeadm": configuration.worker(machine, pool),
        }
        if (branch := own.driver.get(pool.name)) is not None:
            inputs["nvidia"] = {"driver": branch, "gpus": pool.gpus_per_node}
        options = pulumi.ResourceOptions.merge(
            opts, pulumi.ResourceOptions(provider=context.options.provider, depends_on=[control_plane])
        )
        yield declare(f"{_TOKENS}:Worker", f"{name}-{machine.name}", inputs, options)


def machine_input(machine: Machine) -> dict[str, Any]:
    """A machine as the plugin takes it."""
    own = {"user": machine.user, "port": machine.port}
    return {
        "name": machine.name,
        "address": machine.address,
        "hostKey": machine.host_key,
        **{key: value for key, value in own.items() if value is not None},
    }


def _node(context: Context, machine: Machine, pool: Pool) -> dict[str, Any]:
    return {
        "machine": machine_input(machine),
        "software": software(context.own),
        "labels": dict(pool.labels),
        "taints": configuration.taints(pool),
        "firewall": {"machines": sorted(each.address for pool in context.own.machines.values() for each in pool)},
    }


def software(own: OwnMachines) -> dict[str, Any]:
    """The version of Kubernetes and where packages come from: mirrors of the stack file before the owners' own."""
    sources = {}
    for key, repository in REPOSITORIES.items():
        mirror = getattr(own.packages, key)
        url = repository.url if mirror is None else mirror.url
        sources[key] = {
            "url": url.replace("{minor}", own.version),
            "key": mirror.key if mirror is not None else repository.key,
            "fingerprint": repository.fingerprint if mirror is None else mirror.fingerprint,
        }
    proxy = {} if own.packages.proxy is None else {"proxy": own.packages.proxy}
    return {"kubernetesVersion": own.version, "repositories": sources, **proxy}


def _role(pool: Pool) -> str:
    return "controlPlane" if pool.role == "admin" else "worker"
