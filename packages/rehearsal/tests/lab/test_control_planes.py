"""What the rehearsal of three control planes decides and writes, without machines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from rehearsal.own_machines.control_planes import out_of_turn
from rehearsal.own_machines.stack_file import LabStackFile
from tests.tables import cases

STACK = Path(__file__).parents[4] / "examples" / "kubeadm-ha.yaml"


@cases
def test_machines_are_upgraded_in_turn(spans: dict[str, list[int]], wrong: list[str]) -> None:
    assert out_of_turn(spans, ["gpu1"]) == wrong


def test_control_planes_go_and_come_back_and_labels_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rehearsal.own_machines.stack_file._fingerprint", lambda _: "0" * 40)
    keys: dict[str, str] = dict.fromkeys(("cp1", "cp2", "cp3", "gpu1"), "ssh-ed25519 AAAA")
    file, path = LabStackFile(STACK, keys, "admin", "http://192.0.2.1", Path("key.asc")), tmp_path / "Pulumi.lab.yaml"

    def written(**changes: Any) -> tuple[list[str], dict[str, str]]:
        file.write(path, **changes)
        config = yaml.safe_load(path.read_text())["config"]
        names = [each["name"] for each in config["gpucluster:adminPool"]["machines"]]
        return names, config["gpucluster:gpuPools"][0].get("labels", {})

    label = {"example.com/rack": "r1"}
    assert written(labels=label) == (["cp1", "cp2", "cp3"], label)
    assert written(planes=1) == (["cp1"], label)
    assert written() == (["cp1", "cp2", "cp3"], label)
