"""Programs in other languages, with the real engine: the component package, and the gate on its resources."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from components.settings import load
from facts import catalog
from rehearsal.engine.engine import gate_for
from rehearsal.engine.stack import ROOT, Stack, resolve
from rehearsal.run.preview import Preview, preview
from rehearsal.tools.install import install
from rehearsal.tools.modules import LANGUAGES, PREVIEW
from rehearsal.tools.progress import Progress
from tests.stacks import run_program

pytestmark = pytest.mark.rehearsal
PACKAGE: Final = ROOT / "components" / "package"
ACCOUNTS: Final = {
    "gke": "gcp:project=my-gcp-project",
    "eks": "aws:region=us-west-2",
    "aks": "azure-native:subscriptionId=00000000-0000-0000-0000-000000000000",
}


@pytest.fixture(scope="module")
def languages(tools: Path) -> Path:
    """The engine with the hosts of YAML and of TypeScript's SDKs, which only these tests need."""
    # The engine's copy of the schema is as old as the folder of the plugin, whatever else has changed.
    (PACKAGE.parent / "schema-gpucluster.json").unlink(missing_ok=True)
    return install(Progress(), modules=(*PREVIEW, *LANGUAGES))


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A copy of the example in YAML, outside the repository."""
    shutil.copytree(ROOT / "examples" / "yaml", tmp_path / "project")
    rewrite(tmp_path / "project", "../../components/package", str(PACKAGE))
    return tmp_path / "project"


def rewrite(project: Path, old: str, new: str) -> None:
    """Change the program's text."""
    text = (project / "Pulumi.yaml").read_text()
    assert old in text
    (project / "Pulumi.yaml").write_text(text.replace(old, new))


def previewed(project: Path, languages: Path, stack: Stack | None = None) -> Preview:
    """A preview with the gate, offline, of the program's stack ``dev``, or of one with the account of another."""
    stack = stack or replace(resolve("dev"), file=project / "Pulumi.dev.yaml")
    return preview(stack, tools=languages, gate=gate_for(ROOT, stack.name), project=project)


def pulumi(*arguments: str, languages: Path, home: Path) -> Path:
    """The folder ``project`` in ``home``, after a command of the engine there, which must succeed."""
    project = home / "project"
    for folder in (project, home / "state"):
        folder.mkdir(exist_ok=True)
    environment = {
        "PATH": os.pathsep.join([str(languages), os.environ["PATH"]]),
        "HOME": str(home),
        "PULUMI_BACKEND_URL": (home / "state").as_uri(),
        "PULUMI_CONFIG_PASSPHRASE": "x",
        "PULUMI_SKIP_UPDATE_CHECK": "true",
    }
    command = ["pulumi", "--non-interactive", "--color=never", *arguments]
    alone: dict[str, Any] = {"cwd": project, "env": environment, "stdin": subprocess.DEVNULL}
    done = subprocess.run(command, capture_output=True, text=True, **alone)
    assert done.returncode == 0, done.stdout + done.stderr
    return project


def test_a_program_in_yaml_declares_what_the_same_stack_file_declares(program: Path, languages: Path) -> None:
    result = previewed(program, languages)
    assert result.ok, result.output
    declared = {(step.type, step.name) for step in result.result.outcome.steps if step.op == "create"}
    assert ("gpucluster:index:GpuCluster", "cluster") in declared
    assert {name for type, name in declared if type == "gpucluster:index:GpuNodePool"} == {"t4-1", "t4-4"}
    assert declared >= {(each.type, each.name) for each in run_program(ROOT / "Pulumi.dev.yaml").resources}


def test_the_gate_refuses_a_program_in_yaml(program: Path, languages: Path) -> None:
    rewrite(program, "maxNodes: 4", "maxNodes: 20")
    result = previewed(program, languages)
    assert not result.ok
    assert "gpu-ceiling" in {violation.rule for violation in result.result.outcome.mandatory}, result.output


def test_a_program_in_yaml_gets_all_problems_in_the_words_of_a_stack_file(program: Path, languages: Path) -> None:
    rewrite(program, "maxNodes: 4", "minNodes: 1")
    rewrite(program, "region: us-central1", "region: us-central9")
    output = previewed(program, languages).output
    assert "3 problems in the settings of stack 'dev'" in output
    assert "region: the catalogue has no region 'us-central9' of gke. Did you mean 'us-central1'?" in output
    assert "gpuPools[0].minNodes: GPU node group 't4' keeps at least 1 node running even if no pod needs it." in output
    assert "Set the minimum to 0: the autoscaler adds nodes when a pod requests a GPU." in output
    assert "gpuPools[0].maxNodes: missing, and there is no default." in output
    assert "Traceback" not in output


@pytest.fixture
def pools_program(tmp_path: Path) -> Path:
    """A copy of the example of pools on a cluster of others, which gets the cluster's name as an output."""
    shutil.copytree(ROOT / "examples" / "yaml-pools", tmp_path / "project")
    rewrite(tmp_path / "project", "../../components/package", str(PACKAGE))
    rewrite(tmp_path / "project", "name: research", "name: {fn::secret: research}")
    return tmp_path / "project"


def test_pools_of_a_program_in_yaml_are_added_to_the_cluster_of_others(pools_program: Path, languages: Path) -> None:
    result = previewed(pools_program, languages, resolve("examples/gke-existing-cluster.yaml"))
    assert result.ok, result.output
    declared = {(step.type, step.name) for step in result.result.outcome.steps if step.op == "create"}
    assert {("gpucluster:index:GpuPools", "pools"), ("gcp:container/nodePool:NodePool", "pools-t4-1-pool")} <= declared
    assert {type for type, _ in declared if "cluster:Cluster" in type} == set()


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("{fn::secret: research}", "nobodys", "there is no cluster 'nobodys'"),
        ("maxNodes: 2", "maxNodes: {fn::secret: 2}", "gpuPools[0].maxNodes: is an output or a secret"),
        ("zones: [us-central1-a]", "teams: [{name: red, gpus: 1}]", "teams"),
    ],
)
def test_why_pools_of_a_program_in_yaml_are_refused_is_one_sentence(
    pools_program: Path, languages: Path, old: str, new: str, says: str
) -> None:
    rewrite(pools_program, old, new)
    result = previewed(pools_program, languages, resolve("examples/gke-existing-cluster.yaml"))
    assert not result.ok
    assert says in result.output
    assert "Traceback" not in result.output


@pytest.mark.parametrize("cloud", ACCOUNTS)
def test_a_project_from_the_template_passes_the_settings_check(cloud: str, languages: Path, tmp_path: Path) -> None:
    answers = [word for answer in (ACCOUNTS[cloud], "address=203.0.113.17/32") for word in ("--config", answer)]
    template = str(ROOT / "templates" / cloud)
    command = ["new", template, "--yes", "--name=lab", "--stack=dev", *answers]
    project = pulumi(*command, languages=languages, home=tmp_path)
    config = yaml.safe_load((project / "Pulumi.dev.yaml").read_text())["config"]
    values = {key.removeprefix("lab:"): value for key, value in config.items()}
    text = (project / "Pulumi.yaml").read_text()
    for key, value in values.items():
        text = text.replace(f"${{{key}}}", value)
    keys = yaml.safe_load(text)["resources"]["cluster"]["properties"]
    settings = load(keys, stack="dev", project=values[catalog.of(cloud).account.key])
    assert (settings.cloud, [pool.name for pool in settings.gpu_pools]) == (cloud, ["gpu-1"])
    assert {key.rpartition(":")[0] or "lab" for key in config} <= {"lab", ACCOUNTS[cloud].partition(":")[0]}


@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not on PATH: it installs TypeScript and Pulumi's SDK")
def test_the_program_in_typescript_agrees_with_the_types_of_the_sdk(languages: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    shutil.copytree(ROOT / "examples" / "typescript", project, ignore=shutil.ignore_patterns("node_modules", "sdks"))
    rewrite(project, "../../components/package", str(PACKAGE))
    command = ["package", "gen-sdk", str(PACKAGE), "--language=nodejs", f"--out={project}"]
    pulumi(*command, languages=languages, home=tmp_path)
    (project / "sdks").mkdir()
    (project / "nodejs").rename(project / "sdks" / "gpucluster")
    subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts"], cwd=project, check=True)
    compiler = [str(project / "node_modules" / ".bin" / "tsc"), "--project", str(project)]
    checked = subprocess.run(compiler, capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stdout) == (0, "")
    index = project / "index.ts"
    index.write_text(index.read_text().replace("maxNodes: 4", "maxNode: 4"))
    checked = subprocess.run(compiler, capture_output=True, text=True, check=False)
    assert "'maxNode' does not exist in type 'GpuPoolArgs'" in checked.stdout
