"""The fewest GPU hours that any cluster could pay for a trace. Pure."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable

from facts.jobs.trace import TraceJob


def without_waiting(jobs: Iterable[TraceJob], start_seconds: float) -> float:
    """The least GPU hours if no job waits and all jobs are known in advance.

    GPUs that run are at least those that jobs use; each one takes ``start_seconds`` to start and is paid meanwhile. So
    each is kept between two uses if the gap is shorter than a start. A cluster of whole machines can only pay more, but
    one whose jobs wait may pay less: at least what the jobs use.
    """
    changes: dict[str | None, list[tuple[float, int]]] = defaultdict(list)
    for job in jobs:
        heapq.heappush(changes[job.gpu], (job.submit, job.all_gpus))
        heapq.heappush(changes[job.gpu], (job.submit + job.duration, -job.all_gpus))
    seconds = 0.0
    for heap in changes.values():
        stopped: list[float] = []  # when each GPU that is not in use stopped; the last one is used first
        now, used = 0.0, 0
        while heap:
            moment, count = heapq.heappop(heap)
            seconds += used * (moment - now)
            now, used = moment, used + count
            stopped += [now] * -count
            for _ in range(count):
                seconds += min(now - stopped.pop(), start_seconds) if stopped else start_seconds
    return seconds / 3600
