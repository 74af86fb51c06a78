"""The real engine starts the plugin from a project's folder by Pulumi.yaml alone."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import threading
from pathlib import Path

import asyncssh
import pytest
import yaml

from packages.machines.tests.simulated import KUBECONFIG, SimulatedMachine, control_plane

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = """
import json, pulumi
settings = json.load(open("machine.json"))
config = {"privateKey": settings["key"], "port": settings["port"]}
provider = pulumi.ProviderResource("gpucluster-machines", "lab", config)
pulumi.CustomResource(
    "gpucluster-machines:index:ControlPlane", "cp1", settings["inputs"], pulumi.ResourceOptions(provider=provider)
)
"""


def test_the_project_names_the_plugin_and_its_launcher_is_executable() -> None:
    (plugin,) = yaml.safe_load((ROOT / "Pulumi.yaml").read_text())["plugins"]["providers"]
    assert plugin["name"] == "gpucluster-machines"
    assert os.access(ROOT / plugin["path"] / "pulumi-resource-gpucluster-machines", os.X_OK)


@pytest.mark.rehearsal
@pytest.mark.skipif(shutil.which("pulumi") is None, reason="pulumi is not on PATH (make tools builds it)")
def test_up_twice_and_destroy_without_a_manual_step_and_without_a_secret_in_the_state(tmp_path: Path) -> None:
    user, machine = asyncssh.generate_private_key("ssh-ed25519"), SimulatedMachine("cp1")
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    asyncio.run_coroutine_threadsafe(machine.start(user), loop).result(30)
    key = user.export_private_key().decode()
    project = {
        "name": "lab",
        "runtime": {"name": "python", "options": {"virtualenv": str(ROOT / ".venv")}},
        "plugins": {"providers": [{"name": "gpucluster-machines", "path": str(ROOT / "packages" / "machines")}]},
    }
    (tmp_path / "Pulumi.yaml").write_text(yaml.safe_dump(project))
    (tmp_path / "__main__.py").write_text(PROGRAM)
    inputs = {"key": key, "port": machine.port, "inputs": control_plane(machine)}
    (tmp_path / "machine.json").write_text(json.dumps(inputs))

    def pulumi(*arguments: str) -> str:
        environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PULUMI_BACKEND_URL": f"file://{tmp_path}"}
        environment |= {"PULUMI_CONFIG_PASSPHRASE": "test", "PULUMI_SKIP_UPDATE_CHECK": "true"}
        line = ["pulumi", "--non-interactive", *arguments, "--stack", "lab"]
        answer = subprocess.run(line, cwd=tmp_path, env=environment, text=True, capture_output=True, timeout=300)
        assert answer.returncode == 0, answer.stdout + answer.stderr
        return answer.stdout + answer.stderr

    pulumi("stack", "init")
    log = pulumi("up", "--yes")
    assert machine.names == ["prepare", "init"]
    count = len(machine.phases)
    log += pulumi("up", "--yes", "--expect-no-changes")
    assert len(machine.phases) == count, "a second up opens no session"
    state = pulumi("stack", "export")
    log += pulumi("destroy", "--yes")
    assert machine.names == ["prepare", "init", "reset", "restore"]
    for secret in (key.splitlines()[1], KUBECONFIG.splitlines()[1]):
        assert secret not in state
        assert secret not in log
    loop.call_soon_threadsafe(loop.stop)
