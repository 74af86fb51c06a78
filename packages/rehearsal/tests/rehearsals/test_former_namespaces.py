"""A namespace that leaves the stack file stays with its jobs and guards, until an administrator deletes it."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from rich.console import Console
from typing_extensions import override

from rehearsal.engine.engine import Engine
from rehearsal.engine.stack import ROOT, resolve
from rehearsal.run.options import Options
from rehearsal.run.rehearsal import Rehearsal
from rehearsal.tools import provide

pytestmark = [pytest.mark.rehearsal, pytest.mark.usefixtures("tools")]

CONFIG: Final[dict[str, Any]] = {
    "gcp:project": "my-gcp-project",
    "gpucluster:cloud": "gke",
    "gpucluster:region": "us-central1",
    "gpucluster:network": {"authorizedNetworks": [{"name": "office", "cidr": "203.0.113.0/24"}]},
    "gpucluster:gpuPools": [{"name": "t4", "gpu": "nvidia-t4", "capacity": "spot", "maxNodes": 2}],
    "gpucluster:workloads": {"queue": {}},
}
NAMED: Final = {
    "gpucluster:teams": [{"name": "research", "gpus": 1, "priority": "low"}],
    "gpucluster:workloads": {"queue": {}, "checkpoints": {"serviceAccount": "data/trainer", "onDestroy": "delete"}},
}
GUARDS: Final = (
    "/api/v1/namespaces/research/resourcequotas/team",
    "/api/v1/namespaces/research/resourcequotas/namespace-limits",
    "/api/v1/namespaces/data/resourcequotas/namespace-limits",
    "/apis/kueue.x-k8s.io/v1beta2/namespaces/research/localqueues/gpu",
    "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/gpu-research",
    "/apis/kueue.x-k8s.io/v1beta2/cohorts/gpu-research",
)
_SECONDS: Final = 120


class _Left(Rehearsal):
    """No jobs. The update by ``after`` names two namespaces no longer, which an administrator deletes later."""

    after: Path

    def _uids(self, *paths: str) -> list[str]:
        assert self._admin is not None
        return [each["metadata"]["uid"] for path in paths if (each := self._admin.find(path)) is not None]

    @override
    def _scenario(self, engine: Engine) -> None:
        assert self._admin is not None
        namespaces = [f"/api/v1/namespaces/{name}" for name in ("data", "research")]
        before, later = self._uids(*namespaces, *GUARDS), engine.of(ROOT, self.after)
        left = later.up(name="left")
        self._engine_check("left", "An update names the namespaces no longer", left)
        same = before == self._uids(*namespaces, *GUARDS) and len(before) == len((*namespaces, *GUARDS))
        self._check("same", "What guards them is the same", same, str(before))
        for path in namespaces:
            self._admin.delete(path)
        self._wait(lambda: self._uids(*namespaces) == [], _SECONDS)
        self._engine_check("refresh", "The state is refreshed", later.refresh())
        self._engine_check("ended", "The next update ends them", later.up(name="ended"))
        gone = [path for path in GUARDS if self._uids(path)]
        self._check("gone", "Nothing of them is left", gone == [], ", ".join(gone))
        self._engine_check("again", "A further update changes nothing", later.up(name="again", expect_no_changes=True))


def stack_file(folder: Path, changes: dict[str, Any]) -> Path:
    folder.mkdir()
    file = folder / "left.yaml"
    file.write_text(yaml.safe_dump({"config": {**CONFIG, **changes}}))
    return file


def test_a_namespace_that_leaves_the_stack_file_ends_when_somebody_deletes_it(tmp_path: Path) -> None:
    stack = resolve(str(stack_file(tmp_path / "before", NAMED)))
    options = Options(tools=provide(stack.tools), gate=None, build=tmp_path)
    rehearsal = _Left(stack, options, Console(file=io.StringIO(), width=160))
    rehearsal.after = stack_file(tmp_path / "after", {})
    finished = rehearsal.run()
    assert finished.passed, finished.record.reasons
    assert {"left", "same", "ended", "gone", "again", "destroy"} <= {each.id for each in finished.record.checks}
