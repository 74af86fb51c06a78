"""Each edit of day two is one that settings take, changes what it says, and its verdict follows what was seen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from components.settings import from_stack_file
from facts import catalog
from facts.catalog.changes import Effects
from packages.rehearsal.tests.tables import cases
from rehearsal.day_two import docs
from rehearsal.day_two.edits import EDITS, DayTwoSet, Target, edit_stack, entry_of, next_minor, rounds
from rehearsal.day_two.job import judged
from rehearsal.engine.stack import ROOT, available, locate
from rehearsal.scenario.timeline import PodRecord
from tests import one_stack

EFFECTS = [effects for cloud in catalog.clouds() for effects in catalog.of(cloud).changes.values()]


def load(file: Path) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load(file.read_text())["config"]
    return content


def target(file: Path) -> Target:
    settings = from_stack_file(file)
    known = catalog.of(settings.cloud).choices.kubernetes_versions.get(settings.kubernetes.channel)
    version = settings.kubernetes.version or known or "1.34.4"
    return Target(entry_of(settings.gpu_pools[0].name, file), next_minor(version))


@pytest.mark.parametrize("which", ["all", "brief"])
@pytest.mark.parametrize(
    "stack",
    [
        *(name for name in available() if not name.endswith(("kubeadm.yaml", "kubeadm-ha.yaml", "existing.yaml"))),
        *(name for name in one_stack.VARIANTS if name.endswith(("ladder", "slices"))),
    ],
)
def test_every_update_is_a_valid_stack_and_differs_from_the_last(stack: str, which: DayTwoSet, tmp_path: Path) -> None:
    file = tmp_path / "Pulumi.edited.yaml"
    source = one_stack.variant(stack) if stack in one_stack.VARIANTS else locate(stack, ROOT)
    file.write_text(source.read_text())
    about, before = target(file), load(file)
    settings = from_stack_file(file)
    effects = catalog.of(settings.cloud).changes[settings.autoscaler]
    sliced = all(pool.gpus.slice_nodes for pool in settings.gpu_pools)
    assert sliced is stack.endswith("slices")
    joined = settings.existing_cluster is not None
    assert joined is stack.endswith("existing-cluster.yaml")
    protected = settings.security.deletion_protection
    played = rounds(which, effects, protected=protected, sliced=sliced, joined=joined)
    assert {"label", "tag", "pool-added"} <= {edit.id for edits in played for edit in edits}
    for edits in played:
        difference = edit_stack(file, edits, about)
        assert load(file) != before, edits
        assert any(line[:1] in "+-" for line in difference.splitlines())
        assert "encryptionsalt" not in difference
        before = load(file)
        from_stack_file(file)


def test_each_edit_changes_the_jobs_pool_or_leaves_it_alone(tmp_path: Path) -> None:
    file = tmp_path / "Pulumi.edited.yaml"
    file.write_text((ROOT / "Pulumi.dev.yaml").read_text())
    start = load(file)["gpucluster:gpuPools"]
    about, edited = target(file), {}
    for edit in EDITS:
        edit_stack(file, (edit,), about)
        edited[edit.id] = load(file)["gpucluster:gpuPools"]
    assert edited["maximum-raised"][0]["maxNodes"] == start[0]["maxNodes"] + 1
    assert edited["maximum-lowered"][0]["maxNodes"] == start[0]["maxNodes"]
    assert edited["disk"][0]["diskGb"] != start[0].get("diskGb", 100)
    assert [len(edited[id]) - len(start) for id in ("pool-added", "pool-renamed", "pool-removed")] == [1, 1, 0]
    assert edited["pool-added"][-1]["gpusPerNode"] == start[0]["gpusPerNode"][0]
    assert edited["pool-added"][-1]["name"] != edited["pool-renamed"][-1]["name"]
    assert len({pool["name"] for pool in edited["pool-renamed"]}) == len(start) + 1


@pytest.mark.parametrize("effects", EFFECTS)
def test_the_quick_updates_end_no_job_anywhere(effects: Effects) -> None:
    (first, second), everything = rounds("brief", effects, protected=False), rounds("all", effects, protected=False)
    assert {"maximum-raised", "pool-added"} <= {edit.id for edit in first}
    assert {"maximum-lowered", "pool-removed"} <= {edit.id for edit in second}
    assert not [edit.id for edit in (*first, *second) if effects[edit.id].job == "ends"]
    assert [edit for (edit,) in everything] == list(EDITS)
    assert rounds("none", effects, protected=False) == []


@pytest.mark.parametrize("effects", EFFECTS)
def test_on_a_protected_stack_nothing_is_replaced_or_deleted(effects: Effects) -> None:
    made = {edit.id for edits in rounds("all", effects, protected=True) for edit in edits}
    assert not made & {"pool-removed", "pool-renamed"}
    assert ("disk" in made) == (effects["disk"].job != "ends")
    assert {"maximum-raised", "label", "tag"} <= made


def test_the_entry_of_a_pool_is_the_one_that_it_is_named_after(tmp_path: Path) -> None:
    file = tmp_path / "Pulumi.x.yaml"
    names = [{"name": name} for name in ("t4", "t4-big", "a100")]
    file.write_text(yaml.safe_dump({"config": {"gpucluster:gpuPools": names}}))
    entries = {pool: entry_of(pool, file) for pool in ("t4-1", "t4-big-4-spot", "a100-1-ondemand-a")}
    assert entries == {"t4-1": "t4", "t4-big-4-spot": "t4-big", "a100-1-ondemand-a": "a100"}


@pytest.mark.parametrize(("version", "following"), [("v1.34.4", "1.35"), ("1.35", "1.36"), ("1.9.1", "1.10")])
def test_the_next_minor(version: str, following: str) -> None:
    assert next_minor(version) == following


@cases
def test_a_job_ends_only_where_the_preview_announced_it(
    deleted: float | None, phase: str, announced: list[str], ends: bool, passed: bool
) -> None:
    pod = PodRecord("1", "default", "day-two", "day-two", None, 1, 0.0, phase=phase, running=1.0, deleted=deleted)
    assert judged(pod, tuple(announced), ends=ends)[0] is passed


def test_a_job_that_runs_on_a_node_without_its_labels_is_no_pass() -> None:
    pod = PodRecord("1", "default", "day-two", "day-two", None, 1, 0.0, phase="Running", running=1.0)
    passed, words = judged(pod, (), ends=False, lost=["kubernetes.azure.com/scalesetpriority"])
    assert (passed, "lost the label kubernetes.azure.com/scalesetpriority" in words) == (False, True)
    assert judged(pod, (), ends=False)[0]


@cases
def test_of_many_steps_the_first_few_are_named_and_none_of_another(announced: list[str], expected: str) -> None:
    pod = PodRecord("1", "default", "day-two", "day-two", None, 1, 0.0, phase="Running", running=1.0)
    assert judged(pod, tuple(announced), ends=False)[1].endswith(expected)


def test_every_cloud_and_autoscaler_says_what_each_edit_does_with_a_source() -> None:
    for cloud in catalog.clouds():
        known = catalog.of(cloud)
        assert set(known.changes) == set(known.choices.autoscalers)
        for effects in known.changes.values():
            assert {edit.id for edit in EDITS} <= set(effects)
            for id, effect in effects.items():
                shown = id not in {edit.id for edit in EDITS} and effect.preview.startswith("replace")
                assert effect.source.startswith("https://") or shown, (cloud, id)
                if id not in {edit.id for edit in EDITS}:
                    continue
                assert effect.job != "ends" or effect.preview.startswith(("replace", "delete")), (cloud, id)


def test_the_operations_page_has_the_tables_and_needs_a_place_for_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert docs.main(["--check"]) == 0, capsys.readouterr().err
    page = docs.TARGET.read_text()
    assert docs.render(page.replace("| keeps running |", "| ends |")) == page
    with pytest.raises(ValueError, match="has no lines"):
        docs.render("# Operations")
