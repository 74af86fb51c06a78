"""The comment on a pull request: five made-up ones, compared whole; untrusted texts; secrets; length.

``pull_requests/<case>.jsonl`` has the engine's events of a case, ``<case>.md`` the approved comment. The test of the
real engine compares with the same comments; with ``RECORD=1`` in the environment it writes both files anew.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from markdown_it import MarkdownIt
from markdown_it.token import Token

from facts.catalog.changes import Effects
from facts.concepts.credentials import hidden
from packages.cli.tests.test_cli import run
from rehearsal.engine.changed_stacks import checkout
from rehearsal.engine.engine import gate_for
from rehearsal.engine.events import read_events
from rehearsal.engine.stack import ROOT, resolve
from rehearsal.report.changes import StackChange, compared, stack_change
from rehearsal.report.pull_request import LIMIT, MARKER, CommentBlock, StackReport, comment, joined, listing
from rehearsal.run import preview as run_preview
from rehearsal.run.preview import Base, effects_of, preview

Config = dict[str, Any]
FOLDER = Path(__file__).parent / "pull_requests"
PAGES = "../../../../../docs/policies.md"
"""The rules' page as the approved comments link to it, so that their links are checked."""
DEV = resolve("dev")


def _pools(config: Config) -> list[dict[str, Any]]:
    pools: list[dict[str, Any]] = config["gpucluster:gpuPools"]
    return pools


CASES: Mapping[str, Callable[[Config], object]] = {
    "new-pool": lambda config: _pools(config).append(
        {"name": "l4", "gpu": "nvidia-l4", "capacity": "spot-with-fallback", "maxNodes": 2}
    ),
    "removed-pool": lambda config: _pools(config)[0].update(gpusPerNode=[1]),
    "dearer-gpu": lambda config: _pools(config)[0].update(gpu="nvidia-l4"),
    "refused": lambda config: config.update({"gpucluster:cpuPools": [{"name": "web", "minNodes": 4, "maxNodes": 5}]}),
    "first-stack": lambda config: None,
}


def report_of(change: StackChange | None, **more: Any) -> StackReport:
    return StackReport(stack="dev", source="Preview on a simulated cloud", change=change, **more)


def recorded(case: str) -> StackChange:
    return stack_change(read_events(FOLDER / f"{case}.jsonl"), effects_of(DEV))


@pytest.mark.parametrize("case", CASES)
def test_a_comment_is_the_approved_one(case: str) -> None:
    assert comment([report_of(recorded(case))], pages=PAGES) == (FOLDER / f"{case}.md").read_text()


@pytest.mark.rehearsal
@pytest.mark.parametrize("case", CASES)
def test_the_real_engine_approves(case: str, tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = yaml.safe_load(DEV.file.read_text())
    CASES[case](content["config"])
    file = tmp_path / "Pulumi.dev.yaml"
    file.write_text(yaml.safe_dump(content, sort_keys=False))
    logged: list[dict[str, Any]] = []

    def logging(events: list[dict[str, Any]], effects: Effects) -> StackChange:
        logged.extend(events)
        return stack_change(events, effects)

    monkeypatch.setattr(run_preview, "stack_change", logging)
    base = None if case == "first-stack" else Base(ROOT, DEV.file)
    change = preview(resolve(str(file)), tools=tools, gate=gate_for(ROOT, "dev"), base=base).change
    text = comment([report_of(change)], pages=PAGES)
    if os.environ.get("RECORD"):
        lines = [json.dumps(event) for event in _shortened(logged)]
        (FOLDER / f"{case}.jsonl").write_text("\n".join(lines) + "\n")
        (FOLDER / f"{case}.md").write_text(text)
    assert text == (FOLDER / f"{case}.md").read_text()


_KEYS = ("op", "urn", "type", "provider", "keys", "diffs", "detailedDiff")
_OUTPUTS = ("cost", "pools", "quotas")
_POOL = ("min", "max", "capacity", "hourlyUsd", "machineType")


def _shortened(events: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """What a comment needs of the events: violations, errors, changes, the inputs of pools, the stack's outputs."""
    for event in events:
        if "policyEvent" in event or event.get("diagnosticEvent", {}).get("severity") in ("error", "warning"):
            yield {key: event[key] for key in event if key.endswith("Event")}
        for kind in ("resourcePreEvent", "resOutputsEvent"):
            metadata = event.get(kind, {}).get("metadata", {})
            pool = metadata.get("type", "").startswith(("gcp:container/", "pulumi:providers:gcp"))
            stack = metadata.get("type") == "pulumi:pulumi:Stack"
            if stack or (metadata and kind == "resourcePreEvent" and (pool or metadata["op"] != "same")):
                short = _chosen(metadata, _KEYS)
                for side in ("old", "new"):
                    if state := metadata.get(side):
                        inputs = state["inputs"] if pool else {}
                        outputs = _chosen(state["outputs"] or {}, _OUTPUTS)
                        if "pools" in outputs:
                            outputs["pools"] = {name: _chosen(one, _POOL) for name, one in outputs["pools"].items()}
                        known = _chosen(state, ("type", "provider"))
                        short[side] = {**known, "inputs": inputs, "outputs": outputs}
                yield {kind: {"metadata": short}}


def _chosen(mapping: Mapping[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    return {key: mapping[key] for key in keys if mapping.get(key)}


@pytest.mark.rehearsal
@pytest.mark.usefixtures("tools")
def test_the_bases_own_program_is_deployed_first(tmp_path: Path) -> None:
    with checkout("HEAD", tmp_path) as base:
        assert (base / ".venv").resolve() == (ROOT / ".venv").resolve()
        (report,) = run_preview.reports(["dev"], base)
    assert report.change is not None
    assert report.change.before is not None
    assert report.change.not_deployed == ""
    assert (report.change.before.max_usd, report.change.before.idle_usd) == (4.45, 0.19)
    assert list(tmp_path.iterdir()) == [], "the checkout is deleted"


def test_the_command_prints_the_file_last_and_succeeds_if_the_gate_refuses() -> None:
    hub = {"GITHUB_SERVER_URL": "https://hub.example", "GITHUB_REPOSITORY": "a/b", "GITHUB_SHA": "abc"}
    ended = run("pr-report", "dev", "--events", str(FOLDER / "refused.jsonl"), **hub)
    assert ended.returncode == 0, ended.stderr
    text = Path(ended.stdout.splitlines()[-1]).read_text()
    assert "(https://hub.example/a/b/blob/abc/docs/policies.md#idle-cost-ceiling)" in text
    assert "Preview of the deployed stack" in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("dve", "--base", "HEAD"), "did you mean dev?"),
        (("dev", "--base", "no-such-branch"), "cannot use the commit 'no-such-branch'"),
        (("dev", "prod", "--events", str(FOLDER / "refused.jsonl")), "the one stack that it is of"),
        (("dev", "--events", "no-such-file"), "no-such-file"),
    ],
)
def test_wrong_use_is_exit_code_2(arguments: tuple[str, ...], words: str) -> None:
    ended = run("pr-report", *arguments)
    assert ended.returncode == 2
    assert words in ended.stderr


def test_a_stack_file_that_is_not_valid_is_reported_with_its_problems(tmp_path: Path) -> None:
    file = tmp_path / "wrong.yaml"
    file.write_text(DEV.file.read_text().replace("maxNodes: 4", "maxNodes: 0"))
    text = comment([*run_preview.reports([str(file)], tmp_path)])
    assert "❌ no preview" in text
    assert "gpuPools[0].maxNodes" in text


def test_all_stacks_of_a_team_differ_when_the_program_does_and_no_example(monkeypatch: pytest.MonkeyPatch) -> None:
    changed = ["components/cluster.py", "examples/gke-tips.yaml", "Pulumi.old.yaml"]
    monkeypatch.setattr(run_preview, "changed_since", lambda base: changed)
    files, removed = run_preview.changed_stacks("main")
    assert files == ["Pulumi.dev.yaml", "Pulumi.prod.yaml", "examples/gke-tips.yaml"]
    assert removed == ["Pulumi.old.yaml"]


EVIL = "x`|</details><img src=//evil>\n</summary>@everyone ![p](//evil) #1 **b** \u202e&lt;"
"""What a name or a message may not do: end a fold, load an image, mention people, format."""


def events_of(name: str, message: str, *, output: str = "spot") -> list[dict[str, Any]]:
    """A preview of a GPU pool with that name, refused with that message."""
    urn = f"urn:pulumi:dev::p::gcp:container/nodePool:NodePool::{name}"
    config = {"machineType": "n1-standard-4", "guestAccelerators": [{"type": "nvidia-tesla-t4", "count": 1}]}
    size = {"minNodeCount": 0, "maxNodeCount": 3}
    inputs = {"name": name, "location": "us-central1-a", "nodeConfig": config, "autoscaling": size}
    new = {"type": "gcp:container/nodePool:NodePool", "urn": urn, "inputs": inputs}
    pool = {"op": "create", "type": new["type"], "urn": urn, "new": new}
    outputs = {
        "pools": {name: {"min": 0, "max": 3, "capacity": output, "hourlyUsd": 1, "machineType": "n1-standard-4"}},
        "cost": {"idleHourlyUsd": 0, "maxHourlyUsd": 3, "asOf": output},
        "quotas": [{"quota": output, "where": output, "needed": 3, "unit": output}],
    }
    stack = {"op": "create", "type": "pulumi:pulumi:Stack", "urn": "s", "new": {"outputs": outputs}}
    violation = {"policyName": output, "enforcementLevel": "mandatory", "resourceUrn": urn, "message": message}
    return [
        {"resourcePreEvent": {"metadata": pool}},
        {"resOutputsEvent": {"metadata": stack}},
        {"policyEvent": violation},
        {"diagnosticEvent": {"severity": "error", "message": message}},
    ]


OWN_HTML = re.compile(r"<!-- [\w ]+ -->|<details><summary>[\w ]+</summary>|</details>|</?sub>")


def tokens(markdown: str) -> list[Token]:
    """The comment as a code host reads it, without nesting."""
    blocks = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(markdown)
    return [token for block in blocks for token in block.children or [block]]


@pytest.mark.parametrize("refused", [True, False])
def test_untrusted_texts_are_only_ever_code(refused: bool) -> None:
    events = events_of(EVIL, f"title\n{EVIL}\n```\n</details>\n{EVIL}", output=EVIL)
    change = stack_change(events if refused else [*events[:2], events[3]])
    base = compared(change, stack_change(events_of(f"{EVIL}2", "")[:2]), EVIL)
    run = {
        "verdict": "fail",
        "reasons": [EVIL],
        "startedAt": "2026-11-25T10:00:00+00:00",
        "checks": [{"passed": False}],
    }
    reports = [report_of(change, rehearsal=run), report_of(base), report_of(None, error=f"~~~\n```\n{EVIL}")]
    text = comment([replace(report, stack=EVIL) for report in reports], removed=[f"Pulumi.{EVIL}.yaml"])
    assert all(OWN_HTML.fullmatch(one.content.strip()) for one in tokens(text) if one.type.startswith("html_"))
    links = [str(one.attrs["href"]) for one in tokens(text) if one.type == "link_open"]
    assert all(link.startswith("docs/policies.md#") for link in links)
    assert not any(one.type == "image" for one in tokens(text))
    prose = "".join(one.content for one in tokens(text) if one.type == "text")
    assert [part for part in ("evil", "everyone", "img", "#1") if part in prose] == [], "a mention, a link or HTML"
    assert "evil" in comment(reports), "it is shown, as code"


@pytest.mark.parametrize("text", ["`\x00`\x00`", "``\u200b``\n```", "~~~\r```\n# title", "a\u2028```"])
def test_a_listing_is_one_block_whatever_is_in_it(text: str) -> None:
    blocks = MarkdownIt().parse(listing(text))
    assert [one.type for one in blocks] == ["fence"]


KEY = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize("message", [f"bad {KEY} end", "bad AKIAABCDEFGHIJKLMNOP", "password: hunter22", "open-sesame"])
def test_no_secret_is_in_a_comment(message: str) -> None:
    events = hidden(events_of("open-sesame", message), ["open-sesame\nsecond line"])
    text = comment([report_of(stack_change(events))])
    assert "[secret]" in text
    for secret in ("MIIEow", "AKIAABCDEFGHIJKLMNOP", "hunter22", "sesame"):
        assert secret not in text


def test_a_text_that_only_speaks_of_secrets_stays() -> None:
    words = "Run: pulumi config set --secret gcp:credentials, or encrypt the Secret's token in etcd: see docs"
    assert hidden(words) == words


def test_a_comment_is_never_longer_than_a_host_takes() -> None:
    change = recorded("dearer-gpu")
    many = [replace(report_of(change), stack=f"stack-{number}") for number in range(60)]
    text = comment(many)
    assert 0.9 * LIMIT < len(text.encode()) <= LIMIT
    assert text.rstrip().endswith("the job's log has all of it._")
    assert text.count("<details>") == text.count("</details>")
    assert "stack-0" in text
    assert text.count("### ") == 60, "the details are left out first"


def test_what_is_left_out_are_whole_blocks_and_details_first() -> None:
    blocks = [CommentBlock("first"), CommentBlock("x" * 500, "more"), CommentBlock("last" * 50)]
    assert "details" in joined(blocks, 1000)
    assert joined(blocks, 400).startswith(f"first\n\n{'last' * 50}\n\n_Cut")
    assert joined(blocks, 120).startswith("first\n\n_Cut")


def test_a_failing_preview_shows_the_programs_message_and_no_gate() -> None:
    failed = [
        {"diagnosticEvent": {"severity": "error", "message": "gpuPools: missing"}},
        {"diagnosticEvent": {"severity": "error", "message": "an unhandled error occurred: exit code 1"}},
    ]
    text = comment([report_of(stack_change(failed))])
    assert "### `dev`: ❌ the preview fails" in text
    assert "gpuPools: missing" in text
    assert "exit code 1" not in text
    assert "**Gate:** no result" in text


def test_a_program_that_fails_on_its_way_removes_no_pool() -> None:
    half = [event for event in read_events(FOLDER / "removed-pool.jsonl") if "resOutputsEvent" not in event]
    failed = {"diagnosticEvent": {"severity": "error", "message": "no subnet"}}
    assert "removed" not in comment([report_of(stack_change([*half, failed]))])


def test_a_base_that_cannot_be_deployed_is_compared_as_declared() -> None:
    head, base = recorded("first-stack"), recorded("new-pool")
    text = comment([report_of(compared(head, base, "no machines"))])
    assert "compared without deployed resources" in text
    assert "🔴 **`l4-1-spot` removed**" in text
    assert "is unknown: `no machines`" in text
    assert "compared without" in comment([report_of(compared(head, head, "no machines"))]), "it may have changed"


def test_a_weight_is_a_place_in_the_order_of_pools() -> None:
    pool, stack = (next(iter(event.values()))["metadata"] for event in events_of("t4-1", "title\nmessage")[:2])
    pool |= {"op": "update", "old": pool["new"], "detailedDiff": {"spec.weight": {"kind": "update"}}}
    stack |= {"old": stack["new"]}
    (change,) = stack_change(
        [{"resourcePreEvent": {"metadata": pool}}, {"resOutputsEvent": {"metadata": stack}}]
    ).pools()
    assert (change.kind, change.details) == ("changed", ("its place in the order of pools",))


FIRST = ["create-replacement", "replace", "delete-replaced"]
LAST = ["delete-replaced", "replace", "create-replacement"]


@pytest.mark.parametrize(
    ("ops", "gpus", "cluster", "ends"),
    [
        pytest.param(FIRST, False, False, False, id="new first"),
        pytest.param(LAST, False, False, True, id="old first"),
        pytest.param(FIRST, True, False, True, id="jobs with GPUs are evicted"),
        pytest.param(FIRST, False, True, True, id="with its cluster"),
    ],
)
def test_pods_of_a_pool_without_gpus_move_where_the_new_one_is_made_first(
    ops: list[str], gpus: bool, cluster: bool, ends: bool
) -> None:
    pool, stack = (next(iter(event.values()))["metadata"] for event in events_of("admin", "")[:2])
    if not gpus:
        del pool["new"]["inputs"]["nodeConfig"]["guestAccelerators"]
    stack |= {"old": stack["new"]}
    whole = {"type": "gcp:container/cluster:Cluster", "inputs": {"name": "gpu-dev", "location": "us-central1-a"}}
    control_plane = {"op": "replace", "type": whole["type"], "urn": "c", "old": whole, "new": whole}
    made = [{**pool, "op": op, "old": pool["new"], "keys": ["nodeConfig.machineType"]} for op in ops]
    events = [{"resourcePreEvent": {"metadata": each}} for each in ([control_plane] if cluster else []) + made]
    change = stack_change([*events, {"resOutputsEvent": {"metadata": stack}}])
    assert [(one.kind, one.ends_jobs) for one in change.pools()] == [("replaced", ends)]
    text = comment([report_of(change)])
    assert ("running jobs on it end" in text, "its pods move there" in text) == (ends, not ends)
    assert ("no running job ends" in text, "other than pools" in text) == (not ends, False)


def test_a_pool_that_the_program_changes_behind_the_stack_file_counts_as_declared() -> None:
    events = events_of("t4-1", "title\nmessage")
    pool = events[0]["resourcePreEvent"]["metadata"]["new"]["inputs"]
    assert stack_change(events).after.max_usd == 3
    pool["autoscaling"] = {"minNodeCount": 2, "maxNodeCount": 5}
    state = stack_change(events).after
    assert [(one.name, one.min_nodes, one.max_nodes) for one in state.pools] == [("t4-1", 2, 5)]
    assert (state.idle_usd, state.max_usd) == (None, None), "the outputs' totals are of other sizes"


def test_stacks_without_changes_are_one_line_and_deleted_stack_files_a_warning() -> None:
    same = recorded("dearer-gpu")
    same = replace(same, before=same.after, resources=())
    text = comment([report_of(same)], removed=["Pulumi.old.yaml"])
    assert "No changes: `dev`" in text
    assert "`Pulumi.old.yaml` is removed" in text
    assert comment([]) == f"{MARKER}\n\nNo stack changes.\n"
