"""`gpucluster pins`: what it prints, writes and refuses; and plugins that a plan installs by their hash."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from account import registry
from account.registry import RegistryError
from facts.catalog import pins as catalogued
from facts.catalog.pins import PLATFORM, Installed, read
from facts.catalog.plugins import plugin_version
from gpucluster.commands import account, pins
from packages.cli.tests.test_cli import run
from rehearsal.providers.kubernetes.helm.contents import StackContents

A, B = f"sha256:{'a' * 64}", f"sha256:{'b' * 64}"
HEAD = "# why\nkind,name,digest\n"
ROWS = (
    Installed("add-on", "coredns v1", note="the cloud's"),
    Installed("chart", "oci://r/kueue:1"),
    Installed("image", "a/b:1", A),
    Installed("image", "a/c:1", B, "named by chart kueue"),
    Installed("image", "cos:fixed", note="part of the node's own image"),
)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    written = tmp_path / "pins.csv"
    written.write_text(f"{HEAD}image,a/b:1,{A}\n")
    monkeypatch.setattr(catalogued, "PINS", written)
    monkeypatch.setattr(pins, "_contents", lambda stack: StackContents(ROWS, ("keda 1",)))
    return written


def answers(monkeypatch: pytest.MonkeyPatch, **digests: str) -> None:
    def digest_of(row: Installed) -> str:
        if row.kind not in digests:
            raise RegistryError("no route to host")
        return digests[row.kind]

    monkeypatch.setattr(registry, "digest_of", digest_of)


def test_each_row_has_its_digest_or_why_it_has_none(file: Path) -> None:
    shown = run("pins", "dev")
    lines = [line.split() for line in shown.stdout.splitlines()]
    assert ["image", "a/b:1", A] in lines
    assert ["chart", "oci://r/kueue:1", "not", "pinned"] in lines
    assert ["add-on", "coredns", "v1", "the", "cloud's"] in lines
    assert "2 of 3 images, charts and plugins have a digest." in shown.stdout
    assert "Images of these charts are not listed; give their archives, CHARTS=DIR: keda 1" in shown.stdout
    assert (shown.returncode, file.read_text()) == (0, f"{HEAD}image,a/b:1,{A}\n")


def test_rows_for_other_programs(file: Path) -> None:
    head, *rows = run("pins", "dev", "--csv").stdout.splitlines()
    assert head == "kind,name,digest,note"
    assert len(rows) == len(ROWS)
    assert f"image,a/c:1,{B},named by chart kueue" in rows


def test_what_is_missing_is_written(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers(monkeypatch, chart=B, image=A)
    updated = run("pins", "dev", "--update")
    assert updated.returncode == 0
    assert file.read_text() == f"{HEAD}chart,oci://r/kueue:1,{B}\nimage,a/b:1,{A}\n"
    assert "1 written to pins.csv: review and commit it" in updated.stderr
    assert read(file.read_text()) == {("chart", "oci://r/kueue:1"): B, ("image", "a/b:1"): A}


def test_a_digest_that_has_changed_is_refused_with_both(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers(monkeypatch, chart=B, image=B)
    refused = run("pins", "dev", "--update")
    assert refused.returncode == 1
    assert f"image a/b:1: the registry has {B}, the pin is {A}" in refused.stderr
    assert f"image,a/b:1,{A}\n" in file.read_text()


def test_without_a_network_nothing_is_written(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers(monkeypatch)
    refused = run("pins", "dev", "--update")
    assert refused.returncode == 1
    assert "chart oci://r/kueue:1: no route to host" in refused.stderr
    assert file.read_text() == f"{HEAD}image,a/b:1,{A}\n"


ARCHIVE = b"a plugin"
VERSION = plugin_version("aws")


@pytest.fixture
def pulumi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The log of a `pulumi` that has one plugin; the archive of another is downloaded."""
    log, program = tmp_path / "log", tmp_path / "pulumi"
    there = json.dumps([{"name": "kubernetes", "kind": "resource", "version": plugin_version("kubernetes")}])
    program.write_text(f"#!/bin/sh\necho \"$@\" >> {log}\ncase \"$*\" in *' ls '*) echo '{there}';; esac\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")

    def download(url: str, file: Path) -> str:
        file.write_bytes(ARCHIVE)
        return f"sha256:{hashlib.sha256(ARCHIVE).hexdigest()}"

    monkeypatch.setattr(registry, "download", download)
    monkeypatch.setattr(account, "BUILD", tmp_path)
    return log


def pinned(monkeypatch: pytest.MonkeyPatch, digest: str) -> None:
    names = (
        f"aws {VERSION} {PLATFORM}",
        f"kubernetes {plugin_version('kubernetes')} {PLATFORM}",
        "aws 1.0.0 plan9-mips",
    )
    monkeypatch.setattr(catalogued, "digests", lambda: {("plugin", name): digest for name in names})


def test_a_plan_installs_the_plugins_that_have_a_hash_and_are_missing(
    pulumi: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pinned(monkeypatch, f"sha256:{hashlib.sha256(ARCHIVE).hexdigest()}")
    account._install_pinned_plugins()  # pyright: ignore[reportPrivateUsage]
    _, installed = pulumi.read_text().splitlines()
    assert f"plugin install resource aws v{VERSION} --file {pulumi.parent}/pulumi-resource-aws-v{VERSION}" in installed
    assert [*pulumi.parent.glob("*.tar.gz")] == []


def test_another_plugin_is_not_installed(
    pulumi: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pinned(monkeypatch, A)
    with pytest.raises(Exception, match="1"):
        account._install_pinned_plugins()  # pyright: ignore[reportPrivateUsage]
    shown = " ".join(capsys.readouterr().err.split())
    assert f"is sha256:{hashlib.sha256(ARCHIVE).hexdigest()}, the pin in facts/catalog/pins.csv is {A}" in shown
    assert "install" not in pulumi.read_text()


def test_without_pins_pulumi_is_not_asked(pulumi: Path) -> None:
    account._install_pinned_plugins()  # pyright: ignore[reportPrivateUsage]
    assert not pulumi.exists()
