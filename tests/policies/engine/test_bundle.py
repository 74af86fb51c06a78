"""The built pack, on the real engine, gates a plain program in a folder with nothing of the repository in reach."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from packages.rehearsal.tests.engine_project import REAL_ENGINE, Project
from rehearsal.providers.server import serve
from tests.policies.gated_project import Anything, built_pack

pytestmark = REAL_ENGINE

PROGRAM = """
import importlib.util, json, signal
import pulumi_gcp as gcp

signal.signal(signal.SIGINT, signal.SIG_DFL)
values = json.load(open("values.json"))
assert [name for name in ("policies", "catalog", "concepts", "components") if importlib.util.find_spec(name)] == []

cluster = gcp.container.Cluster("ml", location="europe-west4-a", initial_node_count=1, deletion_protection=False)
gcp.container.NodePool(
    "l4",
    cluster=cluster.name,
    location="europe-west4-a",
    autoscaling={"min_node_count": values["minimum"], "max_node_count": 4},
    node_config={
        "machine_type": "g2-standard-24",
        "spot": True,
        "taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}],
    },
)
"""


def test_it_refuses_an_idle_gpu_node_and_lets_the_program_through_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    pack = built_pack(tmp_path / "pack")
    (tmp_path / "config.json").write_text('{"gpu-stack-ceiling": {"enforcementLevel": "mandatory", "maxGpus": 7}}')
    (tmp_path / "program").mkdir()
    google = Anything("gcp")
    server = serve(google)
    try:
        project = Project.create(tmp_path / "program", PROGRAM, {google: server.port})
        gate = ("preview", "--stack=test", "--policy-pack", str(pack))
        project.write(minimum=1)
        refused = project.run(*gate, refused=True)
        project.write(minimum=0)
        passed = project.run(*gate)
        # The catalogue is in the pack, too: g2-standard-24 has 2 GPUs.
        limited = project.run(*gate, "--policy-pack-config", str(tmp_path / "config.json"), refused=True)
    finally:
        server.stop()
    assert "[mandatory]  gpu-zero-minimum  (gcp:container/nodePool:NodePool: l4)" in refused, refused
    # The engine shortens a long path in its middle.
    assert re.search(rf"gpucluster@v0\.1\.0 \(local: \S*/{pack.name}\)", passed), passed
    assert "At its maximum the stack has 8 GPUs, over the limit of 7" in limited, limited
