"""The stack's outputs: pools, a Job manifest per pool, cost, quotas."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import yaml

from components.clouds.names import shortened
from components.resources import documents
from components.settings import Settings
from components.settings.pools.costs import fees, reserved_nodes
from components.settings.quotas import quotas as needed_quotas
from components.settings.sections.teams import Team
from components.teams import required_class
from facts import catalog
from facts.catalog.tables import by_key
from facts.concepts.autoscaler import KARPENTERS
from facts.concepts.counts import counted
from facts.concepts.kubernetes import (
    DEFAULT_NAMESPACE,
    DO_NOT_DISRUPT,
    SAFE_TO_EVICT,
    UNINTERRUPTED,
    manifest,
    tolerations,
)
from facts.concepts.parts import NO_FABRIC
from facts.concepts.pool import POOL_LABEL, Pool, kind_labels, with_mps

_RETRIES_ON_SPOT: Final = 3
_GPU_INSTALL: Final = """\
in a checkout:    pipx install ./packages/gpu
without one:      pipx install "git+https://HOST/OWNER/REPOSITORY#subdirectory=packages/gpu"
from your admin:  pipx install gpucluster_gpu-VERSION-py3-none-any.whl  (built by: uv build packages/gpu -o dist)
then:             pulumi stack output -s {stack} kubeconfig --show-secrets > kubeconfig
                  export KUBECONFIG=$PWD/kubeconfig
                  gpu pools
"""
# A Job's name is a label of its pods: https://kubernetes.io/docs/concepts/workloads/controllers/job/#writing-a-job-spec
_JOB_NAME_LIMIT: Final = 63


# libyaml where the wheel has it: the Python one took 30 % of the CPU of a program with a hundred pools.
_DUMPER: Final = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def of_settings(settings: Settings) -> dict[str, Any]:
    """The outputs that depend on the settings only."""
    return {
        "pools": pools(settings.gpu_pools),
        "gpuJobs": gpu_jobs(settings.gpu_pools, settings.autoscaler, settings.teams),
        "cost": cost(settings),
        "quotas": quotas(settings),
        "gpuInstall": _GPU_INSTALL.format(stack=settings.stack),
        **raw(settings),
    }


def raw(settings: Settings) -> dict[str, Any]:
    """The stack file's ``raw`` inputs; empty without any."""
    entries = {pool.name: dict(pool.raw) for pool in settings.pools if pool.raw}
    return {"raw": {"cluster": dict(settings.raw), "pools": entries}} if settings.raw or entries else {}


def pools(specs: Sequence[Pool]) -> dict[str, Any]:
    """Pool name → what a workload needs to select it; ``gpusPerNode`` counts physical GPUs."""
    return {
        spec.name: {
            "gpu": spec.gpus.type,
            "gpusPerNode": spec.gpus.per_node,
            "min": spec.scaling.min_nodes,
            "max": spec.scaling.max_nodes,
            "spot": spec.scaling.spot,
            "capacity": "on-demand" if spec.scaling.owned else spec.scaling.capacity_type,
            "hourlyUsd": _cents(spec.nodes.hourly_usd),
            "priceAtMost": spec.nodes.price_at_most,
            "machineType": spec.nodes.machine_type,
            "teams": list(spec.nodes.teams),
            "taints": [asdict(taint) for taint in spec.nodes.taints],
            "labels": dict(spec.nodes.labels),
        }
        for spec in specs
    }


def gpu_jobs(specs: Sequence[Pool], autoscaler: str, teams: Sequence[Team] = ()) -> dict[str, str]:
    """Pool name → the YAML of a Job that uses all GPUs of one node of that pool, or of one slice, and prints them."""
    return {
        spec.name: yaml.dump_all(_check(spec, autoscaler, teams), Dumper=_DUMPER, sort_keys=False) for spec in specs
    }


def _check(spec: Pool, autoscaler: str, teams: Sequence[Team]) -> Iterator[dict[str, Any]]:
    """The Job; for a slice with a pod on each node, and a Service without which GKE names the pods to none of them:
    https://docs.cloud.google.com/kubernetes-engine/docs/how-to/tpus"""
    job = gpu_job(spec, autoscaler, teams)
    if spec.gpus.slice_nodes > 1:
        name, pods = job["metadata"]["name"], spec.gpus.slice_nodes
        job["spec"] |= {"completionMode": "Indexed", "parallelism": pods, "completions": pods}
        job["spec"]["template"]["spec"]["subdomain"] = name
        selected = {"clusterIP": "None", "selector": {"batch.kubernetes.io/job-name": name}}
        yield manifest("v1", "Service", name, job["metadata"]["namespace"], spec=selected)
    yield job


def gpu_job(spec: Pool, autoscaler: str, teams: Sequence[Team] = ()) -> dict[str, Any]:
    """The Job: one pod with all GPUs of a node, or, on shared GPUs, one pod per share."""
    pods, gpus_per_pod = (spec.gpus.allocatable, 1) if spec.gpus.shares > 1 else (1, spec.gpus.per_node)
    check = by_key("", "checks", "resource")[(spec.gpus.resource,)]
    metadata = {"labels": {UNINTERRUPTED: "true"}} if not spec.scaling.drained else {}
    (job,) = documents(
        Path(__file__).with_name("gpu-job.yaml"),
        name=shortened(f"gpu-check-{spec.name}", _JOB_NAME_LIMIT),
        namespace=next(iter(spec.nodes.teams), DEFAULT_NAMESPACE),
        pods=pods,
        # A spot node may be reclaimed while the pod runs; that is not the job's failure.
        retries=_RETRIES_ON_SPOT if spec.scaling.spot else 0,
        metadata={**metadata, "annotations": _undisturbed(spec, autoscaler)},
        selector={POOL_LABEL: spec.nodes.labels[POOL_LABEL], **kind_labels(spec.nodes.labels, spec.nodes.cloud_labels)},
        tolerations=tolerations(spec.nodes.taints),
        program=check["program"],
        image=check["image"],
        command=shlex.split(check["command"]),
        gpu=spec.gpus.resource,
        gpus=gpus_per_pod,
        # One node needs no devices. Where they are limits, requesting them all proves that the node has them.
        limits={spec.gpus.resource: gpus_per_pod, **(spec.nodes.fabric or NO_FABRIC).limits},
    )
    template = job["spec"]["template"]
    template["spec"] = with_mps(template["spec"], spec.nodes.labels)
    template["spec"] |= required_class(teams, job["metadata"]["namespace"])
    return dict(job)


def _undisturbed(spec: Pool, autoscaler: str) -> dict[str, str]:
    """Annotations that keep a job on its node until it ends.

    The autoscaler must not drain a half-idle node with a job. Karpenter removes a node as soon as the cloud announces
    maintenance for it, weeks ahead: https://karpenter.sh/v1.14/concepts/disruption/#interruption. A spot
    instance stops two minutes after its warning anyway, and one of a capacity block ten minutes after Karpenter drains
    its node; the annotation would only shorten the pod's shutdown.
    """
    undisrupted = {DO_NOT_DISRUPT: "true"} if autoscaler in KARPENTERS and not spec.scaling.drained else {}
    return {SAFE_TO_EVICT: "false", **undisrupted}


def cost(settings: Settings) -> dict[str, Any]:
    """List prices in US dollars per hour; ``None`` where one is unknown, as ``notes`` explain. ``idleAtMost`` and
    ``maxAtMost`` say that a price is not known and that an upper limit counts in its place."""
    if settings.own is not None:
        idle, most = settings.cost_idle_hourly, settings.cost_max_hourly
        note = "your own machines, by hourlyUsd of the stack file: fixed ones cost the same whether used or not"
        known_costs = {"idleHourlyUsd": _cents(idle), "maxHourlyUsd": _cents(most)}
        return {**known_costs, "idleAtMost": False, "maxAtMost": False, "notes": [note]}
    notes = [
        "list prices, without traffic, logging, discounts and taxes",
        "the maximum counts both spot pools and their on-demand fallback pools",
    ]
    if settings.priced_at_most:
        names = ", ".join(pool.name for pool in settings.priced_at_most)
        notes.append(f"at most, because no price of a spot node or in {settings.region} is known: {names}")
    if settings.unpriced:
        notes.append(f"no known price: {', '.join(pool.name for pool in settings.unpriced)}")
    if settings.workloads.notebook is not None:
        notes.append(
            f"without the notebook users' home volumes, {settings.workloads.notebook.home_gb} GB each (retained)"
        )
    if reserved := [(pool, count) for pool, count in reserved_nodes(settings.pools) if count]:
        usd = sum(count * (pool.nodes.hourly_usd or 0.0) for pool, count in reserved)
        names = ", ".join(f"{counted(count, 'machine')} of {pool.name}" for pool, count in reserved)
        notes.append(f"idle includes {usd:.2f} for reserved machines ({names}), billed whether they are used or not")
    known = catalog.of(settings.cloud)
    if settings.existing_cluster is not None:
        notes.append("the GPU pools alone: the cluster and its other nodes are their owner's")
        return _costs(settings, 0.0, notes)
    if settings.workloads.shared_volume is not None and known.prices.volume is None:
        notes.append("without the shared volume, which is billed by its content for as long as it exists")
    if fixed_fees := fees(known, settings.region, settings.kubernetes, settings.workloads, settings.network):
        notes.append(
            f"idle includes up to {sum(fixed_fees.values()):.2f} for {', '.join(fixed_fees)}, whether used or not"
        )
    support = known.choices.support(settings.kubernetes.version)
    if support is not None and known.prices.extended_support is not None:
        fee, version = known.prices.extended_support.usd, settings.kubernetes.version
        notes.append(
            f"Kubernetes {version}: from {support.extended} its control plane costs {fee:.2f}/h (extended support)"
        )
    floor: float | None = 0.0
    if settings.workloads.services:
        from components.workloads.inference_service import floor_usd  # imports the job planner, which few stacks need

        floor = floor_usd(settings)
    if floor is None:
        notes.append("without the services' minimum replicas: the price of their nodes is unknown")
    elif floor:
        notes.append(f"idle includes {floor:.2f} for the services' minimum replicas")
    return _costs(settings, floor or 0.0, notes)


def _costs(settings: Settings, floor: float, notes: Sequence[str]) -> dict[str, Any]:
    """The output; ``floor`` is what services cost while nobody asks them."""
    idle = settings.cost_idle_hourly
    return {
        "idleHourlyUsd": _cents(None if idle is None else idle + floor),
        "maxHourlyUsd": _cents(settings.cost_max_hourly),
        "idleAtMost": settings.idle_at_most,
        "maxAtMost": settings.max_at_most,
        "asOf": settings.known.prices.control_plane.dated,
        "notes": [*notes],
    }


def quotas(settings: Settings) -> list[dict[str, Any]]:
    """The account quotas that the stack needs with all pools at maxNodes.

    ``instead`` is the quota that applies if the account never received the named one.
    """
    return [
        {
            "quota": quota.name,
            "where": quota.place,
            "needed": quota.needed,
            "unit": quota.unit,
            "pools": list(quota.pools),
            **({"instead": quota.instead} if quota.instead else {}),
        }
        for quota in needed_quotas(settings)
    ]


def _cents(usd: float | None) -> float | None:
    return None if usd is None else round(usd, 2)
