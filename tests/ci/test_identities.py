"""The commands of docs/ci.md, run with programs that note their arguments: who trusts whom, and what they grant."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.stacks import ROOT

PAGE = (ROOT / "docs" / "ci.md").read_text()
SUBJECT = "repo:me@1/it@2"
READER = [f"{SUBJECT}:environment:preview-dev", f"{SUBJECT}:environment:plan-dev"]
WRITER = [f"{SUBJECT}:environment:deploy-dev"]
# Prints what the commands take from it: the subject of the repository, or the name of what was created.
_RECORDER = """#!/bin/sh
printf '%s\\0' "$(basename "$0")" "$@" >> "$CALLS"
printf '\\n\\0' >> "$CALLS"
case "$*" in
  *repos/*) echo repo:me@1/it@2 ;;
  *"app create"*writer*) echo writer-app ;;
  *"app create"*) echo reader-app ;;
  *"sp create"*writer*) echo writer-object ;;
  *"sp create"*) echo reader-object ;;
  *) echo 123456789012 ;;
esac
"""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not on PATH"),
]


def block(heading: str) -> str:
    """The first commands below a heading."""
    return PAGE.partition(f"\n{heading}\n")[2].split("\n```")[1].partition("\n")[2]


def calls(folder: Path, heading: str) -> list[list[str]]:
    """Program and arguments of all that the commands below a heading call."""
    log = folder / "calls"
    for name in ("gcloud", "aws", "az", "gh"):
        (folder / name).write_text(_RECORDER)
        (folder / name).chmod(0o755)
    environment = {"PATH": f"{folder}:{os.environ['PATH']}", "CALLS": str(log)}
    script = f"set -eu\n{block('## Set up the repository')}\n{block(heading)}"
    subprocess.run(["bash", "-c", script], check=True, env=environment, stdout=subprocess.DEVNULL)
    return [call.split("\0")[:-1] for call in log.read_text().split("\n\0")]


def after(call: list[str], flag: str) -> str:
    return call[call.index(flag) + 1]


def test_google(tmp_path: Path) -> None:
    made = calls(tmp_path, "### Google Cloud")
    trusted: dict[str, list[str]] = {}
    granted: dict[str, set[str]] = {}
    for call in made:
        if "roles/iam.workloadIdentityUser" in call:
            subject = after(call, "--member").rpartition("/subject/")[2]
            trusted.setdefault(call[4].partition("@")[0], []).append(subject)
        elif call[1:3] == ["projects", "add-iam-policy-binding"]:
            account = after(call, "--member").partition(":")[2].partition("@")[0]
            granted.setdefault(account, set()).add(after(call, "--role"))
    assert trusted == {"pulumi-reader": READER, "pulumi-writer": WRITER}
    assert granted["pulumi-reader"] == {"roles/viewer", "roles/iam.securityReviewer"}


def test_aws(tmp_path: Path) -> None:
    made = calls(tmp_path, "### AWS")
    trusted: dict[str, Any] = {}
    for call in made:
        if "create-role" in call:
            (statement,) = json.loads(after(call, "--assume-role-policy-document"))["Statement"]
            [(_, subjects)] = [
                each for each in statement["Condition"]["StringEquals"].items() if each[0].endswith(":sub")
            ]
            trusted[after(call, "--role-name")] = [subjects] if isinstance(subjects, str) else subjects
    assert trusted == {"pulumi-reader": READER, "pulumi-writer": WRITER}
    (own,) = [
        json.loads(after(call, "--policy-document"))["Statement"]
        for call in made
        if "put-role-policy" in call and after(call, "--role-name") == "pulumi-reader"
    ]
    denied = {each["Action"]: each.get("NotResource", each.get("Resource")) for each in own if each["Effect"] == "Deny"}
    assert denied == {
        "s3:GetObject*": "arn:aws:s3:::my-pulumi-state/*",
        "ssm:GetParameter*": "arn:aws:ssm:*:*:parameter/aws/service/*",
        "sqs:ReceiveMessage": "*",
    }
    assert [each["Action"] for each in own if each["Effect"] == "Allow"] == ["kms:Decrypt"]


def test_azure(tmp_path: Path) -> None:
    made = calls(tmp_path, "### Azure")
    trusted: dict[str, list[str]] = {}
    granted: dict[str, set[tuple[str, str]]] = {}
    for call in made:
        if "federated-credential" in call:
            subject = json.loads(after(call, "--parameters"))["subject"]
            trusted.setdefault(after(call, "--id"), []).append(subject)
        elif call[1:3] == ["role", "assignment"]:
            wide = "/subscriptions/" in after(call, "--scope")
            granted.setdefault(after(call, "--assignee-object-id"), set()).add(
                (after(call, "--role"), "subscription" if wide else "resource")
            )
    assert trusted == {"reader-app": READER, "writer-app": WRITER}
    assert granted["reader-object"] == {
        ("Reader", "subscription"),
        ("Storage Blob Data Reader", "resource"),
        ("Key Vault Crypto User", "resource"),
    }
    (member,) = [after(call, "--member-id") for call in made if call[1:4] == ["ad", "group", "member"]]
    assert member == "reader-object"


def test_no_page_grants_all_kinds_of_a_cluster() -> None:
    """``*`` includes Secrets and the subresources that run commands."""
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("packages/*/docs/*.md")]
    assert len(pages) > 20
    grants = r"kubectl create (?:cluster)?role .*--resource=\S*\*|--clusterrole=(?:cluster-admin|admin)\b"
    assert [page.name for page in pages if re.search(grants, page.read_text())] == []
