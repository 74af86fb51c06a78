"""The Debian packages that are made: their fields, files and relations."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from rehearsal.lab import software
from rehearsal.lab.software.debs import Link, Package, build, drivers, kubernetes, toolkit
from rehearsal.tools import ToolsError

pytestmark = pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="needs dpkg-deb, of Debian or Ubuntu")

PACKAGE = Package(
    "tool",
    "1.2-1",
    "A tool",
    {"/usr/bin/tool": "#!/bin/sh\n", "/usr/share/tool": "text\n", "/etc/tool": "a\n", "/usr/bin/alias": Link("tool")},
    {"Depends": "mount"},
    {"prerm": "#!/bin/sh\n"},
)


def _shown(*arguments: str) -> str:
    return subprocess.run(["dpkg-deb", *arguments], check=True, capture_output=True, text=True).stdout


def test_a_package_has_its_fields_files_conffiles_and_scripts(tmp_path: Path) -> None:
    package = build(PACKAGE, tmp_path)
    assert package.name == "tool_1.2-1_amd64.deb"
    shown = _shown("--show", "--showformat=${Package} ${Version} ${Architecture} ${Depends}", str(package))
    assert shown == "tool 1.2-1 amd64 mount"
    contents = {line.split()[5]: line for line in _shown("--contents", str(package)).splitlines()}
    assert contents["./usr/bin/tool"].startswith("-rwxr-xr-x root/root")
    assert contents["./usr/share/tool"].startswith("-rw-r--r-- root/root")
    assert contents["./usr/bin/alias"].endswith("-> tool")
    assert _shown("--info", str(package), "conffiles") == "/etc/tool\n"
    assert _shown("--info", str(package), "prerm") == "#!/bin/sh\n"


def test_the_same_package_has_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    first = build(PACKAGE, tmp_path).read_bytes()
    os.utime(tmp_path)
    assert build(PACKAGE, tmp_path).read_bytes() == first


def test_a_wrong_name_is_refused_with_dpkg_debs_words(tmp_path: Path) -> None:
    with pytest.raises(ToolsError, match="packing Not_A_Name failed"):
        build(Package("Not_A_Name", "1", "x"), tmp_path)


def test_kubernetes_packages_are_those_of_its_repository(tmp_path: Path) -> None:
    packages = {each.name: each for each in kubernetes(tmp_path, tmp_path, "v1.34.4")}
    assert {name: each.version for name, each in packages.items()} == {
        "cri-tools": "1.34.0-1.1",
        "kubeadm": "1.34.4-1.1",
        "kubectl": "1.34.4-1.1",
        "kubelet": "1.34.4-1.1",
        "kubernetes-cni": "1.7.1-1.1",
    }
    assert "kubernetes-cni (>= 1.2.0)" in packages["kubelet"].relations["Depends"]
    assert packages["kubelet"].files["/etc/default/kubelet"] == "KUBELET_EXTRA_ARGS=\n"
    drop_in = packages["kubeadm"].files["/lib/systemd/system/kubelet.service.d/10-kubeadm.conf"]
    assert isinstance(drop_in, str)
    assert "EnvironmentFile=-/etc/default/kubelet" in drop_in
    assert "$KUBELET_KUBEADM_ARGS $KUBELET_EXTRA_ARGS" in drop_in
    plugins = {f"/opt/cni/bin/{name}" for name in ("bridge", "host-local", "portmap")}
    assert plugins <= {*packages["kubernetes-cni"].files}
    assert not any("postinst" in each.scripts for each in packages.values()), "nobody may rely on an enabled kubelet"


def test_what_a_simulated_package_needs_is_in_its_repository(tmp_path: Path) -> None:
    repositories = (drivers(tmp_path), toolkit(tmp_path))
    for packages in repositories:
        offered = {f"{each.name} (= {each.version})" for each in packages}
        offered |= {each.relations["Provides"] for each in packages if "Provides" in each.relations}
        needed = {need for each in packages for need in re.split(", ", each.relations.get("Depends", "")) if need}
        assert needed
        assert needed <= offered
        assert len(packages) == len({each.file_name for each in packages})


def test_two_driver_branches_share_one_repository(tmp_path: Path) -> None:
    packages = drivers(tmp_path)
    assert [each.version for each in packages if each.name == "nvidia-open"] == ["580.95.05-1", "595.71.05-1"]
    names = {each.name for each in packages}
    for branch in ("580", "595"):
        named = {f"nvidia-open-{branch}", f"cuda-drivers-{branch}", f"nvidia-driver-pinning-{branch}"}
        assert {*named, f"nvidia-fabricmanager-{branch}"} <= names


def test_another_distribution_is_refused_with_what_to_use(tmp_path: Path) -> None:
    release = tmp_path / "os-release"
    release.write_text('PRETTY_NAME="Fedora Linux 42"\nVERSION_CODENAME=""\n')
    with pytest.raises(ToolsError, match=r"this machine is Fedora Linux 42\. Run the rehearsal in a Debian 12"):
        software.require_release(release)
    release.write_text("PRETTY_NAME=x\nVERSION_CODENAME=bookworm\n")
    software.require_release(release)
