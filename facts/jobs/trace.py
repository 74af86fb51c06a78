"""A trace: the jobs of some days, as a CSV file. Each has a time of submission, GPUs and a duration; and one for those
who have none, seeded, in one of a few patterns. Pure."""

from __future__ import annotations

import csv
import io
import math
import random
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, get_args

REQUIRED: Final = ("submit_seconds", "gpus", "duration_seconds")
OPTIONAL: Final = ("gpu", "workers", "max_wait_seconds", "priority")
_SHOWN: Final = 20
_MEMORY: Final = re.compile(r"(\d+) ?g(?:i?b|i)", re.IGNORECASE)


class TraceError(ValueError):
    """The trace cannot be read; the message lists every problem with its file, line and column."""

    def __init__(self, problems: list[str]) -> None:
        more = [f"and {len(problems) - _SHOWN} more"] if len(problems) > _SHOWN else []
        super().__init__("\n".join([*problems[:_SHOWN], *more]))
        self.problems = tuple(problems)


@dataclass(frozen=True, kw_only=True)
class TraceJob:
    """``workers`` pods that run together for ``duration`` seconds, each with ``gpus`` GPUs.

    ``submit`` is in seconds since any moment. ``gpu`` is a type's name or a part of it (``a100``), or the least memory
    of a GPU (``24GB``); ``None`` is any GPU. ``max_wait`` is how many seconds the job should wait at most. A higher
    ``priority`` starts first.
    """

    submit: float
    duration: float
    gpus: int = 1
    gpu: str | None = None
    workers: int = 1
    max_wait: float | None = None
    priority: int = 0

    @property
    def all_gpus(self) -> int:
        """GPUs of all workers."""
        return self.gpus * self.workers

    @property
    def gpu_memory_gib(self) -> int | None:
        """The least memory of a GPU, if ``gpu`` is one."""
        match = _MEMORY.fullmatch(self.gpu or "")
        return None if match is None else int(match[1])


def read_trace(text: str, file: str) -> tuple[TraceJob, ...]:
    """The jobs of a trace, in order of submission.

    Raises:
        TraceError: with all problems of the file.
    """
    rows = csv.reader(io.StringIO(text.removeprefix("\ufeff")))
    header = [name.strip() for name in next(rows, [])]
    problems = [f"{file}:1: no column {name}" for name in REQUIRED if name not in header]
    problems += [
        f"{file}:1: column {name or '(empty)'}: write {', '.join((*REQUIRED, *OPTIONAL))}"
        for name in dict.fromkeys(header)
        if name not in (*REQUIRED, *OPTIONAL) or header.count(name) > 1
    ]
    if problems:
        raise TraceError(problems)
    jobs = []
    for row in rows:
        if not any(cell.strip() for cell in row):
            continue
        where = f"{file}:{rows.line_num}"
        if len(row) != len(header):
            problems.append(f"{where}: {len(row)} cells, the header has {len(header)}")
            continue
        cells = {name: cell.strip() for name, cell in zip(header, row, strict=True)}
        wrong = _problems(cells)
        problems += [f"{where}: {problem}" for problem in wrong]
        if not wrong:
            jobs.append(_job(cells))
    if not jobs and not problems:
        problems.append(f"{file}: no jobs")
    if problems:
        raise TraceError(problems)
    return tuple(sorted(jobs, key=lambda job: job.submit))


def written(jobs: Iterable[TraceJob]) -> str:
    """The jobs as a trace file."""
    lines = io.StringIO()
    rows = csv.writer(lines, lineterminator="\n")
    rows.writerow(("submit_seconds", "gpus", "gpu", "workers", "duration_seconds", "max_wait_seconds", "priority"))
    for job in jobs:
        wait = "" if job.max_wait is None else f"{job.max_wait:g}"
        rows.writerow(
            (f"{job.submit:.0f}", job.gpus, job.gpu or "", job.workers, f"{job.duration:.0f}", wait, job.priority)
        )
    return lines.getvalue()


def _count(cell: str) -> bool:
    return cell.isdecimal() and int(cell) > 0


def _seconds(cell: str) -> bool:
    return re.fullmatch(r"\d+(\.\d*)?", cell) is not None


_CHECKS: Final[Mapping[str, tuple[Callable[[str], bool], str]]] = {
    "submit_seconds": (_seconds, "write seconds since the start of the trace"),
    "duration_seconds": (lambda cell: _seconds(cell) and float(cell) > 0, "write seconds, more than 0"),
    "max_wait_seconds": (_seconds, "write seconds, or nothing"),
    "gpus": (_count, "write a whole number, at least 1"),
    "workers": (_count, "write a whole number, at least 1"),
    "priority": (lambda cell: re.fullmatch(r"-?\d+", cell) is not None, "write a whole number; higher starts first"),
}


def _problems(cells: Mapping[str, str]) -> list[str]:
    return [
        f"column {name}: '{cell}': {hint}"
        for name, cell in cells.items()
        if name in _CHECKS and (cell or name in REQUIRED)
        for valid, hint in (_CHECKS[name],)
        if not valid(cell)
    ]


def _job(cells: Mapping[str, str]) -> TraceJob:
    return TraceJob(
        submit=float(cells["submit_seconds"]),
        duration=float(cells["duration_seconds"]),
        gpus=int(cells["gpus"]),
        workers=int(cells.get("workers") or 1),
        priority=int(cells.get("priority") or 0),
        gpu=cells.get("gpu") or None,
        max_wait=float(cells["max_wait_seconds"]) if cells.get("max_wait_seconds") else None,
    )


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
