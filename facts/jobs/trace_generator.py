"""A trace for those who have none: seeded, in one of a few patterns. Pure."""

from __future__ import annotations

import math
import random
from typing import Final, Literal, get_args

from facts.jobs.trace import TraceJob

Pattern = Literal["mixed", "bursty", "diurnal", "sweep"]
PATTERNS: Final[tuple[Pattern, ...]] = get_args(Pattern)

_DAY: Final = 86_400.0
_BURST: Final = 12
_SWEEP: Final = 24
_MEDIAN_SECONDS: Final = 1800.0
_SIGMA: Final = 1.3
_SHARES: Final = {1: 0.7, 2: 0.1, 4: 0.15, 8: 0.05}
"""GPUs of a job → share of the jobs: most use one, as in the traces of Philly and Helios."""


def generated(pattern: Pattern, *, jobs: int, days: float, seed: int, largest: int = 8) -> tuple[TraceJob, ...]:
    """``jobs`` jobs that are submitted within ``days``, with 1, 2, 4 or 8 GPUs, ``largest`` at most.

    - ``bursty``: 12 jobs within ten minutes, at random times
    - ``diurnal``: most in the middle of each day, few at night
    - ``sweep``: 24 equal jobs with one GPU at the same moment
    - ``mixed``: a third of each

    Durations are log-normal with a median of half an hour; every second job is longer, some take many hours.
    """
    chance = random.Random(f"{pattern} {seed}")
    if pattern == "mixed":
        thirds = [jobs // 3, jobs // 3, jobs - 2 * (jobs // 3)]
        parts = zip(PATTERNS[1:], thirds, strict=True)
        every = [job for part, n in parts for job in generated(part, jobs=n, days=days, seed=seed, largest=largest)]
        return tuple(sorted(every, key=lambda job: job.submit))
    sizes = [size for size in _SHARES if size <= largest]
    shares = [_SHARES[size] for size in sizes]
    made: list[TraceJob] = []
    while len(made) < jobs:
        moment = chance.uniform(0, days * _DAY)
        if pattern == "sweep":
            duration = _duration(chance)
            made += [TraceJob(submit=moment, duration=duration) for _ in range(_SWEEP)]
            continue
        if pattern == "diurnal" and chance.random() > (1 - math.cos(2 * math.pi * moment / _DAY)) / 2:
            continue
        for _ in range(_BURST if pattern == "bursty" else 1):
            submit = moment + (chance.uniform(0, 600) if pattern == "bursty" else 0)
            made.append(TraceJob(submit=submit, duration=_duration(chance), gpus=chance.choices(sizes, shares)[0]))
    return tuple(sorted(made[:jobs], key=lambda job: job.submit))


def _duration(chance: random.Random) -> float:
    return max(60.0, chance.lognormvariate(math.log(_MEDIAN_SECONDS), _SIGMA))
