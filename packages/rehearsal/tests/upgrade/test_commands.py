"""``gpu`` is installed once and clusters are updated one by one: the released command on clusters of today's program,
and today's command on clusters of the released one.

Without the released version: tests/facts/concepts/test_offer.py.
"""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from facts.concepts.offer import KEY, SCHEMA
from packages.gpu.tests.api_server import INVENTORY, kubeconfig, serving
from packages.gpu.tests.test_package import build
from packages.rehearsal.tests.upgrade.released import released
from packages.rehearsal.tests.upgrade.test_upgrade import STACKS, updated
from rehearsal.engine.stack import ROOT

pytestmark = pytest.mark.slow

TODAY: Final = (ROOT / "packages" / "gpu", ROOT)
ASK: Final = """
import contextlib, io, json, os, sys
folders, questions = json.load(sys.stdin)
sys.path[:0] = folders
import facts, gpu.cli
from kubernetes.config import kube_config
answers = []
for file, arguments in questions:
    # The released command's library reads the variable once, when it is imported.
    kube_config.KUBE_CONFIG_DEFAULT_LOCATION = os.environ["KUBECONFIG"] = file
    sys.argv, code, printed = ["gpu", *arguments], 0, io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            gpu.cli.main()
        except SystemExit as end:
            code = end.code
    answers.append([code, printed.getvalue()])
json.dump([facts.__file__, gpu.__file__, answers], sys.stdout)
"""


NEW_FIELDS: Final = ("compared", "ends", "onDemandUsd", "priceAtMost", "teams")


@dataclass(frozen=True)
class Question:
    """What a user types, with this kubeconfig."""

    kubeconfig: Path
    arguments: Sequence[str]


@dataclass(frozen=True)
class Answer:
    """The exit code, and what the command printed."""

    code: int
    text: str


def ask(folders: Sequence[Path], questions: Sequence[Question]) -> list[Answer]:
    """The answers of the command whose modules are in these folders, with the libraries of the tests."""
    asked = [[str(each.kubeconfig), list(each.arguments)] for each in questions]
    content = json.dumps([[str(folder) for folder in folders], asked])
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [sys.executable, "-c", ASK]
    done = subprocess.run(command, input=content, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    *modules, answers = json.loads(done.stdout)
    assert [each for each in modules if not any(Path(each).is_relative_to(folder) for folder in folders)] == []
    return [Answer(*each) for each in answers]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path]:
    """The wheel of the released version, unpacked."""
    folder = tmp_path_factory.mktemp("installed")
    wheel = build("wheel", released() / "packages" / "gpu", tmp_path_factory.mktemp("wheel"))
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return (folder,)


@pytest.fixture(scope="module")
def offers() -> Mapping[str, Any]:
    """What the clusters of the released examples publish, before and, if it differs, after the update to today's."""
    documents: dict[str, Any] = {}
    for stack in STACKS:
        name, update = Path(stack).stem, updated(stack)
        documents[name] = update.before.offer
        if update.after.offer != update.before.offer:
            documents[f"{name}-updated"] = update.after.offer
    return documents


def config_map(document: Any) -> dict[str, Any]:
    return {"data": {KEY: json.dumps(document)}}


def objects_of(name: str, document: Any) -> dict[str, Any]:
    """A cluster without nodes whose paths begin with its name."""
    objects = {INVENTORY: config_map(document), "/api/v1/nodes": [], "/api/v1/namespaces/default": {}}
    return {f"/{name}{path}": content for path, content in objects.items()}


def submit(*options: str) -> list[str]:
    image = "registry.example/image"
    return ["submit", "--dry-run", "--yes", "--name", "job", "--image", image, *options, "--", "python", "train.py"]


def job_for(pool: Mapping[str, Any]) -> list[str]:
    """A job that needs whole nodes of the pool."""
    size = ("--gpus", str(pool["gpus_per_pod"]), "--workers", str(pool["slice_nodes"] or 1))
    return submit("--gpu", pool["gpu"], *size, "--spot" if pool["spot"] else "--no-spot")


def jobs_of(offers: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """A cluster and a job for each of its pools, once where cluster, pool and job differ in nothing that a manifest
    says: most examples have the same few pools."""
    seen = set()
    for name, document in offers.items():
        cluster = [document.get(key) for key in ("cloud", "schema", "queued", "teams")]
        for pool in document["pools"]:
            job = job_for(pool)
            kind = json.dumps([cluster, job, *(pool.get(key) for key in ("taints", "cloud_labels", "fabric", "ends"))])
            if kind not in seen:
                seen.add(kind)
                yield name, job


def read(answer: Answer) -> list[Any]:
    """The pools, or the manifests, that a command printed."""
    if answer.text.startswith("apiVersion"):
        return [*yaml.safe_load_all(answer.text)]
    pools: list[Any] = json.loads(answer.text)
    return pools


def without_new(objects: list[Any]) -> list[Any]:
    """The same without what today's command adds (CHANGELOG.md): fields of pools, and a pod's limit of disk."""
    for each in objects:
        for field in NEW_FIELDS:
            each.pop(field, None)
        containers = each.get("spec", {}).get("template", {}).get("spec", {}).get("containers", ())
        for resources in (container["resources"] for container in containers):
            for kind in ("limits", "requests"):
                resources.get(kind, {}).pop("ephemeral-storage", None)
            if resources.get("requests") == {}:
                del resources["requests"]
    return objects


def is_new(objects: list[Any]) -> bool:
    return without_new(copy.deepcopy(objects)) != objects


def test_both_commands_answer_the_same_on_clusters_of_both_versions(
    installed: tuple[Path], offers: Mapping[str, Any], tmp_path: Path
) -> None:
    """The pools as JSON, and the manifests of a job for each kind of them."""
    clusters = [objects_of(name, document) for name, document in offers.items()]
    with serving({path: content for cluster in clusters for path, content in cluster.items()}) as url:
        files = {name: kubeconfig(tmp_path / name, {name: f"{url}/{name}"}) for name in offers}
        asked = [*((name, ["pools", "--json"]) for name in offers), *jobs_of(offers)]
        questions = [Question(files[name], arguments) for name, arguments in asked]
        earlier, today = (ask(folders, questions) for folders in (installed, TODAY))
    assert [question for question, answer in zip(questions, earlier, strict=True) if answer.code] == []
    answers = zip(questions, map(read, earlier), map(read, today), strict=True)
    assert [question for question, before, now in answers if before != without_new(now)] == []
    new = [question.arguments[0] for question, each in zip(questions, map(read, today), strict=True) if is_new(each)]
    assert {*new} == {"pools", "submit"}, "what is left out of the comparison is there"


def test_clusters_of_several_versions_are_compared_by_both_commands(
    installed: tuple[Path], offers: Mapping[str, Any], tmp_path: Path
) -> None:
    """Each refuses what is beyond the schemas that it reads, and goes on with the other clusters."""
    dev = offers["Pulumi.dev"]
    documents = {str(schema): {**dev, "schema": schema, "added": 1} for schema in range(SCHEMA + 3)}
    clusters = [objects_of(name, document) for name, document in documents.items()]
    with serving({path: content for cluster in clusters for path, content in cluster.items()}) as url:
        file = kubeconfig(tmp_path / "kubeconfig", {name: f"{url}/{name}" for name in documents})
        questions = [Question(file, ["fit", "--all", "--json"]), Question(file, submit("--cluster", "soonest"))]
        answers = {"installed": ask(installed, questions), "today": ask(TODAY, questions)}
    assert {who: [answer.code for answer in both] for who, both in answers.items()} == {
        "installed": [0, 0],
        "today": [0, 0],
    }
    fitting = {who: {each["context"] for each in json.loads(fit.text)["fits"]} for who, (fit, _) in answers.items()}
    assert fitting == {"installed": {"2"}, "today": {"1", "2", "3"}}
    before, now = (read(both[1]) for both in answers.values())
    assert before == without_new(now)
