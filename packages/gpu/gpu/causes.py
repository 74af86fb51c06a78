"""From a text of a cloud, an autoscaler, the scheduler or a kubelet to what is the matter: the table ``causes.yaml``.

Texts of autoscalers and the scheduler aggregate over node groups (``2 Insufficient cpu, 1 max node group size
reached``): each group counts for one of the reasons.
"""

from __future__ import annotations

import functools
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import yaml

Kind = Literal[
    "running", "succeeded", "failed", "queued", "namespace-quota", "scaling", "no-capacity", "cloud-quota", "pool-full",
    "no-pool", "configuration", "did-not-join", "volume", "image", "evicted", "unknown", "starting", "waiting",
    "stopping",
]  # fmt: skip
MendedBy = Literal["user", "administrator", "cloud"]
Section = Literal["scale_up", "any_node", "new_nodes", "fixed_nodes", "claims", "queues", "kubelet"]


@dataclass(frozen=True)
class Reason:
    """``summary`` in one line; ``remedy`` is empty if there is nothing to do; ``message`` is the original message.

    ``source``: where the message is from. ``mended_by`` and ``waiting_helps`` are ``None`` where nobody knows, and
    where nothing is wrong.
    """

    kind: Kind
    summary: str
    remedy: str = ""
    message: str = ""
    mended_by: MendedBy | None = None
    waiting_helps: bool | None = None
    source: str = ""


@dataclass(frozen=True, kw_only=True)
class Cause:
    """An entry of ``causes.yaml``, which documents the fields."""

    kind: Kind
    texts: Sequence[str]
    summary: str
    remedy: str = ""
    mended_by: MendedBy | None = None
    waiting_helps: bool | None = None
    outweighed_by: Sequence[str] = ()
    passed_over: bool = False
    of_others: bool = False

    def is_in(self, text: str) -> bool:
        """Whether ``text`` names it, for no fewer node groups than those that outweigh it."""
        if not re.search("|".join(self.texts), text, re.IGNORECASE | re.DOTALL):
            return False
        return not self.outweighed_by or _groups(self.texts, text) >= _groups(self.outweighed_by, text)

    def reason(self, message: str, source: str = "", **names: str) -> Reason:
        """``names`` replace the names in braces of the entry's summary and remedy."""
        summary, remedy = (_filled(text, names) for text in (self.summary, self.remedy))
        return Reason(self.kind, summary, remedy, message, self.mended_by, self.waiting_helps, source)


_LINE: Final = 160
# What the scheduler tried besides says nothing about nodes that fit (FitError):
# https://github.com/kubernetes/kubernetes/blob/v1.34.4/pkg/scheduler/framework/types.go
_PREEMPTION: Final = re.compile(r"\. (?:no new claims to deallocate|preemption: |still not schedulable).*", re.DOTALL)


@functools.cache
def _table() -> Mapping[Section, Sequence[Cause]]:
    """Read when a job waits: other commands start without it."""
    text = Path(__file__).with_name("causes.yaml").read_text(encoding="utf-8")
    return {section: [Cause(**entry) for entry in entries] for section, entries in yaml.safe_load(text).items()}


def causes(section: Section, text: str) -> list[Cause]:
    """The entries of a section that ``text`` names, the first first."""
    return [cause for cause in _table()[section] if cause.is_in(_PREEMPTION.sub("", text))]


def knows_all(section: Section, text: str) -> bool:
    """Whether the section has an entry for what ``text`` says of each node group."""
    return all(causes(section, part) for part in _parts(text))


def unknown(message: str, source: str) -> Reason:
    """A text that no entry knows, as it is; in the summary it is shortened to a line."""
    line = textwrap.shorten(message, _LINE, placeholder=" …")
    return Reason("unknown", f"unknown cause; {source}: {line}", "", message, source=source)


def _groups(patterns: Sequence[str], text: str) -> int:
    """How many node groups a text like ``3 Insufficient cpu, 1 max limit reached`` counts for ``patterns``."""
    parts = (part for part in _parts(text) if re.search("|".join(patterns), part, re.IGNORECASE))
    counts = (re.search(r"(?:^|: )(\d+) ", part) for part in parts)
    return max((int(count[1]) if count else 1 for count in counts), default=0)


def _parts(text: str) -> list[str]:
    return re.split(r", (?=\d+ )|; ", text)


def _filled(text: str, names: Mapping[str, Any]) -> str:
    for name, value in names.items():
        text = text.replace(f"{{{name}}}", value)
    return text
