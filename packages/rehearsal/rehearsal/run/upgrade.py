"""The upgrade of a stack from another version of the program, which people run: ``make rehearse BASE=``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml

from rehearsal.cluster.api import Api, condition
from rehearsal.day_two.job import RunningJob, ending_steps, judged, named
from rehearsal.engine.changed_stacks import checkout
from rehearsal.engine.engine import CommandResult, Engine, has_secure_values
from rehearsal.engine.stack import ROOT, Stack, StackError
from rehearsal.scenario.check import Check
from rehearsal.scenario.timeline import NodeRecord, PodRecord

_HARMLESS: Final = frozenset(
    {"ConfigMap", "CronJob", "ResourceQuota", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}
)
"""Kinds of objects whose end takes no data, no right and no running pod along."""


def holds(type: str) -> bool:
    """Whether data, rights or a running job may be lost with a resource of that type: everything outside the cluster,
    and most objects in it."""
    return not type.startswith("kubernetes:") or type.rpartition(":")[2] not in _HARMLESS


@dataclass(frozen=True)
class DeployedVersion:
    """The version that is deployed: ``name`` is the commit or tag that the user wrote, ``project`` its folder."""

    name: str
    project: Path

    def engine(self, today: Engine, file: Path) -> Engine:
        """The stack of ``today`` with this version's program and stack file; ``file`` itself if it has none there."""
        return today.of(self.project, self._stack_file(file))

    def _stack_file(self, file: Path) -> Path:
        own = self.project / file.relative_to(ROOT) if file.is_relative_to(ROOT) else file
        return own if own.is_file() else file

    def require_updatable(self, stack: Stack) -> None:
        """Raise ``StackError``, with what to do, if no update leads from this version's stack file to today's."""
        own = self._stack_file(stack.file)
        config = (yaml.safe_load(own.read_text(encoding="utf-8")) or {}).get("config") or {}
        cloud, today = config.get("gpucluster:cloud"), stack.settings.cloud
        where = f"{stack.file.name} of {self.name}"
        if cloud != today:
            raise StackError(
                f"{where} has `gpucluster:cloud: {cloud}`, today's has {today}: no update leads from one to the other. "
                f"Write a BASE whose file has {today}, or leave BASE out."
            )
        if has_secure_values(own) and stack.passphrase is None:
            raise StackError(
                f"{where} holds encrypted values: set PULUMI_CONFIG_PASSPHRASE (or PULUMI_CONFIG_PASSPHRASE_FILE) to "
                "their passphrase"
            )

    def failure(self, deployed: CommandResult) -> str:
        """Why its `pulumi up` failed, as the verdict says it."""
        if "incorrect passphrase" not in deployed.reason:
            return f"pulumi up of {self.name} failed: {deployed.reason}"
        return (
            f"the stack file of {self.name} is encrypted with another passphrase than PULUMI_CONFIG_PASSPHRASE: write "
            "a BASE from after the change of the passphrase, or leave BASE out"
        )

    def checks(
        self, job: RunningJob, before: tuple[PodRecord, NodeRecord], upgraded: CommandResult, again: CommandResult
    ) -> Iterator[Check]:
        """What the update from it, and a second update, did to the stack and to the job that runs."""
        pod, node = before
        ending = ending_steps(upgraded)
        lost = named(step for step in ending if holds(step.type))
        title = f"The update from {self.name} neither replaces nor deletes anything that holds data, rights or pods"
        yield Check("upgrade-nothing-lost", title, not lost, ", ".join(lost) or upgraded.outcome.summary)
        title = f"With a job running: the update from {self.name}"
        passed, detail = judged(job.pod(pod.uid), named(ending), ends=False, lost=job.lost_labels(pod, node))
        yield Check("upgrade-job", title, passed, detail)
        title = "A second update changes nothing"
        yield Check("upgrade-again", title, again.ok, again.outcome.summary if again.ok else again.reason)


@contextmanager
def deployed(name: str | None) -> Iterator[DeployedVersion | None]:
    """That version in a folder of its own, until the block ends. Raises ``NoSuchCommit``."""
    if name is None:
        yield None
        return
    with checkout(name, ROOT / "build" / "base", exactly=True) as project:
        yield DeployedVersion(name, project)


def drift_check(admin: Api) -> Check:
    """Whether Karpenter would replace nodes, because their pool or class is no longer what they were made from.

    https://karpenter.sh/docs/concepts/disruption/#drift
    """
    claims = admin.list("/apis/karpenter.sh/v1/nodeclaims")
    drifted = [each["metadata"]["name"] for each in claims if condition(each, "Drifted")]
    return Check("upgrade-drift", "Karpenter replaces no node for drift", not drifted, ", ".join(drifted) or "none")
