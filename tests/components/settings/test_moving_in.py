"""``make moving-in`` on recorded answers: the written stack files as approved text, and what it refuses."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, get_type_hints

import botocore.session
import googleapiclient
import pytest
from azure.mgmt.containerservice import models

from components.settings.moving_in.__main__ import main

RECORDED = Path(__file__).with_name("moving_in")
CLOUDS = ("gke", "eks", "aks")


def _answers(cloud: str) -> list[dict[str, Any]]:
    text, answers = (RECORDED / f"{cloud}.json").read_text().strip(), list[Any]()
    while text:
        answer, end = json.JSONDecoder().raw_decode(text)
        answers += answer if isinstance(answer, list) else [answer]
        text = text[end:].lstrip()
    return answers


def _written(folder: Path, answers: object, code: int = 0) -> str:
    (folder / "answers.json").write_text(json.dumps(answers))
    assert main(["--stack", "moved", "answers.json"]) == code
    return (folder / "Pulumi.moved.yaml").read_text()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("cloud", CLOUDS)
def test_the_stack_file_is_as_approved_and_valid(cloud: str, folder: Path) -> None:
    assert main(["--stack", "moved", str(RECORDED / f"{cloud}.json")]) == 0
    assert (folder / "Pulumi.moved.yaml").read_text() == (RECORDED / f"{cloud}.yaml").read_text()


def test_answers_may_be_an_array_or_in_several_files(folder: Path) -> None:
    answers = _answers("eks")
    assert _written(folder, answers) == (RECORDED / "eks.yaml").read_text()
    for number, answer in enumerate(answers):
        (folder / f"{number}.json").write_text(json.dumps(answer))
    (folder / "Pulumi.moved.yaml").unlink()
    assert main(["--stack", "moved", *(f"{number}.json" for number in range(len(answers)))]) == 0
    assert (folder / "Pulumi.moved.yaml").read_text() == (RECORDED / "eks.yaml").read_text()


@pytest.mark.parametrize(
    ("cloud", "place"), [("gke", ("nodePools", 1, "config")), ("eks", ("cluster",)), ("aks", ("agentPoolProfiles", 0))]
)
def test_a_field_that_nothing_reads_becomes_a_comment(cloud: str, place: tuple[str | int, ...], folder: Path) -> None:
    answers = _answers(cloud)
    target: Any = answers[0]
    for key in place:
        target = target[key]
    target["newFeature"] = {"mode": "ON"}
    assert re.search(r'^#   .*newFeature\.mode: "ON"$', _written(folder, answers), re.MULTILINE)


@pytest.mark.parametrize(("size", "noted"), [("1g.20gb", True), ("1g.10gb", False)])
def test_partitions_with_more_memory_are_named(size: str, noted: bool, folder: Path) -> None:
    answers = _answers("gke")
    gpu = {"acceleratorCount": "1", "acceleratorType": "nvidia-h100-80gb", "gpuPartitionSize": size}
    answers[0]["nodePools"][1]["config"] |= {"accelerators": [gpu], "machineType": "a3-highgpu-1g"}
    text = _written(folder, answers)
    assert "    mig: 1g\n" in text
    assert ("# gpuPools: T4_pool: partitions of 1g.20gb become 1g.10gb" in text) is noted


@pytest.mark.parametrize(
    ("installed", "comment"),
    [
        ({"gpuDriverVersion": "SPECIFIC", "specificVersion": "580.95.05"}, "driver 580.95.05 becomes the default one"),
        (
            {"gpuDriverVersion": "INSTALLATION_DISABLED"},
            "drivers: none installs no driver either; see drivers: daemonset",
        ),
        ({"gpuDriverVersion": "LATEST"}, ""),
    ],
)
def test_a_driver_that_the_new_pool_lacks_is_named(installed: dict[str, str], comment: str, folder: Path) -> None:
    answers = _answers("gke")
    gpu = {"acceleratorCount": "1", "acceleratorType": "nvidia-tesla-t4", "gpuDriverInstallationConfig": installed}
    answers[0]["nodePools"][1]["config"]["accelerators"] = [gpu]
    comments = re.findall(r"# gpuPools: T4_pool: (.*driver.*)$", _written(folder, answers), re.MULTILINE)
    assert comments == [comment] * bool(comment)


def test_without_the_answer_about_subnets_the_command_is_in_the_file(folder: Path) -> None:
    text = _written(folder, [answer for answer in _answers("eks") if "Subnets" not in answer])
    assert "# zones: EKS does not print them" in text
    assert "gpucluster:zones" not in text


def test_problems_of_the_written_file_are_printed_at_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answers = _answers("aks")
    answers[0]["location"] = "atlantis"
    _written(folder, answers, code=1)
    assert "region: the catalogue has no region 'atlantis' of aks" in capsys.readouterr().err


def test_a_file_that_exists_is_not_overwritten(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "Pulumi.vision.yaml").write_text("mine")
    assert main([str(RECORDED / "gke.json")]) == 1
    assert "Pulumi.vision.yaml exists and is not overwritten" in capsys.readouterr().err
    assert (folder / "Pulumi.vision.yaml").read_text() == "mine"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"items": []}', r"gcloud container clusters describe(.|\n)*aws eks describe-cluster(.|\n)*az aks show"),
        ("NAME LOCATION", "input.json is not JSON"),
        (json.dumps(_answers("gke") * 2), "FROM holds 2 clusters"),
        (json.dumps(_answers("eks")[:3]), "no answer of `aws eks describe-nodegroup` for custom, t4, v100"),
    ],
)
def test_other_input_is_refused(text: str, message: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "input.json").write_text(text)
    assert main(["input.json"]) == 1
    assert re.search(message, capsys.readouterr().err)
    assert not [*folder.glob("Pulumi.*")]


def _google(name: str) -> Mapping[str, Any]:
    file = Path(googleapiclient.__file__).parent / "discovery_cache" / "documents" / "container.v1.json"
    fields = json.loads(file.read_text())["schemas"][name]["properties"]
    return {key: each.get("$ref") or each.get("items", {}).get("$ref") for key, each in fields.items()}


def _amazon(shape: Any) -> Mapping[str, Any]:
    inner = {key: getattr(member, "member", member) for key, member in shape.members.items()}
    return {key: member if member.type_name == "structure" else None for key, member in inner.items()}


def _azure(model: type) -> Mapping[str, Any]:
    """Fields as the CLI prints them: those of ``properties`` are at the top, names in camelCase."""
    named: dict[str, Any] = {}
    for key, hint in get_type_hints(model, localns={"_models": models}).items():
        name = re.search(r"(\w+)'?>?\W*$", "" if "dict[" in str(hint) else str(hint))
        inner = getattr(models, name[1], None) if name else None
        inner = inner if hasattr(inner, "as_dict") else None
        named |= _azure(inner) if key == "properties" and inner else {}
        first, *rest = key.split("_")
        named[first + "".join(word.capitalize() for word in rest)] = inner
    return named


def _unknown(value: object, shape: Any, fields: Callable[[Any], Mapping[str, Any]], place: str = "") -> Iterator[str]:
    """Paths that the vendor's model does not have; ``None`` is a shape that the model leaves open."""
    if isinstance(value, list):
        for each in value:
            yield from _unknown(each, shape, fields, place)
    elif isinstance(value, dict) and shape is not None:
        known = fields(shape)
        for key, inner in value.items():
            if key in known:
                yield from _unknown(inner, known[key], fields, f"{place}.{key}")
            else:
                yield f"{place}.{key}"


def test_recorded_answers_have_the_fields_of_the_vendors_models() -> None:
    session = botocore.session.get_session()
    eks, ec2 = session.get_service_model("eks"), session.get_service_model("ec2")
    shapes = {
        "cluster": eks.shape_for("DescribeClusterResponse"),
        "nodegroups": eks.shape_for("ListNodegroupsResponse"),
        "nodegroup": eks.shape_for("DescribeNodegroupResponse"),
        "Subnets": ec2.shape_for("DescribeSubnetsResult"),
    }
    assert [*_unknown(_answers("gke"), "Cluster", _google)] == []
    assert [path for each in _answers("eks") for path in _unknown(each, shapes[next(iter(each))], _amazon)] == []
    printed = {key: value for key, value in _answers("aks")[0].items() if key != "resourceGroup"}  # the CLI adds it
    assert [*_unknown(printed, models.ManagedCluster, _azure)] == []
    assert [*_unknown({"nodePools": [{"maxNodes": 1}]}, "Cluster", _google)] == [".nodePools.maxNodes"]
    written = {"agentPoolProfiles": [{"maxNodes": 1}]}
    assert [*_unknown(written, models.ManagedCluster, _azure)] == [".agentPoolProfiles.maxNodes"]
