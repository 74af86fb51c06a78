"""What becomes of a running job when a setting changes: one table per cloud, ``<cloud>/data/changes.csv``.

Its ``change`` is one that a rehearsal makes on day two (``rehearsal/day_two/edits.py``), which holds the row to what it
sees, or a key of the stack file (``gpuPools[].image``), whose row ``tests/upgrade/test_edits.py`` holds to the
simulated clouds. A key without a row is changed in place, or nothing happens. ``docs/operations.md`` is generated from
it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, cast

from facts.catalog import tables

Job = Literal["runs", "waits", "moves", "ends", "others"]
"""Of a job on the pool that changes: it ``runs`` on; it runs on, and the change ``waits`` until the pool is empty, or
for new nodes; node after node is drained, so that its pods ``move``; it ``ends``, and a preview says so by the word
``replace`` or ``delete``; it ends, and that of ``others`` runs on."""


@dataclass(frozen=True)
class Effect:
    """``preview`` is what the preview says (``refused``: an error of the program), ``meaning`` what happens, both for
    people; ``source`` is a link, which a key needs only for what the preview does not show."""

    preview: str
    job: Job
    meaning: str
    source: str


Effects = Mapping[str, Effect]
"""Change → its effect."""


def effects(cloud: str) -> dict[str, Effects]:
    """Autoscaler → change → its effect."""
    by_autoscaler: dict[str, dict[str, Effect]] = {}
    for row in tables.rows(cloud, "changes"):
        effect = Effect(row["preview"], cast(Job, row["job"]), row["meaning"], row["source"])
        by_autoscaler.setdefault(row["autoscaler"], {})[row["change"]] = effect
    return dict(by_autoscaler)
