"""Signed repositories, read by the real apt in a root of its own."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from rehearsal.lab.software.debs import Package, build, publish, signing_key

pytestmark = pytest.mark.skipif(
    not all(map(shutil.which, ("apt-get", "dpkg-deb", "gpg"))), reason="needs apt, dpkg-deb and gpg"
)


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the repository ``tools``, ``key.asc`` and the key ``other.asc``, which signed nothing."""
    folder = tmp_path_factory.mktemp("published")
    (folder / "tools").mkdir()
    for version in ("1.0-1.1", "1.1-1.1"):
        build(Package("tool", version, "A tool", {"/usr/share/tool": version}), folder / "tools")
    with signing_key() as key:
        key.export(folder / "key.asc")
        publish(folder / "tools", "Tools", key)
        home = key.home
    assert not home.exists()
    with signing_key() as key:
        key.export(folder / "other.asc")
    return folder


def _apt(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    options = ["-o", f"Dir={root}", "-o", f"Dir::State::status={root}/status", "-o", "APT::Sandbox::User=root"]
    options += ["-o", "APT::Architecture=amd64", "-o", "APT::Architectures::=amd64", "-o", "Debug::NoLocking=true"]
    tool, *rest = arguments
    environment = {**os.environ, "LC_ALL": "C"}
    return subprocess.run([tool, *options, *rest], env=environment, capture_output=True, text=True)


def _root(folder: Path, repository: Path, key: str) -> Path:
    for each in (
        "etc/apt/apt.conf.d",
        "etc/apt/preferences.d",
        "var/lib/apt/lists/partial",
        "var/cache/apt/archives/partial",
    ):
        (folder / each).mkdir(parents=True)
    (folder / "status").touch()
    source = f"deb [signed-by={repository / key}] copy:{repository}/tools /\n"
    (folder / "etc/apt/sources.list").write_text(source)
    return folder


def test_apt_accepts_it_and_offers_both_versions(published: Path, tmp_path: Path) -> None:
    root = _root(tmp_path / "root", published, "key.asc")
    answer = _apt(root, "apt-get", "update")
    assert (answer.returncode, answer.stderr) == (0, "")
    versions = _apt(root, "apt-cache", "madison", "tool").stdout
    assert [line.split("|")[1].strip() for line in versions.splitlines()] == ["1.1-1.1", "1.0-1.1"]
    installed = _apt(root, "apt-get", "--simulate", "install", "tool=1.0-1.1")
    assert "Inst tool (1.0-1.1 " in installed.stdout


def test_apt_refuses_another_key(published: Path, tmp_path: Path) -> None:
    answer = _apt(_root(tmp_path / "root", published, "other.asc"), "apt-get", "update")
    assert answer.returncode == 100
    assert "is not signed" in answer.stderr


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("Packages", b"Version: 1.1", b"Version: 9.9", "Hash Sum mismatch"),
        ("InRelease", b"Origin: Tools", b"Origin: Other", "is not signed"),
    ],
)
def test_apt_refuses_what_was_changed_after_signing(
    published: Path, tmp_path: Path, file: str, old: bytes, new: bytes, message: str
) -> None:
    changed = tmp_path / "changed"
    shutil.copytree(published, changed)
    (changed / "tools" / "Packages.gz").unlink()
    (changed / "tools" / "Release.gpg").unlink()
    target = changed / "tools" / file
    content = target.read_bytes()
    assert old in content
    target.write_bytes(content.replace(old, new))
    answer = _apt(_root(tmp_path / "root", changed, "key.asc"), "apt-get", "update")
    assert answer.returncode == 100
    assert message in answer.stderr


def test_the_index_has_every_package_with_its_hash(published: Path) -> None:
    stanzas = (published / "tools" / "Packages").read_text().strip().split("\n\n")
    assert len(stanzas) == 2
    for stanza in stanzas:
        fields = dict(line.split(": ", 1) for line in stanza.splitlines() if not line.startswith(" "))
        content = (published / "tools" / fields["Filename"]).read_bytes()
        assert (fields["Size"], fields["SHA256"]) == (str(len(content)), hashlib.sha256(content).hexdigest())
