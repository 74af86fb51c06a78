"""The store of images that machines share, and the runc that adapts their containers to the kernel."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from rehearsal.lab import images

RUNC = Path(images.__file__).parent / "files" / "layer" / "usr" / "local" / "sbin" / "runc"


def test_machines_share_files_but_not_databases(tmp_path: Path) -> None:
    store, first, second = (tmp_path / name for name in ("store", "first", "second"))
    (store / "content").mkdir(parents=True)
    (store / "content" / "blob").write_text("layer")
    (store / "metadata").mkdir()
    (store / "metadata" / "meta.db").write_text("database")
    for machine in (first, second):
        machine.mkdir()
        images.share(store, machine)
        assert (machine / "content" / "blob").samefile(store / "content" / "blob")
    (first / "metadata" / "meta.db").write_text("changed")
    assert (store / "metadata" / "meta.db").read_text() == "database"
    assert (second / "metadata" / "meta.db").read_text() == "database"


def _adapted(folder: Path, config: dict[str, Any], *arguments: str) -> dict[str, Any]:
    """The configuration after the script; the package's runc, which comes after it, is not asked."""
    file = folder / "config.json"
    file.write_text(json.dumps(config, separators=(",", ":")))
    script = RUNC.read_text()
    assert script.endswith('exec /usr/sbin/runc "$@"\n')
    without_runc = script.removesuffix('exec /usr/sbin/runc "$@"\n')
    subprocess.run(["sh", "-s", *arguments], input=without_runc, text=True, check=True)
    return json.loads(file.read_text())


def _may_lower_oom_scores() -> bool:
    return subprocess.run(["sh", "-c", "echo -1 > /proc/self/oom_score_adj"], capture_output=True).returncode == 0


@pytest.mark.parametrize("arguments", [("create", "--bundle", "{}"), ("exec", "--process", "{}/config.json")])
def test_oom_scores_are_raised_where_they_cannot_be_lowered(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    config = {"process": {"oomScoreAdj": -998, "args": ["pause"]}}
    adapted = _adapted(tmp_path, config, *(each.format(tmp_path) for each in arguments))
    score = -998 if _may_lower_oom_scores() else 0
    assert adapted == {"process": {"oomScoreAdj": score, "args": ["pause"]}}
    config["process"]["oomScoreAdj"] = 1000
    assert _adapted(tmp_path, config, "create", "--bundle", str(tmp_path)) == config


def test_kube_proxy_alone_has_a_connection_table_of_its_own(tmp_path: Path) -> None:
    name = "io.kubernetes.cri.container-name"
    proxy, other = ({"annotations": {name: container}} for container in ("kube-proxy", "etcd"))
    hook = {"createContainer": [{"path": "/usr/local/lib/lab/own-connection-table"}]}
    assert _adapted(tmp_path, proxy, "create", "--bundle", str(tmp_path)) == {"hooks": hook, **proxy}
    assert _adapted(tmp_path, other, "create", "--bundle", str(tmp_path)) == other
    assert _adapted(tmp_path, proxy, "state", "kube-proxy") == proxy
