"""Published traces of GPU clusters, as the jobs that ``gpu plan`` simulates. Pure.

- Alibaba 2020, ``pai_task_table.csv`` (without a header) and 2023, ``openb_pod_list_*.csv``:
  https://github.com/alibaba/clusterdata (``cluster-trace-gpu-v2020``, ``cluster-trace-gpu-v2023``)
- Microsoft Philly, ``cluster_job_log``: https://github.com/msr-fiddle/philly-traces
- SenseTime Helios, ``cluster_log.csv``: https://github.com/S-Lab-System-Group/HeliosData

A part of a GPU becomes a whole one. Left out are entries without GPUs, and those without a start or an end.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from facts.jobs.trace import TraceError, TraceJob, read_trace

_PAI: Final = (
    *("job_name", "task_name", "inst_num", "status", "start_time", "end_time"),
    *("plan_cpu", "plan_mem", "plan_gpu", "gpu_type"),
)
_GPUS: Final[Mapping[str, str]] = {
    "T4": "t4",
    "P100": "p100",
    "V100": "v100",
    "V100M16": "v100",
    "V100M32": "v100-32gb",
    "A10": "a10",
}
"""Types of the traces → ours; others (``MISC``, ``G2``) are any GPU."""

Entry = Mapping[str, Any]


@dataclass(frozen=True)
class LoadedTrace:
    """The jobs, the ``format`` of their file (empty: the own one) and how many of its entries were left out."""

    jobs: tuple[TraceJob, ...]
    format: str = ""
    left_out: int = 0


def load_trace(text: str, file: str) -> LoadedTrace:
    """The jobs of a trace in the own or a published format, which it is recognised by.

    Raises:
        TraceError: with all problems of the file.
    """
    first = text.lstrip("\ufeff \n").partition("\n")[0].strip()
    if first.startswith("["):
        return _converted("Philly", _json(text, file), _philly, file)
    columns = first.split(",")
    for name, needed, convert in _FORMATS:
        if needed <= set(columns):
            return _converted(name, _rows(text, columns, skip=1), convert, file)
    if len(columns) == len(_PAI) and columns[3] in ("Terminated", "Failed", "Running", "Waiting"):
        return _converted("Alibaba 2020", _rows(text, _PAI, skip=0), _pai, file)
    return LoadedTrace(read_trace(text, file))


def _converted(
    name: str, entries: Iterator[tuple[int, Entry]], convert: Callable[[Entry], TraceJob | None], file: str
) -> LoadedTrace:
    jobs, problems, left_out = [], [], 0
    for number, entry in entries:
        try:
            job = convert(entry)
        except (KeyError, TypeError, ValueError) as error:
            problems.append(f"{file}:{number}: no entry of {name}: {error}")
            continue
        if job is None or job.duration <= 0:
            left_out += 1
        else:
            jobs.append(job)
    if problems or not jobs:
        raise TraceError(problems or [f"{file}: no jobs with GPUs, a start and an end"])
    start = min(job.submit for job in jobs)
    moved = (replace(job, submit=job.submit - start) for job in jobs)
    return LoadedTrace(tuple(sorted(moved, key=lambda job: job.submit)), name, left_out)


def _rows(text: str, columns: Sequence[str], *, skip: int) -> Iterator[tuple[int, Entry]]:
    for number, row in enumerate(csv.reader(io.StringIO(text)), 1):
        if number > skip and row:
            yield number, dict(zip(columns, row, strict=True)) if len(row) == len(columns) else {}


def _json(text: str, file: str) -> Iterator[tuple[int, Entry]]:
    try:
        yield from enumerate(json.loads(text), 1)
    except ValueError as error:
        raise TraceError([f"{file}: no JSON: {error}"]) from None


def _pai(row: Entry) -> TraceJob | None:
    percent = float(row["plan_gpu"] or 0)
    if not percent or not row["start_time"] or not row["end_time"]:
        return None
    return TraceJob(
        submit=float(row["start_time"]),
        duration=float(row["end_time"]) - float(row["start_time"]),
        gpus=math.ceil(percent / 100),
        workers=max(1, round(float(row["inst_num"] or 1))),
        gpu=_GPUS.get(row["gpu_type"]),
    )


def _openb(row: Entry) -> TraceJob | None:
    if not int(row["num_gpu"]) or not row["scheduled_time"] or not row["deletion_time"]:
        return None
    types = (_GPUS.get(each) for each in row["gpu_spec"].split("|"))
    return TraceJob(
        submit=float(row["creation_time"]),
        duration=float(row["deletion_time"]) - float(row["scheduled_time"]),
        gpus=int(row["num_gpu"]),
        gpu=next((each for each in types if each), None),
    )


def _helios(row: Entry) -> TraceJob | None:
    gpus, nodes = int(row["gpu_num"]), max(1, int(row["node_num"]))
    if not gpus:
        return None
    duration = float(row["duration"])
    return TraceJob(submit=_moment(row["submit_time"]), duration=duration, gpus=math.ceil(gpus / nodes), workers=nodes)


def _philly(entry: Entry) -> TraceJob | None:
    """All attempts together, on the machines of the last one."""
    runs = [run for run in entry["attempts"] if _known(run["start_time"]) and _known(run["end_time"]) and run["detail"]]
    if not runs or not _known(entry["submitted_time"]):
        return None
    machines = [len(machine["gpus"]) for machine in runs[-1]["detail"]]
    if not max(machines):
        return None
    return TraceJob(
        submit=_moment(entry["submitted_time"]),
        duration=sum(_moment(run["end_time"]) - _moment(run["start_time"]) for run in runs),
        gpus=max(machines),
        workers=len(machines),
    )


def _known(moment: str | None) -> bool:
    return moment not in (None, "", "None")


def _moment(text: str) -> float:
    """Seconds on the clock of the trace, which names no time zone."""
    return (datetime.fromisoformat(text) - datetime(2000, 1, 1)).total_seconds()


_FORMATS: Final[tuple[tuple[str, frozenset[str], Callable[[Entry], TraceJob | None]], ...]] = (
    ("Helios", frozenset({"gpu_num", "node_num", "submit_time", "duration"}), _helios),
    ("Alibaba 2023", frozenset({"num_gpu", "gpu_spec", "creation_time", "deletion_time", "scheduled_time"}), _openb),
    ("Alibaba 2020", frozenset(_PAI), _pai),
)
