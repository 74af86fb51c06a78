"""Prints what the simulated clouds are held to: ``python -m packages.rehearsal.tests.providers.recordings``.

The first table has each recording of requests, answers and plans: fields that are compared, those that are equal, and
why the others differ. The second has each recorded node: its machine, then each field with the real and the simulated
value where they differ, and why. Everything is compared anew, by the functions that the tests use.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packages.rehearsal.tests.providers import test_recorded_nodes as recorded_nodes
from packages.rehearsal.tests.providers.aks import test_recorded_answers as azure
from packages.rehearsal.tests.providers.aks.account import Microsoft
from packages.rehearsal.tests.providers.eks import test_recorded_answers as aws
from packages.rehearsal.tests.providers.gke import test_recorded_answers as google
from packages.rehearsal.tests.providers.gke import test_recorded_requests as sent
from packages.rehearsal.tests.providers.gke.account import Google
from packages.rehearsal.tests.providers.gke.requests import requests


@dataclass(frozen=True)
class Row:
    """A recording: how many fields are compared, and those that differ, each with why."""

    cloud: str
    name: str
    compared: int
    different: Mapping[str, str]

    def __str__(self) -> str:
        why = "; ".join(f"{what}: {because}" for what, because in self.different.items())
        equal = self.compared - len(self.different)
        return f"| {self.cloud} | {self.name} | {self.compared} | {equal} | {why} |"


def leaves(value: Any) -> int:
    """How many values there are in a document."""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 1 if parts is None else sum(map(leaves, parts))


def of_google(folder: Path) -> Iterator[Row]:
    """Answers of the API, states of Pulumi's provider, and what Google's provider sends and plans."""
    for recorded in google.RECORDED:
        fields = [*google.compared(recorded, Google(folder / recorded["name"]))]
        unequal = {each.path: _why(each.exception(recorded)) for each in fields if each.real != each.simulated}
        yield Row("gke", f"answers: {recorded['name']}", len(fields), unequal)
    for stack in dict.fromkeys(each["stack"] for each in sent.RESOURCES):
        mine = [each for each in sent.RESOURCES if each["stack"] == stack]
        unequal = {each["name"]: "" for each in mine if requests(each["type"], each["inputs"]) != each["requests"]}
        yield Row("gke", f"requests: {stack}, a field is a resource", len(mine), unequal)
    differing = {f"{type.rpartition(':')[2]} {how} {of}": why for (type, how, of), why in sent.DIFFERENCES.items()}
    yield Row("gke", "plans of changes", len(sent.CHANGES), differing)


def _why(exception: str) -> str:
    listed = {path: why for (path, _), why in google.DIFFERENCES.items()}
    mock = "the recorder's own mock says otherwise" if exception in google.OF_THE_MOCK else ""
    return listed.get(exception) or mock or "its request is not in the recording"


def of_azure(folder: Path) -> Iterator[Row]:
    """Answers of Azure's API."""
    for recorded in azure.RECORDED:
        account = Microsoft(folder / recorded["name"])
        paths = [path for path, _ in azure.differences(recorded["answer"], azure.answer(recorded, account), "")]
        unequal = {path: azure.DIFFERENCES[path] for path in paths}
        yield Row("aks", f"answers: {recorded['name']}", leaves(recorded["answer"]), unequal)


def of_aws(folder: Path) -> Iterator[Row]:
    """What AWS answered Pulumi's provider."""
    for file in aws.FILES:
        resources = json.loads(file.read_text("utf-8"))["resources"]
        found = dict(aws.Replay(folder / file.stem).differences(resources))
        unequal = {f"{type.rpartition(':')[2]}.{key}": aws.DIFFERENCES[type, key] for type, key in found}
        yield Row("eks", f"answers: {file.stem}", sum(leaves(each["outputs"]) for each in resources), unequal)


def nodes(folder: Path) -> Iterator[str]:
    """A line for each recorded node without a difference, and for each difference of another."""
    for cloud, table in recorded_nodes.TABLES.items():
        for name, row in table["compared"].items():
            machines = next(row["with"][key] for key in recorded_nodes.MACHINE_KEYS if key in row["with"])
            machine = machines if isinstance(machines, str) else ", ".join(machines)
            place = folder / cloud / name.replace(" ", "-").replace("/", "-")
            place.mkdir(parents=True)
            found = dict(recorded_nodes.differences(cloud, row, *recorded_nodes.simulated(cloud, row, place)))
            count = sum(len(row.get(key) or ()) for key in ("labels", "taints", "allocatable", "pods"))
            yield f"| {cloud} | {name} | {machine} | {count} | {count - len(found)} | | | |"
            for what, how in found.items():
                real, _, simulated = how.partition(", simulated ")
                why = row["differences"][what]
                yield f"| | | | | | {what}: {real} | {simulated} | {why} |"
        for name, row in (table.get("not_comparable") or {}).items():
            yield f"| {cloud} | {name} | | not comparable | | | | {row['because']} |"


def lines(folder: Path) -> Iterator[str]:
    """Both tables; the first ends in the sums of each cloud."""
    yield from ("| cloud | recording | compared | equal | differs, and why |", "|---|---|---|---|---|")
    compared, different = Counter[str](), Counter[str]()
    for row in (*of_google(folder), *of_azure(folder), *of_aws(folder)):
        compared[row.cloud] += row.compared
        different[row.cloud] += len(row.different)
        yield str(row)
    for cloud, count in compared.items():
        equal = count - different[cloud]
        yield f"| {cloud} | all | {count} | {equal}, {100 * equal / count:.1f} % | |"
    yield ""
    yield from (
        "| cloud | node | machine | compared | equal | real | simulated | why |",
        "|---|---|---|---|---|---|---|---|",
    )
    yield from nodes(folder / "nodes")


def main() -> None:
    """Print."""
    with tempfile.TemporaryDirectory() as folder:
        for line in lines(Path(folder)):
            sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    main()
