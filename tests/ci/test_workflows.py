"""The workflows run here, step by step: what they call, with which verdict and rights."""

from __future__ import annotations

import base64
import gzip
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from facts.catalog import of
from tests.ci.runner import GITLAB, WORKFLOWS, Runner, copy_repository
from tests.stacks import ROOT

WRITES = {
    ("comment", "comment"): {"pull-requests"},
    ("deploy", "dev"): {"id-token"},
    ("deploy", "prod"): {"id-token"},
    ("drift", "drift"): {"id-token", "issues"},
    ("pages", "deploy"): {"id-token", "pages"},
    ("preview", "cloud"): {"id-token"},
    ("release", "publish"): {"attestations", "contents", "id-token"},
    ("scan", "scan"): {"security-events"},
    ("update", "plan"): {"id-token"},
    ("update", "update"): {"id-token"},
}
"""Workflow and job → its rights to write; all other jobs only read."""
HEAD = {
    "matrix.stack": "dev",
    "inputs.stack": "dev",
    "github.event.number": "12",
    "vars.PULUMI_BACKEND_URL": "gs://state",
}
VALUES = {
    **HEAD,
    "github.event.workflow_run.head_sha": "abc",
    "github.event.workflow_run.id": "7",
    "github.base_ref": "main",
}
SUMMARY = json.dumps({"summaryEvent": {}})
DRIFT = json.dumps({"resourcePreEvent": {"metadata": {"op": "update", "type": "t", "urn": "urn::t4"}}})

slow = [pytest.mark.slow, pytest.mark.skipif(shutil.which("jq") is None, reason="jq is not on PATH")]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_repository(tmp_path_factory.mktemp("checkout"))


@pytest.fixture
def runner(checkout: Path, tmp_path: Path) -> Iterator[Runner]:
    yield Runner(checkout, tmp_path, dict(VALUES))
    shutil.rmtree(checkout / "build", ignore_errors=True)
    subprocess.run(["git", "checkout", "--quiet", "."], cwd=checkout, check=True)


def _triggers(workflow: str) -> Any:
    return WORKFLOWS[workflow][True]  # YAML 1.1 reads the key `on` so


def test_only_the_listed_jobs_may_write() -> None:
    writes = {
        (name, job): {right for right, level in (declared.get("permissions") or {}).items() if level == "write"}
        for name, workflow in WORKFLOWS.items()
        for job, declared in workflow["jobs"].items()
    }
    assert {key: rights for key, rights in writes.items() if rights} == WRITES
    assert [name for name, workflow in WORKFLOWS.items() if workflow.get("permissions") != {}] == []


def test_the_code_of_a_fork_runs_without_rights() -> None:
    assert [name for name in WORKFLOWS if "pull_request_target" in _triggers(name)] == []
    for (name, job), _ in WRITES.items():
        if "pull_request" in _triggers(name):
            assert "head.repo.full_name == github.repository" in WORKFLOWS[name]["jobs"][job]["if"], name
    steps = [step for job in WORKFLOWS["comment"]["jobs"].values() for step in job["steps"]]
    assert ["ref" in step.get("with", {}) for step in steps if "checkout" in step.get("uses", "")] == [False]


def test_an_update_waits_for_its_environment_and_is_never_cancelled() -> None:
    update = WORKFLOWS["update"]["jobs"]["update"]
    assert update["environment"] == "deploy-${{ inputs.stack }}"
    assert update["concurrency"] == {"group": "update-${{ inputs.stack }}", "cancel-in-progress": False}
    assert WORKFLOWS["update"]["jobs"]["plan"]["environment"] == "plan-${{ inputs.stack }}"


def test_the_code_of_a_branch_has_an_environment_of_its_own() -> None:
    """That environment has reviewers, for whom a daily check or the plan of an update must not wait."""
    environments = {
        (name, job): declared["environment"].partition("-")[0]
        for name, workflow in WORKFLOWS.items()
        for job, declared in workflow["jobs"].items()
        if isinstance(declared.get("environment"), str) and "id-token" in WRITES.get((name, job), ())
    }
    assert environments == {
        ("release", "publish"): "release",
        ("preview", "cloud"): "preview",
        ("update", "plan"): "plan",
        ("drift", "drift"): "plan",
        ("update", "update"): "deploy",
    }
    assert [name for name in ("update", "drift", "deploy") if "pull_request" in _triggers(name)] == []
    pipeline = yaml.safe_load((ROOT / "examples/ci/gitlab.yml").read_text())
    gitlab = {
        name: job["environment"]["name"].partition("-")[0] for name, job in pipeline.items() if "environment" in job
    }
    assert gitlab == {"plan": "plan", "drift": "plan", "deploy-dev": "deploy", "deploy-prod": "deploy"}


def test_every_check_of_a_change_is_run_and_every_target_exists() -> None:
    steps = [step for name in WORKFLOWS for job in WORKFLOWS[name]["jobs"].values() for step in job.get("steps", ())]
    run = set(re.findall(r"^make ([a-z-]+)", "\n".join(step.get("run", "") for step in steps), re.MULTILINE))
    assert run >= {"check", "test", "test-all", "rehearse-changed", "preview"}
    assert run <= set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def test_what_runs_the_tests_has_the_whole_history() -> None:
    """The upgrade tests deploy the released version."""
    jobs = {name: job for flow in WORKFLOWS.values() for name, job in flow["jobs"].items()}
    testing = {
        name: job["steps"]
        for name, job in jobs.items()
        if any(str(step.get("run", "")).startswith("make test") for step in job.get("steps", ()))
    }
    assert {*testing} == {"test", "test-all"}
    for name, steps in testing.items():
        assert [step["with"].get("fetch-depth") for step in steps if "checkout@" in step.get("uses", "")] == [0], name


def test_a_check_of_another_base_does_not_count_for_main() -> None:
    assert _triggers("checks")["pull_request"] == {"branches": ["main"]}, "an author chooses the base"


def test_credentials_last_as_long_as_an_update_and_are_for_the_cluster() -> None:
    action = (ROOT / ".github/actions/cloud/action.yml").read_text()
    seconds = WORKFLOWS["update"]["jobs"]["update"]["timeout-minutes"] * 60
    assert f"role-duration-seconds: {seconds} " in action
    assert f"--max-session-duration {seconds} " in (ROOT / "docs/ci.md").read_text()
    assert f"--resource {of('aks').account.credential_plugin.arguments.split()[-1]} " in action


class TestSteps:
    pytestmark = slow

    @pytest.mark.parametrize(
        ("comments", "call"),
        [
            ([], "--method POST repos/o/r/issues/12/comments"),
            ([{"id": 5, "user": {"login": "eve"}, "body": "<!-- gpucluster-preview -->"}], "--method POST"),
            (
                [{"id": 6, "user": {"login": "github-actions[bot]"}, "body": "<!-- gpucluster-preview -->\nold"}],
                "--method PATCH repos/o/r/issues/comments/6",
            ),
        ],
    )
    def test_the_report_becomes_one_comment(self, runner: Runner, comments: list[Any], call: str) -> None:
        runner.environment["REPORT"] = "### dev\n@octocat &#64;octocat &commat;octocat: 3 resources\n" + "x" * 70_000
        assert runner.job("preview", "offline") == 0
        self._answer(runner, comments=comments)
        assert runner.job("comment", "comment") == 0
        assert call in runner.calls("gh")[-1]
        body = (runner.home / "sent").read_text()
        assert body.startswith(
            "<!-- gpucluster-preview -->\nReports on abc, written by the code of this pull request.\n"
        )
        assert not any(mention in body for mention in ("@octocat", "&#64;", "&commat;")), "nobody is notified"
        assert "octocat: 3 resources" in body
        assert len(body.encode()) < 60_100

    @pytest.mark.parametrize(
        ("number", "size", "head"),
        [
            ("12; x", 9, "abc"),
            ("12\n13", 9, "abc"),
            ("12", 2000000, "abc"),
            ("12", 9, "def"),
        ],
    )
    def test_a_report_that_is_not_of_its_pull_request_is_not_posted(
        self, runner: Runner, number: str, size: int, head: str
    ) -> None:
        runner.values["github.event.number"] = number
        assert runner.job("preview", "offline") == 0
        self._answer(runner, size=size, head=head)
        assert runner.job("comment", "comment") == 1
        assert not any("comments" in call for call in runner.calls("gh"))

    def test_with_an_account_the_comment_is_of_the_real_state(self, runner: Runner) -> None:
        assert runner.job("preview", "cloud") == 0
        assert runner.calls("make")[-2:] == ["plan STACK=dev", "pr-report STACK=dev EVENTS=build/plan.events.jsonl"]
        assert (runner.checkout / "build" / "plan.events.jsonl").exists()

    def test_an_update_uses_the_plan_of_its_run(self, runner: Runner) -> None:
        refresh = "--refresh --exclude=**helm.sh/v3:Release::** --exclude=**core/v1:Secret::**"
        gate = f"--stack dev {refresh} --policy-pack policies --policy-pack-config"
        runner.values["inputs.refresh"] = "true"
        assert runner.job("update", "plan") == 0
        assert f"preview --diff --save-plan build/plan.json {gate}" in runner.calls("pulumi")[0]
        assert "pulumi at gs://state" in (runner.home / "GITHUB_STEP_SUMMARY").read_text()
        assert "cloud=gke" in (runner.home / "GITHUB_OUTPUT").read_text()
        (runner.checkout / "build" / "plan.json").write_text("of another run")
        assert runner.job("update", "update") == 0
        assert f"up --yes --plan build/plan.json {gate}" in runner.calls("pulumi")[1]
        assert (runner.checkout / "build" / "plan.json").read_text() == '{"resourcePlans": {}}'

    def test_a_refused_plan_is_shown_and_not_handed_over(self, runner: Runner) -> None:
        runner.environment |= {"PULUMI_EXIT": "1", "PULUMI_OUTPUT": "1000000"}
        assert runner.job("update", "plan") != 0
        summary = (runner.home / "GITHUB_STEP_SUMMARY").read_text()
        assert "pulumi at gs://state" in summary
        assert "Shortened: " in summary, "a reviewer knows that there is more"
        assert len(summary) < 2**20, "GitHub refuses a longer one"
        assert not (runner.home / "artifacts" / "plan-dev").exists()

    @pytest.mark.parametrize(
        ("drifts", "summary", "issues", "expected"),
        [
            (False, True, [], []),
            (False, True, [["OPEN", "dev"]], ["issue close 3 --comment"]),
            (True, True, [], ["label create drift", "issue create --title Drift of stack dev"]),
            (True, True, [["OPEN", "prod"]], ["label create drift", "issue create"]),
            (True, True, [["OPEN", "dev"]], ["issue edit 3"]),
            (True, True, [["CLOSED", "dev"]], ["issue edit 3", "issue reopen 3"]),
            (True, False, [], None),
        ],
    )
    def test_drift_has_one_issue_per_stack(
        self, runner: Runner, drifts: bool, summary: bool, issues: list[list[str]], expected: list[str] | None
    ) -> None:
        runner.environment["EVENTS"] = "\n".join([*[DRIFT] * drifts, *[SUMMARY] * summary])
        listed = [{"number": 3, "state": state, "title": f"Drift of stack {stack}"} for state, stack in issues]
        runner.answers = {"issue list": listed}
        assert (runner.job("drift", "drift") != 0) == (expected is None)
        calls = runner.calls("gh")[1:]
        assert len(calls) == len(expected or [])
        assert all(start in call for start, call in zip(expected or [], calls, strict=True)), calls

    @pytest.mark.parametrize(
        ("label", "role", "code"),
        [
            (None, "admin", 1),
            ("2026-01-02", "maintain", 0),
            ("2026-01-02", "write", 1),
            ("2025-12-31", "admin", 1),
            ("removed", "admin", 1),
        ],
    )
    def test_only_an_owner_s_fresh_label_lets_a_looser_gate_pass(
        self, runner: Runner, label: str | None, role: str, code: int
    ) -> None:
        runner.environment["LOOSER"] = "gpu-ceiling, stack dev: maxGpus 64 → 65\n"
        added = {"event": "labeled", "label": {"name": "gate-loosened-on-purpose"}, "actor": {"login": "ann"}}
        events = [{"event": "closed"}, {**added, "created_at": f"{label}T12:00:00Z"}] if label else []
        runner.answers = {
            "issues/12/events": [*events, *([{**added, "event": "unlabeled"}] if label == "removed" else [])],
            "actions/runs/7": {"created_at": "2026-01-01T12:00:00Z"},
            "collaborators/ann/permission": {"role_name": role},
        }
        assert runner.job("checks", "gate") == code

    def test_what_a_change_loosens_is_listed(self, runner: Runner, capfd: pytest.CaptureFixture[str]) -> None:
        runner.answers = {"issues/12/events": []}
        for file, strict, loose in (
            ("config/dev.json", '"maxGpus": 64', '"maxGpus": 65'),
            ("rules/node_groups.py", 'level="mandatory"', 'level="advisory"'),
        ):
            path = runner.checkout / "policies" / file
            path.write_text(path.read_text().replace(strict, loose, 1))
        assert runner.job("checks", "gate") == 1
        lines = capfd.readouterr().out.splitlines()
        assert "gpu-ceiling, stack dev: maxGpus 64 → 65" in lines
        assert "gpu-zero-minimum, stack prod: level mandatory → advisory" in lines

    @pytest.mark.parametrize(("base", "code"), [("main", 0), ("missing", 1)])
    def test_an_equal_gate_passes_and_one_that_cannot_be_compared_does_not(
        self, runner: Runner, capfd: pytest.CaptureFixture[str], base: str, code: int
    ) -> None:
        runner.values["github.base_ref"] = base
        assert runner.job("checks", "gate") == code
        assert ("cannot compare with the commit 'origin/missing'" in capfd.readouterr().err) == bool(code)
        assert runner.calls("gh") == [], "no label makes up for it"

    @pytest.mark.parametrize("code", ["0", "1"])
    def test_results_are_uploaded_even_if_the_gate_refuses(self, runner: Runner, code: str) -> None:
        runner.environment["SCAN_EXIT"] = code
        assert runner.job("scan", "scan") == int(code)
        (call,) = runner.calls("gh")
        assert "--method POST repos/o/r/code-scanning/sarifs" in call
        assert "-f commit_sha=abc -f ref=refs/heads/main" in call
        assert gzip.decompress(base64.b64decode((runner.home / "sent").read_text())) == b"{}"

    def test_a_tag_becomes_a_release(self, runner: Runner) -> None:
        assert runner.job("release", "build") == 0
        released = runner.home / "artifacts" / "release"
        names = {file.name for file in released.iterdir()}
        wheel, pack = "gpucluster_gpu-0.1.0-py3-none-any.whl", "gpucluster-policy-pack-v0.1.0.tar.gz"
        assert names == {wheel, pack, "NOTES.md", "SHA256SUMS"}
        assert (released / "NOTES.md").read_text().strip().startswith("### What to install")
        assert runner.job("release", "publish") == 0
        (call,) = runner.calls("gh")
        assert call.startswith("release create v0.1.0 --repo o/r --verify-tag")
        assert all(f"build/release/{name}" in call for name in names)

    @pytest.mark.parametrize("tag", ["v0.0.1", "v10.1.0"])
    def test_a_tag_without_a_section_of_the_changelog_is_no_release(self, runner: Runner, tag: str) -> None:
        runner.environment["GITHUB_REF_NAME"] = tag
        assert runner.job("release", "build") != 0
        assert not (runner.home / "artifacts").exists()

    def _answer(self, runner: Runner, *, comments: object = (), size: int = 9, head: str = "abc") -> None:
        runner.answers = {
            "runs/7/artifacts": {
                "artifacts": [{"name": "pr-dev", "size_in_bytes": size}, {"name": "x", "size_in_bytes": 1}]
            },
            "pulls/12": {"head": {"sha": head}},
            "issues/12/comments": comments,
        }


class TestGitLab:
    """The example pipeline, with the same make targets."""

    pytestmark = slow

    def test_a_plan_is_handed_to_the_update(self, runner: Runner) -> None:
        account = {"GCP_WORKLOAD_IDENTITY_PROVIDER": "projects/1", "GCP_SERVICE_ACCOUNT": "a@b"}
        runner.environment |= account
        assert runner.gitlab_job("plan", "dev") == 0
        assert (runner.checkout / "build" / "plan.md").read_text().startswith("### Update of stack dev\n~~~~~~diff\n")
        assert runner.gitlab_job("deploy-dev", "dev") == 0
        plan, update = runner.calls("pulumi")
        assert "preview --diff --save-plan build/plan.json --stack dev --policy-pack policies" in plan
        assert "up --yes --plan build/plan.json --stack dev --policy-pack policies" in update

    @pytest.mark.parametrize(("job", "events"), [("plan", [SUMMARY]), ("deploy-dev", [SUMMARY]), ("drift", [DRIFT])])
    def test_no_token_stays_on_the_runner(self, runner: Runner, job: str, events: list[str]) -> None:
        account = {"GCP_WORKLOAD_IDENTITY_PROVIDER": "projects/1", "GCP_SERVICE_ACCOUNT": "a@b"}
        runner.environment |= {**account, "EVENTS": "\n".join(events)}
        runner.gitlab_job(job, "dev")
        assert runner.calls("pulumi")
        left = [file for file in runner.home.rglob("*") if file.name in ("token", "google.json", "credentials.json")]
        assert left == []
        assert not [*runner.checkout.glob("credentials*")]

    def test_the_token_is_its_jobs_alone(self) -> None:
        account = GITLAB[".account"]
        (made,) = [line for line in account["before_script"] if "mkdir" in line]
        assert made == 'mkdir -m 700 "$CREDENTIALS"', "it fails where somebody else has made the folder"
        written = [line for line in account["before_script"] if " > " in line]
        assert [line for line in written if "$CREDENTIALS" not in line and "$GOOGLE" not in line] == []
        assert "$CI_JOB_ID" in account["variables"]["CREDENTIALS"]

    @pytest.mark.parametrize(("events", "code"), [([SUMMARY], 0), ([DRIFT, SUMMARY], 1), ([DRIFT], 1)])
    def test_drift_fails(self, runner: Runner, events: list[str], code: int) -> None:
        account = {"GCP_WORKLOAD_IDENTITY_PROVIDER": "projects/1", "GCP_SERVICE_ACCOUNT": "a@b"}
        runner.environment |= {**account, "EVENTS": "\n".join(events)}
        assert (runner.gitlab_job("drift", "dev") != 0) == bool(code)

    def test_a_change_is_reported_and_a_looser_gate_fails(self, runner: Runner) -> None:
        assert runner.gitlab_job("report", "prod") == 0
        assert runner.calls("make") == ["pr-report STACK=prod BASE=HEAD", "preview STACK=prod"]
        file = runner.checkout / "policies" / "config" / "dev.json"
        file.write_text(file.read_text().replace('"maxGpus": 64', '"maxGpus": 65', 1))
        assert runner.gitlab_job("gate", "dev") != 0

    @pytest.mark.parametrize(
        ("looser", "on_purpose", "project", "passes"),
        [("", "", "1", True), ("maxGpus 64 → 65", "", "1", False), ("65", "1", "1", True), ("65", "1", "fork", False)],
    )
    def test_a_looser_gate_passes_on_purpose(
        self, runner: Runner, looser: str, on_purpose: str, project: str, passes: bool
    ) -> None:
        """Of a merge request to project 1, in the project or in a fork."""
        runner.environment |= {"LOOSER": looser, "GATE_LOOSENED_ON_PURPOSE": on_purpose}
        runner.environment |= {"CI_PROJECT_ID": project, "CI_MERGE_REQUEST_PROJECT_ID": "1"}
        assert (runner.gitlab_job("gate", "dev") == 0) == passes
