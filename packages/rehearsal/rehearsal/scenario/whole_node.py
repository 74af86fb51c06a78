"""The job with which a pool scales from zero a second time."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Final

from rehearsal.cluster.api import Object
from rehearsal.scenario.plan import SECONDS, RunsOn, Submission

# A Job's name is a label of its pods: https://kubernetes.io/docs/concepts/workloads/controllers/job/#writing-a-job-spec
_JOB_NAME_LIMIT: Final = 63


def whole_node(pool: str, job: Object, free: Mapping[str, float]) -> Submission:
    """The job, requesting everything that the agents of a node of ``pool`` leave free: ``free`` cores and bytes.

    Only half of the disk, because no cloud guarantees an exact size. Pods of one job share the request.
    """
    larger = copy.deepcopy(job)
    larger["metadata"]["name"] = f"again-{job['metadata']['name']}"[:_JOB_NAME_LIMIT].rstrip("-")
    spec = larger["spec"]
    pods = spec.get("parallelism", 1)
    requests = {
        "cpu": f"{int(free['cpu'] * 1000) // pods}m",
        "memory": f"{int(free['memory']) // pods // 1024**2}Mi",
        **(
            {"ephemeral-storage": f"{int(disk) // 2 // pods // 1024**2}Mi"}
            if (disk := free.get("ephemeral-storage"))
            else {}
        ),
    }
    resources = spec["template"]["spec"]["containers"][0]["resources"]
    resources["requests"] = {**(resources.get("requests") or {}), **requests}
    spec["template"].setdefault("metadata", {}).setdefault("annotations", {})[SECONDS] = "3"
    title = f"a job that requests a whole node of {pool}, scaled from zero a second time"
    return Submission(f"again:{pool}", title, larger, RunsOn(frozenset({pool})))
