"""The generator: fresh files pass its check, stale ones do not, and nothing of an SDK is left out in silence."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

import pytest

from schemas import FOLDER, generate
from schemas.sources import amazon, azure, google

SERVICE = "gcp:projects/service:Service"
GROUP = "azure-native:resources:ResourceGroup"

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:pulumi_gcp")


def test_a_stale_file_is_named_and_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(generate, "FOLDER", tmp_path)
    monkeypatch.setattr(generate, "USED", {"gke": (SERVICE,)})
    assert generate.main(["--check", "gke"]) == 1
    assert "gke.json" in capsys.readouterr().err
    assert generate.main(["gke"]) == 0
    assert generate.main(["--check", "gke"]) == 0
    made = json.loads((tmp_path / "gke.json").read_text())
    stored = json.loads((FOLDER / "gke.json").read_text())
    assert made["resources"][SERVICE]["outputs"] == stored["resources"][SERVICE]["outputs"]
    assert made["objects"]["EnableServiceRequest"] == stored["objects"]["EnableServiceRequest"]


def test_an_input_that_nobody_accounts_for_stops_the_generator(monkeypatch: pytest.MonkeyPatch) -> None:
    table = {"EnableServiceRequest": {"service": "service"}}
    request = {"request": "serviceusage.v1 EnableServiceRequest", "table": table}
    monkeypatch.setattr(google, "REQUESTS", {**google.REQUESTS, SERVICE: request})
    with pytest.raises((KeyError, ValueError), match=r"service|EnableServiceRequest has no "):
        google.made([SERVICE])


@pytest.mark.parametrize(("source", "token"), [(google, "gcp:a/b:B"), (amazon, "aws:a/b:B")])
def test_a_type_whose_request_nobody_names_is_named_with_the_place_to_say_it(source: ModuleType, token: str) -> None:
    with pytest.raises(ValueError, match=f"{token}: say in names.yaml which request makes it"):
        source.made([token])


def test_a_limit_of_nothing_stops_the_generator(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = azure.LIMITS
    monkeypatch.setattr(azure, "LIMITS", {"ResourceGroup": {"resourceGroupNam": "x"}})
    with pytest.raises(ValueError, match="resourceGroupNam"):
        azure.made([GROUP])
    monkeypatch.setattr(azure, "LIMITS", {"ResourceGrup": limits["Subnet"]})
    with pytest.raises(ValueError, match="ResourceGrup"):
        azure.made([GROUP])
