"""The scripts as such; what they do on a machine is tried in the rehearsal of own machines."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from machines import scripts
from machines.scripts import Phase, answer, compose
from machines.software import driver_variables, init_variables, prepare_variables, upgrade_variables
from packages.machines.tests.simulated import FACTS, SimulatedMachine, control_plane, software

FOLDER = Path(scripts.__file__).with_name("scripts")
PHASES = [each for each in vars(scripts).values() if isinstance(each, Phase)]
TEXT: Any = {"check": True, "capture_output": True, "text": True}
NODE_VARIABLES = ("NODE_NAME", "ACTION", "DRAIN_SECONDS", "LABELS", "TAINTS", "TAINTS_REMOVED", "UNCORDON", "MEMBER")


def test_scripts_and_plugin_agree_on_their_version() -> None:
    assert f"\nSCRIPTS_VERSION={scripts.VERSION}\n" in (FOLDER / "common.sh").read_text()


def test_every_script_is_a_phase_and_every_phase_a_script() -> None:
    assert {each.name for each in PHASES} | {"common"} == {file.stem for file in FOLDER.glob("*.sh")}
    assert len(PHASES) == 11


@pytest.mark.parametrize("phase", PHASES, ids=lambda phase: phase.name)
def test_shellcheck_and_the_shells_parser_have_nothing_to_say(phase: Phase) -> None:
    text = compose(phase, {})
    assert subprocess.run(["sh", "-n"], input=text, text=True, capture_output=True).stderr == ""
    # 2034: a phase does not use all that is common; 2154: the plugin sends the variables; 2119, 2120: see 2034.
    line = [Path(sys.prefix) / "bin" / "shellcheck", "-s", "sh", "-e", "SC2034,SC2154,SC2119,SC2120", "-"]
    assert subprocess.run(line, input=text, text=True, capture_output=True).stdout == ""


@pytest.mark.parametrize("phase", PHASES, ids=lambda phase: phase.name)
def test_a_phase_reads_only_variables_that_the_plugin_sends(phase: Phase) -> None:
    inputs = {**control_plane(SimulatedMachine("m")), "nvidia": {"driver": "580"}, "software": software()}
    sent = {
        "prepare": prepare_variables(inputs, "worker"),
        "upgrade": upgrade_variables(inputs, "worker", "node", first=False),
        "driver": driver_variables(inputs, FACTS, False),
        "facts": ("SOURCES",),
        "init": init_variables(inputs),
        "join": ("CA_HASH", "JOIN_CONFIG", "RESTART"),
        "token": ("NODE_NAME", "ACTION", "CONTROL_PLANE"),
        "reset": ("OTHERS",),
        "node": NODE_VARIABLES,
        "user": ("ADDRESS", "USER_NAME", "GROUPS_OF_USER", "HOURS"),
    }.get(phase.name, ())
    text = (FOLDER / f"{phase.name}.sh").read_text()
    read = set(re.findall(r"\$\{?([A-Z][A-Z_]+)", text)) - {"SCRIPTS_VERSION", "ID", "VERSION_ID", "NF"}
    assert read <= set(sent)
    common = {"PROXY", "PROXY_EXCEPT", "IMAGE_REPOSITORY", "ETCD_SCRIPT", "KUBERNETES_VERSION"}
    common |= {name for name in sent if name.startswith("KUBERNETES_")}
    assert {*sent} - read <= common, "these are read by what is common"


def run_common(body: str, folder: Path, phase: str = "") -> str:
    """``body`` after the common part and that of ``phase``, as the tests' user, with all files in ``folder``."""
    text = "".join((FOLDER / f"{name}.sh").read_text() for name in ("common", phase) if name)
    text = text.replace("/var/lib/gpucluster-machines", f"{folder}/state")
    text = text.replace("/var/log/", f"{folder}/")
    text = text.replace("PATH=/usr/local/sbin", f"PATH={folder}/bin").replace("/etc/kubernetes", f"{folder}/kubernetes")
    etc = "etc/(?:apt|cni|containerd|keepalived|modules-load.d|systemd|nvidia-container-runtime|crypttab|resolv.conf)"
    own = "var/lib/(?:cni|containerd|etcd|kubelet)|opt/(?:cni|containerd)"
    text = re.sub(rf"/({etc}|{own}|proc/sys|proc/swaps|sys/bus/pci|sys/class/net|run/systemd)\b", rf"{folder}/\1", text)
    answer = subprocess.run(["sh", "-s"], input=f"{text}\n{body}", text=True, capture_output=True)
    return answer.stdout + answer.stderr


def test_shellcheck_has_nothing_to_say_about_what_stays_on_a_machine() -> None:
    (file,) = (FOLDER / "on_machine").iterdir()
    line = [Path(sys.prefix) / "bin" / "shellcheck", file]
    assert subprocess.run(line, text=True, capture_output=True).stdout == ""
    assert scripts.on_machine("gpucluster-etcd") + "\n" == file.read_text()


@pytest.mark.parametrize(
    ("says", "version"),
    [
        ("580.95.05\n580.95.05", "580.95.05"),
        ("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.", ""),
        ("Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 580.95", ""),
    ],
)
def test_what_nvidia_smi_says_of_a_failure_is_no_version(says: str, version: str, tmp_path: Path) -> None:
    program = tmp_path / "bin" / "nvidia-smi"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\ncat <<'X'\n{says}\nX\n")
    program.chmod(0o755)
    assert run_common("driver_version", tmp_path).strip() == version


def test_which_packages_a_version_means(tmp_path: Path) -> None:
    offered = ["1.34.4-1.1", "1.34.10-1.1", "1.34.9-1.1", "1.35.0-1.1", "1.3.4-1.1"]
    cache = tmp_path / "bin" / "apt-cache"
    cache.parent.mkdir()
    cache.write_text("#!/bin/sh\n" + "".join(f"echo 'kubeadm | {each} | x'\n" for each in offered))
    cache.chmod(0o755)
    for version, newest in (("1.34", "1.34.10-1.1"), ("1.34.4", "1.34.4-1.1"), ("1.34.1", ""), ("1.36", "")):
        assert run_common(f"KUBERNETES_VERSION={version}; offered", tmp_path).strip() == newest


def test_which_certificates_end(tmp_path: Path) -> None:
    pki = tmp_path / "kubernetes" / "pki"
    pki.mkdir(parents=True)
    for name, days in (("ca", 5), ("front-proxy-ca", 5), ("apiserver", 29), ("front-proxy-client", 31)):
        line = ["openssl", "req", "-x509", "-newkey", "ed25519", "-nodes", "-subj", "/CN=x", "-days", str(days)]
        files = ["-keyout", tmp_path / "key", "-out", pki / f"{name}.crt"]
        subprocess.run([*line, *files], check=True, capture_output=True)
    text = base64.b64encode((pki / "apiserver.crt").read_bytes()).decode()
    for name in ("admin", "kubelet"):
        (pki.parent / f"{name}.conf").write_text(f"    client-certificate-data: {text}\n")
    assert run_common("ending_certificates", tmp_path).split() == ["apiserver.crt", "admin.conf"]


def test_an_answer_is_json_whatever_is_in_it(tmp_path: Path) -> None:
    text = run_common('member a "$(printf \'x"y\\\\z\\tt\\nn\')"; raw_member b 3; answer', tmp_path)
    assert json.loads(text) == {"a": 'x"y\\z t n', "b": 3}
    assert answer("noise\n" + text) == {"a": 'x"y\\z t n', "b": 3}
    assert answer("noise") is answer("") is answer("[1]") is None


def test_a_failing_command_is_told_with_its_last_lines_and_without_tokens(tmp_path: Path) -> None:
    output = run_common("lock; run sh -c 'echo token abcdef.0123456789abcdef; exit 3'; echo not reached", tmp_path)
    assert json.loads(output)["error"].endswith("failed: token (token)")
    assert "0123456789abcdef" not in (tmp_path / "gpucluster-machines.log").read_text()[60:]


def test_a_file_is_written_once_and_the_one_from_before_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "etc" / "a.conf"
    file.parent.mkdir()
    file.write_text("before\n")
    body = f"lock; touch $state/files; for n in 1 2; do changed=no; put {file} 600 <<X\nours\nX\necho $changed; done"
    assert run_common(body, tmp_path).split() == ["yes", "no"]
    assert file.read_text() == "ours\n"
    assert oct(file.stat().st_mode)[-3:] == "600"
    assert (tmp_path / "state" / "before" / str(file)[1:]).read_text() == "before\n"
    assert (tmp_path / "state" / "sums").read_text().count(str(file)) == 1


@pytest.mark.parametrize(("package", "copied"), [("nvidia-container-toolkit-base", False), ("curl", True)])
def test_containers_get_gpus_by_mounts_and_not_by_their_environment(tmp_path: Path, package: str, copied: bool) -> None:
    """The file from before is copied if the toolkit was on the machine before."""
    program, file = tmp_path / "bin" / "nvidia-ctk", tmp_path / "etc/nvidia-container-runtime/config.toml"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\n/usr/bin/printf "%s\\n" "$@"\n')
    program.chmod(0o755)
    file.parent.mkdir(parents=True)
    file.write_text("before\n")
    body = f"PATH=$PATH:/usr/bin:/bin; lock; echo {package} >$state/installed; toolkit_configuration"
    run_common(body, tmp_path)
    assert file.read_text().split() == [
        "config",
        f"--config-file={file}",
        "--set=accept-nvidia-visible-devices-envvar-when-unprivileged=false",
        "--set=accept-nvidia-visible-devices-as-volume-mounts=true",
    ]
    assert (tmp_path / "state" / "files").read_text() == f"{file}\n"
    assert (tmp_path / "state" / "before" / str(file)[1:]).exists() is copied


# What the node's pods are: label of notebooks or not, namespace/name, owner. Deletions are noted.
KUBECTL = """#!/bin/sh
case "$*" in
  *"-l app=jupyterhub"*) echo "$NOTEBOOKS" ;;
  *"-l component!="*) echo "$OTHERS" ;;
  *delete*|*" drain "*|*" cordon "*) echo "$*" >>"$DONE" ;;
esac
"""


@pytest.mark.parametrize(
    ("notebooks", "others", "done", "says"),
    [
        ("", "kube-system/etcd-cp1 Node\ndefault/web-1 ReplicaSet", ["cordon", "drain"], ""),
        ("notebook/jupyter-ann", "", ["cordon", "delete", "drain"], "stopping the notebook notebook/jupyter-ann"),
        ("", "default/mine\ndefault/web-1 ReplicaSet", [], "start again run on gpu1: default/mine ; save"),
    ],
)
def test_a_drain_stops_notebooks_and_refuses_pods_that_nothing_would_start_again(
    tmp_path: Path, notebooks: str, others: str, done: list[str], says: str
) -> None:
    program, log = tmp_path / "bin" / "kubectl", tmp_path / "done"
    program.parent.mkdir()
    program.write_text(KUBECTL)
    program.chmod(0o755)
    log.touch()
    body = f"PATH=$PATH:/usr/bin:/bin NODE_NAME=gpu1 DRAIN_SECONDS=600\n{(FOLDER / 'node.sh').read_text()}\ndrain"
    variables = f"export NOTEBOOKS='{notebooks}' OTHERS='{others}' DONE={log}"
    assert says in run_common(f"{variables}\n{body}", tmp_path)
    lines = log.read_text().splitlines()
    assert [
        next(word for word in ("cordon", "delete pod", "drain") if f" {word} " in line).split()[0] for line in lines
    ] == done
    assert all("delete pod jupyter-ann" in line and "-n notebook" in line for line in lines if "delete pod" in line)


def test_files_of_the_api_server_are_marked_while_it_has_not_read_them(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    file, mark = tmp_path / "audit.yaml", tmp_path / "state" / "files-changed"
    script = (FOLDER / "init.sh").read_text()
    for content, marked in (("a", True), ("a", False), ("b", True)):
        mark.unlink(missing_ok=True)
        files = [{"path": str(file), "content": content}]
        variables = init_variables({"machine": {"address": "192.0.2.1"}, "files": files})
        body = f"PATH=$PATH:/usr/bin:/bin\nFILES='{variables['FILES']}'\n{script}\nfiles"
        assert run_common(body, tmp_path) == ""
        assert (file.read_text(), mark.exists()) == (content, marked)


def test_keepalived_holds_the_shared_address_where_the_api_server_is_ready(tmp_path: Path) -> None:
    state, program = tmp_path / "state", tmp_path / "bin" / "ip"
    state.mkdir()
    (state / "files").touch()
    (state / "initialised").touch()
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho '1: lo inet 127.0.0.1/8'\necho '2: eno1 inet 192.0.2.11/24'\n")
    program.chmod(0o755)
    body = (
        'PATH=$PATH:/usr/bin:/bin\nhas() { :; }\nrun() { echo "$*"; }\n'
        "VIRTUAL_ADDRESS=192.0.2.9 ADDRESS=192.0.2.11\nvirtual_address"
    )
    printed = run_common(body, tmp_path, "init")
    assert printed.splitlines() == ["systemctl enable keepalived", "systemctl restart keepalived"]
    text = (tmp_path / "etc" / "keepalived" / "keepalived.conf").read_text()
    for line in ("interface eno1", "192.0.2.9/32 dev eno1", "virtual_router_id 10", "priority 100", "weight -50"):
        assert f"  {line}\n" in text
    assert run_common(body, tmp_path, "init").splitlines()[-1] == "systemctl start keepalived"
    (state / "files").write_text("")
    assert "a keepalived with a configuration of its own" in run_common(body, tmp_path, "init")


def test_the_hash_of_a_certificate_is_kubeadms(tmp_path: Path) -> None:
    line = ["openssl", "req", "-x509", "-newkey", "ed25519", "-nodes", "-subj", "/CN=x", "-keyout"]
    subprocess.run([*line, tmp_path / "key", "-out", tmp_path / "ca.crt"], check=True, capture_output=True)
    command = f"openssl x509 -pubkey -noout -in {tmp_path}/ca.crt | openssl pkey -pubin -outform der | sha256sum"
    public = subprocess.run(command, shell=True, capture_output=True, text=True).stdout.split()[0]
    assert run_common(f"ca_hash {tmp_path}/ca.crt; ca_hash {tmp_path}/none", tmp_path) == f"sha256:{public}"


@pytest.fixture
def gpg(tmp_path: Path) -> Iterator[tuple[str, ...]]:
    """A command line of gpg with an empty keyring, whose agent ends with the test."""
    home = tmp_path / "gnupg"
    home.mkdir(mode=0o700)
    yield ("gpg", "--homedir", str(home), "--batch", "--pinentry-mode", "loopback", "--passphrase", "")
    subprocess.run(["gpgconf", "--homedir", str(home), "--kill", "all"])
    deadline = time.monotonic() + 20
    while str(home) in subprocess.run(["ps", "-eww", "-o", "args"], **TEXT).stdout:
        assert time.monotonic() < deadline, "an agent is left"
        time.sleep(0.1)


@pytest.mark.skipif(shutil.which("gpg") is None, reason="needs gpg, which machines have")
def test_of_a_file_with_two_keys_only_the_pinned_one_is_trusted(tmp_path: Path, gpg: tuple[str, ...]) -> None:
    for name in ("vendor", "stranger"):
        command = [*gpg, "--quick-generate-key", name, "rsa2048", "sign", "never"]
        subprocess.run(command, check=True, capture_output=True)
    armored = subprocess.run([*gpg, "--armor", "--export"], check=True, capture_output=True, text=True).stdout
    pinned = _fingerprints(subprocess.run([*gpg, "--show-keys", "--with-colons"], input=armored, **TEXT).stdout)[0]
    body = f"""
put() {{ case $1 in *.gpg) cat >"{tmp_path}/trusted.gpg" ;; *) cat >/dev/null ;; esac; }}
apt_source nvidia https://mirror.example / '' "$(cat "{tmp_path}/both.asc")" '' "$1"
"""
    (tmp_path / "both.asc").write_text(armored)
    run_common(f"set -- {pinned}\n{body}", tmp_path)
    listed = subprocess.run(["gpg", "--show-keys", "--with-colons", str(tmp_path / "trusted.gpg")], **TEXT)
    assert _fingerprints(listed.stdout) == [pinned]
    assert "does not have the fingerprint" in run_common(f"set -- {'0' * 40}\n{body}", tmp_path)


def _fingerprints(listing: str) -> list[str]:
    return [line.split(":")[9] for line in listing.splitlines() if line.startswith("fpr:")]
