"""Settings as the engine hands them over (JSON, defaults, encrypted values), and what a workflow is told."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pulumi
import pytest
from pulumi.runtime import config as engine_config

from components.settings import __main__ as command
from components.settings import from_pulumi, read

STACK = {
    "gcp:project": "my-project",
    "gpucluster:cloud": "gke",
    "gpucluster:region": "us-central1",
    "gpucluster:zones": "[]",
    "gpucluster:clusterName": "",
    "gpucluster:network": json.dumps({"dnsEndpoint": True}),
    "gpucluster:gpuPools": json.dumps([{"name": "t4", "gpu": "nvidia-t4", "maxNodes": 1}]),
    "other:key": "ignored",
}


@pytest.fixture(autouse=True)
def stack(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    # Mocks of the engine would make a root stack, which outlives the test.
    monkeypatch.setattr(pulumi, "get_stack", lambda: "lab")
    engine_config.set_all_config(dict(STACK), [])
    yield
    engine_config.set_all_config({}, [])


def test_a_second_project_file_whose_stack_files_nobody_reviews_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(read, "OTHER_PROJECT", tmp_path / "Pulumi.json")
    assert from_pulumi().stack == "lab"
    (tmp_path / "Pulumi.json").write_text("{}")
    with pytest.raises(pulumi.RunError, match=r"Pulumi reads Pulumi\.json, .*: delete Pulumi\.json"):
        from_pulumi()


def test_settings_of_the_running_stack() -> None:
    settings = from_pulumi()
    assert (settings.stack, settings.project, settings.cluster_name) == ("lab", "my-project", "gpu-lab")
    assert [pool.name for pool in settings.gpu_pools] == ["t4-1"]


def test_problems_reach_the_engine_as_one_text() -> None:
    engine_config.set_all_config({**STACK, "gpucluster:regoin": "x", "gpucluster:availability": "both"}, [])
    with pytest.raises(pulumi.RunError) as error:
        from_pulumi()
    assert "2 problems in the settings of stack 'lab'" in str(error.value)
    assert "regoin: there is no key 'regoin'. Did you mean 'region'?" in str(error.value)


@pytest.mark.parametrize(("other", "problems"), [({}, "1 problem"), ({"gpucluster:regoin": "x"}, "2 problems")])
def test_a_provider_s_key_that_may_send_the_login_elsewhere_is_refused(other: dict[str, str], problems: str) -> None:
    """Before the program declares anything, so that no provider starts; of Pulumi.yaml and ``--config`` as well."""
    key = "gcp:containerCustomEndpoint"
    engine_config.set_all_config({**STACK, key: "https://elsewhere.example/v1/", **other}, [])
    with pytest.raises(pulumi.RunError, match=f"{key}: may send the login") as error:
        from_pulumi()
    assert f"{problems} in the settings of stack 'lab'" in str(error.value)


def test_encrypted_values_are_refused() -> None:
    engine_config.set_all_config(dict(STACK), ["gpucluster:network"])
    with pytest.raises(pulumi.RunError, match="network: is encrypted"):
        from_pulumi()


def test_account_is_required() -> None:
    engine_config.set_all_config({key: value for key, value in STACK.items() if key != "gcp:project"}, [])
    with pytest.raises(pulumi.RunError, match="Add the line 'gcp:project: my-project'"):
        from_pulumi()


def test_a_placeholder_is_an_account_in_rehearsals_only(monkeypatch: pytest.MonkeyPatch) -> None:
    engine_config.set_all_config({**STACK, "gcp:project": "my-gcp-project"}, [])
    assert from_pulumi().project == "my-gcp-project"
    monkeypatch.delenv("GPUCLUSTER_WITHOUT_ACCOUNT")
    with pytest.raises(pulumi.RunError, match=r"placeholder of the examples\. Write your own: pulumi config set gcp:"):
        from_pulumi()


def test_a_stack_says_where_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["Pulumi.prod.yaml"]) == 0
    assert capsys.readouterr().out.splitlines() == ["cloud=gke", "region=us-central1"]


def test_a_bad_stack_is_an_error_and_prints_no_outputs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "Pulumi.bad.yaml"
    file.write_text("config:\n  gpucluster:cloud: gek\n")
    assert command.main([str(file)]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "gke" in printed.err
