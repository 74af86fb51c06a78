"""Deploying follows the plan that was reviewed, and drift is what the real engine reports after a refresh."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from packages.rehearsal.tests.engine_project import REAL_ENGINE, Project
from rehearsal.providers.base import CallContext, Created, Diff, Previous, Properties
from rehearsal.report.drift import drift_of
from tests.policies.gated_project import Anything, gated, gated_project

pytestmark = REAL_ENGINE

PROGRAM = """
key = pulumi.Output.secret("x")
first = Resource("gcp:storage/bucket:Bucket", "first", {"location": values["location"], "key": key})
Resource("gcp:storage/bucket:Bucket", "second", {"location": first.id.apply(str.lower)})
for name in values.get("more", []):
    Resource("gcp:storage/bucket:Bucket", name, {"location": "US"})
"""


class Buckets(Anything):
    """Buckets whose location somebody can change behind Pulumi's back (``moved``: name → location) until an update."""

    moved: dict[str, str]

    def __init__(self) -> None:
        super().__init__("gcp")
        self.moved = {}

    def instance(self) -> Buckets:
        return self

    def diff(self, request: CallContext, id: str, before: Previous, news: Properties, ignored: tuple[str, ...]) -> Diff:
        return Diff(tuple(key for key in news if before.inputs.get(key) != news[key]))

    def update(self, request: CallContext, id: str, before: Previous, news: Properties, timeout: float) -> Properties:
        self.moved.pop(request.name, None)
        return news

    def read(self, request: CallContext, id: str, inputs: Properties, state: Properties) -> Created:
        place = {"location": self.moved[request.name]} if request.name in self.moved else {}
        return Created(id, {**state, **place}, {**inputs, **place})


@pytest.fixture
def buckets() -> Buckets:
    return Buckets()


@pytest.fixture
def project(tmp_path: Path, buckets: Buckets) -> Iterator[Project]:
    with gated_project(tmp_path, PROGRAM, buckets) as made:
        made.write(location="EU")
        yield made


def test_an_update_follows_its_plan_and_refuses_anything_else_before_it_starts(project: Project) -> None:
    gated(project, "preview", "--save-plan", "plan.json")
    assert '"plaintext"' not in (project.directory / "plan.json").read_text(), "secrets are encrypted in the plan"
    project.write(location="EU", more=["third"])
    gated(project, "up", "--yes", "--plan", "plan.json", refused=True)
    assert project.resources("gcp:storage/bucket:Bucket") == [], "the planned buckets are not created either"
    project.write(location="EU")
    gated(project, "up", "--yes", "--plan", "plan.json")
    assert len(project.resources("gcp:storage/bucket:Bucket")) == 2


def test_drift_of_a_real_preview_is_listed_and_gone_after_the_update(
    project: Project, buckets: Buckets, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PULUMI_DEBUG_COMMANDS", "true")

    def drift() -> list[str]:
        events = project.directory / "events.jsonl"
        project.run("preview", "--refresh", "--stack=test", "--event-log", str(events))
        lines = drift_of(events.read_text())
        assert lines is not None
        return lines

    project.up()
    assert drift() == []
    buckets.moved["first"] = "ASIA"
    assert drift() == ["- update `gcp:storage/bucket:Bucket` `first`: `location`"]
    refreshed = ["--refresh", "--suppress-progress"]
    gated(project, "preview", "--save-plan", "plan.json", *refreshed)
    gated(project, "up", "--yes", "--plan", "plan.json", *refreshed)
    assert buckets.moved == {}
    assert drift() == []
