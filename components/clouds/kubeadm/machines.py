"""Machines as resources: all are looked at before anything changes, then each becomes a node."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pulumi

from components.clouds.deployed import Deployed
from components.clouds.kubeadm.add_ons import FIREWALL_PORTS
from components.clouds.machines_plugin import declare, deployed_outputs
from components.resources import CustomResource, documents
from components.settings import Settings
from components.settings.pools.own import OwnMachines
from components.settings.sections.own_machines import MachineSetting, PackageSource
from facts.catalog.kubeadm.packages import REPOSITORIES, Repository
from facts.concepts.kubernetes import node_taints
from facts.concepts.pool import Pool

USERS: Final = "gpucluster:users"
"""The user of the output ``kubeconfig``, and the group of its certificate."""

WORKER: Final = "Worker"
_PLANE: Final = "AdditionalControlPlane"
_HERE: Final = Path(__file__).parent
_AUDIT_POLICY: Final = "/etc/kubernetes/gpucluster/audit.yaml"
"""The plugin mounts its folder into the API server."""


@dataclass(frozen=True, kw_only=True)
class MachinesContext:
    """What the machines of a stack share; ``options`` have the cluster as parent, and the plugin's provider."""

    settings: Settings
    own: OwnMachines
    options: pulumi.ResourceOptions
    deployed: Deployed


def preflight(context: MachinesContext, name: str) -> CustomResource:
    """All machines, which are looked at together before anything changes on one of them."""
    settings, own = context.settings, context.own
    pools, addresses = (settings.admin_pool, *settings.pools), own.file.network.load_balancer_range
    checked = [
        {
            "machine": machine_input(machine),
            "role": "controlPlane" if pool.role == "admin" else "worker",
            "gpus": pool.gpus.per_node if own.driver.get(pool.name) else 0,
            **({"gpu": pool.gpus.type} if pool.gpus.per_node else {}),
            **_driver(own, pool),
        }
        for pool in pools
        for machine in own.machines[pool.name]
    ]
    inputs = {
        "machines": checked,
        "podCidr": own.file.network.pod_cidr,
        "serviceCidr": own.file.network.service_cidr,
        "software": _software(own),
        **({} if addresses is None else {"loadBalancerRange": addresses}),
        **_virtual_address(own),
    }
    return declare("Preflight", name, inputs, context.options)


def control_plane(context: MachinesContext, name: str, after: pulumi.Resource) -> CustomResource:
    """The machine on which ``kubeadm init`` runs."""
    own = context.own
    inputs = {
        **_plane(context, own.control_planes[0]),
        "kubeadm": documents(
            _HERE / "kubeadm.yaml",
            cluster=context.settings.cluster_name,
            pods=own.file.network.pod_cidr,
            services=own.file.network.service_cidr,
            audit=_AUDIT_POLICY,
        ),
        "user": {"name": USERS, "groups": [USERS]},
    }
    options = pulumi.ResourceOptions.merge(context.options, pulumi.ResourceOptions(depends_on=[after]))
    outputs = ("endpoint", "caCertificate", "caHash", "adminKubeconfig", "userKubeconfig", "kubernetesVersion")
    return declare("ControlPlane", name, inputs, options, outputs=outputs)


def additional_control_planes(context: MachinesContext, name: str, first: CustomResource) -> Iterator[CustomResource]:
    """The other machines with a control plane; each joins the cluster of the ``first``."""
    former = _former(context, _PLANE)
    options = pulumi.ResourceOptions.merge(context.options, pulumi.ResourceOptions(depends_on=[first]))
    for machine in context.own.control_planes[1:]:
        inputs = {**_plane(context, machine), **_joins(context, first)}
        its = pulumi.ResourceOptions.merge(options, _as_before(machine, former))
        yield declare(_PLANE, f"{name}-{machine.name}", inputs, its)


def workers(
    context: MachinesContext,
    pool: Pool,
    control_planes: Sequence[CustomResource],
    opts: pulumi.ResourceOptions,
) -> Iterator[CustomResource]:
    """The machines of a pool, each a node after ``kubeadm join``; upgraded after all ``control_planes``."""
    own, former = context.own, _former(context, WORKER)
    options = pulumi.ResourceOptions.merge(
        opts, pulumi.ResourceOptions(provider=context.options.provider, depends_on=[*control_planes])
    )
    for machine in own.machines[pool.name]:
        inputs: dict[str, Any] = {
            **_node(context, machine, pool),
            **_joins(context, control_planes[0]),
            "kubeadm": [],
            "gpus": pool.gpus.per_node,
        }
        if driver := _driver(own, pool):
            inputs["nvidia"] = driver
        its = pulumi.ResourceOptions.merge(options, _as_before(machine, former))
        yield declare(WORKER, machine.name, inputs, its)


def _former(context: MachinesContext, kind: str) -> Mapping[str, str]:
    """The URN that a machine had at the last update, by its name: one with another name is known by its host key.

    It stays that resource when its pool gets another name, or it another pool or name. As a new one it would join, and
    then leave the cluster as the former one.
    """
    there = [machine for machines in context.own.machines.values() for machine in machines]
    kept = {machine.name for machine in there}
    deployed = {urn: each["machine"] for urn, each in deployed_outputs(kind, context.deployed).items()}
    names = {machine["name"]: urn for urn, machine in deployed.items()}
    gone = {machine["hostKey"]: urn for urn, machine in deployed.items() if machine["name"] not in kept}
    urns = {each.name: names.get(each.name) or gone.get(each.host_key) for each in there}
    return {name: urn for name, urn in urns.items() if urn is not None}


def _as_before(machine: MachineSetting, former: Mapping[str, str]) -> pulumi.ResourceOptions:
    return pulumi.ResourceOptions(aliases=[former[machine.name]] if machine.name in former else [])


def _driver(own: OwnMachines, pool: Pool) -> dict[str, str]:
    """NVIDIA's driver on a pool's machines; empty where none is installed from here."""
    both = {"driver": own.driver.get(pool.name), "kernelModules": own.kernel_modules.get(pool.name)}
    return {key: value for key, value in both.items() if value is not None}


def machine_input(machine: MachineSetting) -> dict[str, Any]:
    """A machine as the plugin takes it."""
    return machine.model_dump(by_alias=True, exclude_none=True)


def _plane(context: MachinesContext, machine: MachineSetting) -> dict[str, Any]:
    """What all control planes have; what differs between them would be an API server that answers otherwise."""
    (audit_policy,) = documents(_HERE / "audit-policy.yaml")
    return {
        **_node(context, machine, context.settings.admin_pool),
        "files": [{"path": _AUDIT_POLICY, "content": json.dumps(audit_policy, indent=1) + "\n"}],
        "encryptSecrets": True,
        # System pods run on it too.
        "schedulable": True,
        **_virtual_address(context.own),
    }


def _joins(context: MachinesContext, first: CustomResource) -> dict[str, Any]:
    return {
        "controlPlane": {
            "machine": machine_input(context.own.control_planes[0]),
            "kubernetesVersion": first.outputs["kubernetesVersion"],
        },
        "endpoint": first.outputs["endpoint"],
        "caHash": first.outputs["caHash"],
    }


def _virtual_address(own: OwnMachines) -> dict[str, Any]:
    address = own.file.admin_pool.virtual_address
    return {} if address is None else {"virtualAddress": address}


def _node(context: MachinesContext, machine: MachineSetting, pool: Pool) -> dict[str, Any]:
    own = context.own
    more: dict[str, Any] = {}
    if pool.role == "admin" and own.file.network.authorized_networks:
        more["apiClients"] = [each.cidr for each in own.file.network.authorized_networks]
    if pool.role == "admin" and len(own.control_planes) > 1:
        more["controlPlanes"] = [each.address for each in own.control_planes]
    addresses = sorted(each.address for machines in own.machines.values() for each in machines)
    ports = {"ports": list(FIREWALL_PORTS)} if own.file.network.load_balancer_range is not None else {}
    return {
        "machine": machine_input(machine),
        "software": _software(own),
        "labels": dict(pool.nodes.labels),
        "taints": node_taints(pool.nodes.taints),
        "firewall": {"machines": addresses, "podCidr": own.file.network.pod_cidr, **more, **ports},
    }


def _software(own: OwnMachines) -> dict[str, Any]:
    """The version of Kubernetes and where packages come from: mirrors of the stack file before the owners' own."""
    packages = own.file.packages
    mirrors = {"kubernetes": packages.kubernetes, "driver": packages.driver, "toolkit": packages.toolkit}
    sources = {name: _source(mirrors[name] or repository) for name, repository in REPOSITORIES.items()}
    others: dict[str, Any] = {} if packages.proxy is None else {"proxy": packages.proxy}
    if packages.no_proxy:
        others["noProxy"] = list(packages.no_proxy)
    if packages.images:
        others["images"] = [mirror.model_dump(exclude_defaults=True) for mirror in packages.images]
    version = own.file.kubernetes.version
    kubernetes, minor = {**sources["kubernetes"], "version": version}, ".".join(version.split(".")[:2])
    kubernetes |= {key: kubernetes[key].replace("{minor}", minor) for key in ("url", "keyUrl")}
    return {"kubernetes": kubernetes, "nvidia": sources["driver"], "toolkit": sources["toolkit"], **others}


def _source(source: PackageSource | Repository) -> dict[str, Any]:
    signed = {"url": source.url, "keyUrl": source.key, "keyFingerprint": source.fingerprint}
    keys = source.keys if isinstance(source, Repository) else {}
    others = {name: {"keyUrl": key, "keyFingerprint": fingerprint} for name, (key, fingerprint) in keys.items()}
    return {**signed, "keys": others} if others else signed
