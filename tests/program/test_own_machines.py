"""The real program on own machines: what it declares of them, of three control planes, and all above the cluster."""

from __future__ import annotations

import base64
import json
from datetime import date
from typing import Any

import pytest
import yaml

from components.clouds.kubeadm.cluster import out_of_support
from components.settings.pools.own import OwnMachines
from facts.concepts.declared import NodeGroup
from facts.concepts.pool import GPU_TAINT
from tests import declared
from tests.program import not_tolerated
from tests.recorder import Recording, Registration
from tests.stacks import CONTROL_PLANES, OWN_MACHINES, run_program, run_with, settings_of

WORKER = "gpucluster-machines:index:Worker"
CONTROL_PLANE = "gpucluster-machines:index:ControlPlane"
FLANNEL = "network-policies: Cluster 'cluster-control-plane' does not enforce NetworkPolicies."


def recording(**changed: Any) -> Recording:
    if not changed:
        return run_program(OWN_MACHINES)
    config = yaml.safe_load(OWN_MACHINES.read_text())["config"]
    return run_with({**config, **{f"gpucluster:{key}": value for key, value in changed.items()}}, "lab")


def workers(program: Recording) -> dict[str, Registration]:
    return {each.inputs["machine"]["name"]: each for each in program.of_type(WORKER)}


def test_every_machine_is_looked_at_before_one_changes() -> None:
    program = recording()
    preflight = program.only("gpucluster-machines:index:Preflight")
    checked = {
        each["machine"]["name"]: (each["role"], each["gpus"], each.get("driver"))
        for each in preflight.inputs["machines"]
    }
    assert checked == {"cp1": ("controlPlane", 0, None), "gpu1": ("worker", 2, "580"), "gpu2": ("worker", 2, "580")}
    assert preflight.inputs["software"] == program.only(CONTROL_PLANE).inputs["software"]
    for machine in (program.only(CONTROL_PLANE), *workers(program).values()):
        assert preflight.urn in program.before(machine)


def test_a_worker_joins_the_control_plane_with_its_labels_taints_and_driver() -> None:
    program = recording()
    assert workers(program).keys() == {"gpu1", "gpu2"}
    (pool,) = settings_of(OWN_MACHINES).gpu_pools
    for worker in workers(program).values():
        assert worker.inputs["labels"] == pool.nodes.labels
        assert worker.inputs["taints"] == [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]
        assert worker.inputs["nvidia"] == {"driver": "580"}
        assert worker.inputs["controlPlane"]["machine"]["name"] == "cp1"
        assert worker.inputs["controlPlane"]["kubernetesVersion"] == "v1.34.4"
        assert worker.inputs["endpoint"] == "https://10.99.0.11:6443"
        assert program.only(CONTROL_PLANE).urn in program.before(worker)


def test_a_patch_comes_from_the_repository_of_its_minor_version() -> None:
    for machine in (recording(kubernetes={"version": "1.35.2"}).only(CONTROL_PLANE), *workers(recording()).values()):
        source = machine.inputs["software"]["kubernetes"]
        minor = {"1.35.2": "1.35", "1.34": "1.34"}[source["version"]]
        assert source["url"] == f"https://pkgs.k8s.io/core:/stable:/v{minor}/deb/"


def test_nvidias_key_is_pinned_for_each_release_and_a_mirrors_for_all() -> None:
    software = recording().only(CONTROL_PLANE).inputs["software"]
    source = software["nvidia"]
    assert source["keyUrl"] == f"{source['url']}3bf863cc.pub"
    assert source["url"].endswith("/repos/{distribution}/{architecture}/")
    assert software["toolkit"]["url"].endswith("/stable/deb/{debArchitecture}/")
    assert source["keyFingerprint"] == "EB693B3035CD5710E231E123A4B469963BF863CC"
    keys = {name: (key["keyUrl"].rpartition("/")[2], key["keyFingerprint"]) for name, key in source["keys"].items()}
    assert keys == {
        "debian13": ("8793F200.pub", "02182E60104FCDC26EAE1B8597A5D4CB8793F200"),
        "ubuntu2604": ("60DF8A40.pub", "14BAFBC7562AD710CA04E69905FBB6DA60DF8A40"),
    }
    mirror = {"url": "https://m.example/", "key": "https://m.example/key", "fingerprint": "C" * 40}
    mirrored = recording(packages={"driver": mirror}).only(CONTROL_PLANE).inputs["software"]["nvidia"]
    assert mirrored == {"url": "https://m.example/", "keyUrl": "https://m.example/key", "keyFingerprint": "C" * 40}


@pytest.mark.parametrize(
    ("day", "reported"),
    [
        (date(2026, 10, 27), []),
        (date(2026, 10, 28), ["Kubernetes 1.34 (kubernetes.version) is out of support since 2026-10-27 and"]),
        (
            date(2028, 7, 1),
            ["Kubernetes 1.34", "NVIDIA's driver 580 (driverVersion) is out of support since 2028-06-30 and"],
        ),
    ],
)
def test_what_gets_no_security_updates_any_more_is_reported_with_its_day(day: date, reported: list[str]) -> None:
    own = settings_of(OWN_MACHINES).own
    assert isinstance(own, OwnMachines)
    texts = list(out_of_support(own, day))
    assert len(texts) == len(reported)
    for text, start in zip(texts, reported, strict=True):
        assert text.startswith(start)


def test_machines_that_have_a_driver_keep_theirs() -> None:
    pool = yaml.safe_load(OWN_MACHINES.read_text())["config"]["gpucluster:gpuPools"][0]
    for worker in workers(recording(gpuPools=[{**pool, "drivers": "none"}])).values():
        assert "nvidia" not in worker.inputs


def test_the_control_plane_encrypts_secrets_logs_changes_and_hosts_system_pods() -> None:
    inputs = recording().only(CONTROL_PLANE).inputs
    assert inputs["encryptSecrets"] is True
    assert inputs["schedulable"] is True
    assert inputs["taints"] == []
    (cluster,) = [each for each in inputs["kubeadm"] if each["kind"] == "ClusterConfiguration"]
    assert cluster["networking"] == {"podSubnet": "10.244.0.0/16", "serviceSubnet": "10.96.0.0/16"}
    arguments = {each["name"]: each["value"] for each in cluster["apiServer"]["extraArgs"]}
    assert "ExtendedResourceToleration" in arguments["enable-admission-plugins"].split(",")
    (audit,) = inputs["files"]
    assert audit["path"] == arguments["audit-policy-file"]


@pytest.mark.parametrize(
    ("verb", "group", "resource", "level"),
    [
        ("get", "", "secrets", "Metadata"),
        ("create", "", "secrets", "Metadata"),
        ("create", "authentication.k8s.io", "tokenreviews", "Metadata"),
        ("get", "", "pods/exec", "Metadata"),
        ("create", "", "pods/attach", "Metadata"),
        ("get", "", "pods/portforward", "Metadata"),
        ("get", "", "pods", "None"),
        ("update", "coordination.k8s.io", "leases", "None"),
        ("create", "", "pods", "Request"),
    ],
)
def test_the_audit_log_has_what_people_do_and_no_secret(verb: str, group: str, resource: str, level: str) -> None:
    """The first rule that matches decides: https://kubernetes.io/docs/tasks/debug/debug-cluster/audit/"""
    (audit,) = recording().only(CONTROL_PLANE).inputs["files"]
    for rule in json.loads(audit["content"])["rules"]:
        listed = [each["resources"] for each in rule.get("resources", []) if each["group"] == group]
        of_resource = "resources" not in rule or any(resource in each for each in listed)
        if of_resource and verb in rule.get("verbs", [verb]) and "users" not in rule:
            assert rule["level"] == level
            return
    pytest.fail("no rule matches")


def test_authorized_networks_reach_the_control_plane_alone() -> None:
    program = recording(network={"authorizedNetworks": [{"name": "office", "cidr": "203.0.113.0/24"}]})
    assert program.only(CONTROL_PLANE).inputs["firewall"]["apiClients"] == ["203.0.113.0/24"]
    assert all("apiClients" not in worker.inputs["firewall"] for worker in workers(program).values())


def test_the_private_key_is_secret_and_in_one_place_only() -> None:
    key, name = "-----BEGIN OPENSSH PRIVATE KEY-----", "gpucluster:sshPrivateKey"
    config = {**yaml.safe_load(OWN_MACHINES.read_text())["config"], name: key}
    with pytest.raises(Exception, match="is in plain text"):
        run_with(config, "lab")
    program = run_with(config, "lab", secrets=[name])
    holders = [each for each in program.resources if key in json.dumps(each.inputs)]
    assert [each.type for each in holders] == ["pulumi:providers:gpucluster-machines"]
    assert holders[0].inputs["privateKey"] == key
    assert "privateKey" in holders[0].secret_inputs
    assert key not in json.dumps(program.outputs)
    assert "privateKey" not in recording().only("pulumi:providers:gpucluster-machines").inputs


def test_the_kubeconfig_of_the_outputs_is_a_users_unless_the_administrators_is_asked_for() -> None:
    program = recording()
    control_plane = program.only(CONTROL_PLANE)
    assert control_plane.inputs["user"] == {"name": "gpucluster:users", "groups": ["gpucluster:users"]}
    assert program.stack_outputs["kubeconfig"] == "user"
    assert "kubeconfig" in program.secret_stack_outputs
    expected = {("gpucluster:cluster-resource-viewer", ""), ("edit", "default"), ("edit", "research")}
    assert bound_to_users(program) == expected
    administrator = recording(security={"adminKubeconfig": True})
    assert bound_to_users(administrator) == set()
    assert administrator.stack_outputs["kubeconfig"] == "admin"
    assert program.only("pulumi:providers:kubernetes").inputs["kubeconfig"] == "admin"


RBAC = "kubernetes:rbac.authorization.k8s.io/v1"


def bound_to_users(program: Recording) -> set[tuple[str, str]]:
    """(role, namespace or ``""``) of the bindings of the user of the output ``kubeconfig``."""
    return {
        (binding.inputs["roleRef"]["name"], binding.inputs["metadata"].get("namespace", ""))
        for kind in ("ClusterRoleBinding", "RoleBinding")
        for binding in program.of_type(f"{RBAC}:{kind}")
        if binding.inputs["subjects"][0]["name"] == "gpucluster:users"
    }


def test_the_user_reaches_tools_and_their_passwords_but_creates_no_pod_there() -> None:
    service = {"name": "chat", "namespace": "serving", "image": "registry.example/serve:1", "gpu": "t4"}
    tools = {"notebook": {}, "dashboard": {}, "monitoring": {}, "queue": {}, "services": [service]}
    program = recording(workloads=tools, teams=[], access=[])
    own = {(role, space) for role, space in bound_to_users(program) if role != "edit"}
    assert {space for role, space in bound_to_users(program) if role == "edit"} == {"default", "serving"}
    expected = {"notebook", "dashboard", "monitoring", "keda"}
    assert {space for role, space in own if role == "gpucluster:users"} == expected
    theirs = [role.inputs for role in program.of_type(f"{RBAC}:Role")]
    rules = {
        each["metadata"]["namespace"]: each["rules"]
        for each in theirs
        if each["metadata"]["name"] == "gpucluster:users"
    }
    logins = {"notebook": [["login"]], "dashboard": [], "monitoring": [["grafana-login"]], "keda": []}
    assert {space: [rule.get("resourceNames") for rule in its][2:] for space, its in rules.items()} == logins
    for its in rules.values():
        verbs = {(resource, verb) for rule in its for resource in rule["resources"] for verb in rule["verbs"]}
        assert {("pods/portforward", "create"), ("pods/portforward", "get"), ("services", "get")} <= verbs
        assert ("pods", "create") not in verbs


@pytest.mark.parametrize("administrator", [False, True])
def test_the_dashboard_shows_a_users_namespace_with_a_token_that_users_may_create(administrator: bool) -> None:
    """With the administrator's kubeconfig there are no users whose rights the program knows."""
    program = recording(workloads={"dashboard": {}}, security={"adminKubeconfig": administrator}, teams=[], access=[])
    account = ("ServiceAccount", "dashboard", "default")
    accounts = [each.inputs["metadata"] for each in program.of_type("kubernetes:core/v1:ServiceAccount")]
    assert any((each["name"], each["namespace"]) == account[1:] for each in accounts) is not administrator
    bound = {
        (each.inputs["roleRef"]["name"], each.inputs["metadata"].get("namespace", ""))
        for kind in ("ClusterRoleBinding", "RoleBinding")
        for each in program.of_type(f"{RBAC}:{kind}")
        for subject in each.inputs["subjects"]
        if (subject["kind"], subject["name"], subject.get("namespace")) == account and subject["apiGroup"] == ""
    }
    rights = {("edit", "default"), ("gpucluster:cluster-resource-viewer", "")}
    assert bound == (set() if administrator else rights)


def test_pods_get_a_network_before_anything_waits_for_a_ready_node() -> None:
    program = recording()
    daemon = program.called("kubernetes:apps/v1:DaemonSet", "kube-flannel-ds")
    (container,) = daemon.inputs["spec"]["template"]["spec"]["containers"]
    sources = {each["name"]: each["valueFrom"]["fieldRef"]["fieldPath"] for each in container["env"]}
    (option,) = [each for each in container["args"] if each.startswith("--iface=")]
    assert sources[option.removeprefix("--iface=$(").removesuffix(")")] == "status.hostIP"
    tolerations = daemon.inputs["spec"]["template"]["spec"]["tolerations"]
    assert not not_tolerated(tolerations, (GPU_TAINT,))
    maps = program.of_type("kubernetes:core/v1:ConfigMap")
    (config,) = [each for each in maps if "net-conf.json" in each.inputs["data"]]
    assert json.loads(config.inputs["data"]["net-conf.json"])["Network"] == "10.244.0.0/16"
    json.loads(config.inputs["data"]["cni-conf.json"])
    other = recording(network={"plugin": "none"})
    assert "kube-flannel" not in json.dumps([each.inputs for each in other.resources])


def test_services_get_addresses_of_the_machines_network_where_asked() -> None:
    addresses = "10.99.0.200-10.99.0.220"
    program = recording(network={"loadBalancerRange": addresses})
    release = next(each for each in program.of_type("kubernetes:helm.sh/v3:Release") if each.name == "metallb")
    assert release.inputs["values"]["controller"]["nodeSelector"] == {"gpucluster.dev/role": "admin"}
    assert not not_tolerated(release.inputs["values"]["speaker"]["tolerations"], (GPU_TAINT,))
    (pool,) = program.of_type("kubernetes:metallb.io/v1beta1:IPAddressPool")
    (layer2,) = program.of_type("kubernetes:metallb.io/v1beta1:L2Advertisement")
    assert pool.inputs["spec"] == {"addresses": [addresses]}
    assert layer2.inputs["spec"] == {"ipAddressPools": [pool.inputs["metadata"]["name"]]}
    assert release.urn in program.before(pool)
    assert program.only("gpucluster-machines:index:Preflight").inputs["loadBalancerRange"] == addresses
    for machine in (program.only(CONTROL_PLANE), *workers(program).values()):
        assert machine.inputs["firewall"]["ports"] == ["7946/tcp", "7946/udp"]
    assert declared.violations(program) == [FLANNEL]
    without = recording()
    assert "metallb" not in json.dumps([each.inputs for each in without.resources])
    assert "ports" not in without.only(CONTROL_PLANE).inputs["firewall"]


def test_gpus_are_offered_once_on_the_pools_machines() -> None:
    sets = recording().of_type("kubernetes:apps/v1:DaemonSet")
    plugins = [one for one in sets if one.inputs["metadata"].get("labels", {}).get("k8s-app") == "nvidia-device-plugin"]
    assert len(plugins) == 1
    assert "/var/run/nvidia-container-devices/all" in json.dumps(plugins[0].inputs)
    assert not not_tolerated(plugins[0].inputs["spec"]["template"]["spec"]["tolerations"], (GPU_TAINT,))


def test_objects_go_with_the_cluster() -> None:
    program = recording()
    objects = [each for each in program.resources if each.type.startswith("kubernetes:")]
    assert objects
    assert {each.deleted_with for each in objects} == {program.only(CONTROL_PLANE).urn}


def test_the_offer_calls_the_machines_fixed() -> None:
    maps = recording().of_type("kubernetes:core/v1:ConfigMap")
    (offer,) = [each for each in maps if "offer.json" in each.inputs["data"]]
    (pool,) = json.loads(offer.inputs["data"]["offer.json"])["pools"]
    assert (pool["capacity_type"], pool["max_nodes"], pool["hourly_usd"]) == ("fixed", 2, None)


def test_the_gate_sees_machines_that_nobody_bills_and_finds_nothing_wrong() -> None:
    groups = [item for item in declared.items(recording()) if isinstance(item, NodeGroup)]
    kinds = {group.name: (group.kind, group.gpus.per_node) for group in groups}
    assert kinds == {"cp1": ("owned", 0), "gpu1": ("owned", 2), "gpu2": ("owned", 2)}
    assert declared.violations(recording()) == [FLANNEL]


def machine(name: str, last: int) -> dict[str, str]:
    key = base64.b64encode(b"\0\0\0\x0bssh-ed25519\0\0\0 " + bytes([last]) * 32).decode()
    return {"name": name, "address": f"192.168.1.{last}", "hostKey": f"ssh-ed25519 {key}"}


CP = {"machines": [machine("cp1", 10)]}
LABS: dict[str, dict[str, Any]] = {
    "desktops behind a proxy": {
        "packages": {"proxy": "http://lab:p%40ss@proxy.lab:3128", "noProxy": ["mirror.lab", "192.168.1.0/24"]},
        "gpuPools": [
            {"name": "old", "gpu": "nvidia-gtx-1080ti", "gpusPerNode": 2, "machines": [machine("old1", 11)]},
            {"name": "new", "gpu": "nvidia-rtx-3090", "gpusPerNode": 1, "machines": [machine("new1", 12)]},
        ],
        "workloads": {"notebook": {}, "dashboard": {}},
    },
    "a class that shares GPUs": {
        "gpuPools": [
            {
                "name": "class",
                "gpu": "nvidia-rtx-4090",
                "gpusPerNode": 4,
                "timeSharing": {"clientsPerGpu": 4},
                "machines": [machine("gpu1", 11), machine("gpu2", 12)],
            }
        ],
        "teams": [{"name": "course", "gpus": 8, "priority": "low"}, {"name": "thesis", "gpus": 24}],
        "workloads": {"queue": {}, "monitoring": {}},
    },
    "rented servers": {
        "ssh": {"user": "root"},
        "gpuPools": [
            {
                "name": "hgx",
                "gpu": "nvidia-h100-80gb",
                "gpusPerNode": 8,
                "hourlyUsd": 24.5,
                "drivers": "none",
                "machines": [machine("hgx1", 11)],
            }
        ],
        "cpuPools": [{"name": "web", "hourlyUsd": 0.2, "machines": [machine("web1", 12)]}],
        "budget": {"maxHourlyUsd": 30},
        "workloads": {"services": [{"name": "chat", "image": "registry.example/serve:1", "gpu": "h100"}]},
    },
    "a room without the Internet": {
        "packages": {"images": [{"registry": "*", "url": "https://mirror.lab", "only": True}]},
        "network": {
            "loadBalancerRange": "192.168.1.200-192.168.1.210",
            "authorizedNetworks": [{"name": "lab", "cidr": "192.168.1.0/24"}],
        },
        "security": {"adminKubeconfig": True},
        "gpuPools": [
            {"name": "rtx", "gpu": "nvidia-rtx-4090", "gpusPerNode": 2, "machines": [machine("gpu1", 11)]},
        ],
    },
}
"""What labs would write, beside the example."""


@pytest.mark.parametrize("lab", LABS)
def test_what_labs_write_becomes_machines_with_which_the_gate_is_content(lab: str) -> None:
    keys = {"adminPool": CP, "teams": [], "access": [], "workloads": {}, **LABS[lab]}
    program = recording(**keys)
    declared_pools = [*keys["gpuPools"], *keys.get("cpuPools", [])]
    names = {each["name"] for pool in declared_pools for each in pool["machines"]}
    assert {*workers(program)} == names
    checked = {
        each["machine"]["name"]: each for each in program.only("gpucluster-machines:index:Preflight").inputs["machines"]
    }
    assert {*checked} == {"cp1", *names}
    for pool in keys["gpuPools"]:
        for each in pool["machines"]:
            assert checked[each["name"]]["gpu"] == pool["gpu"]
            assert GPU_TAINT.key in {taint["key"] for taint in workers(program)[each["name"]].inputs["taints"]}
    assert [each for each in declared.violations(program) if each != FLANNEL] == []


def test_the_gate_refuses_a_gpu_machine_without_its_taint() -> None:
    from policies.readers.own_machines import read_worker
    from policies.readers.resource import Declared
    from policies.rules.node_groups import gpu_taint

    worker = workers(recording())["gpu1"]
    bare = Declared(worker.type, worker.name, worker.urn, {**worker.inputs, "taints": []})
    (group,) = read_worker(bare)
    assert isinstance(group, NodeGroup)
    assert [violation.rule for violation in gpu_taint(group)] == ["gpu-taint"]


FIRST = "gpucluster-machines:index:ControlPlane"
ADDITIONAL = "gpucluster-machines:index:AdditionalControlPlane"
PLANES = ["10.99.0.11", "10.99.0.12", "10.99.0.13"]
EXAMPLE: dict[str, Any] = yaml.safe_load(CONTROL_PLANES.read_text())["config"]


@pytest.fixture(scope="module")
def program() -> Recording:
    return run_program(CONTROL_PLANES)


def planes(program: Recording) -> list[Registration]:
    """The first, then the others by address: they do not wait for one another, so a recording has them in any order."""
    others = sorted(program.of_type(ADDITIONAL), key=lambda each: each.inputs["machine"]["address"])
    return [program.only(FIRST), *others]


def test_the_first_machine_makes_the_cluster_and_the_others_join_it(program: Recording) -> None:
    assert [each.inputs["machine"]["address"] for each in planes(program)] == PLANES
    first, *others = planes(program)
    for each in others:
        assert first.urn in program.before(each)
        assert each.inputs["controlPlane"]["machine"] == first.inputs["machine"]
    for worker in program.of_type(WORKER):
        assert {each.urn for each in planes(program)} <= program.before(worker)


def test_all_control_planes_are_alike(program: Recording) -> None:
    first, *others = planes(program)
    shared = ("files", "encryptSecrets", "schedulable", "labels", "taints", "software", "firewall", "virtualAddress")
    for each in others:
        assert {key: each.inputs[key] for key in shared} == {key: first.inputs[key] for key in shared}
    assert first.inputs["virtualAddress"] == "10.99.0.10"
    assert first.inputs["firewall"]["controlPlanes"] == PLANES
    (worker,) = program.of_type(WORKER)
    assert "controlPlanes" not in worker.inputs["firewall"], "etcd's ports are open between its members alone"


def test_objects_are_declared_after_all_control_planes(program: Recording) -> None:
    (provider,) = program.of_type("pulumi:providers:kubernetes")
    assert {each.urn for each in planes(program)} <= program.before(provider)


def test_the_plugin_knows_where_else_the_cluster_is_administered(program: Recording) -> None:
    provider = program.only("pulumi:providers:gpucluster-machines")
    known = provider.inputs["controlPlanes"]
    known = json.loads(known) if isinstance(known, str) else known
    assert [each["address"] for each in known] == PLANES


def test_one_control_plane_with_a_shared_address_can_become_three(program: Recording) -> None:
    pool = EXAMPLE["gpucluster:adminPool"]
    one = run_with({**EXAMPLE, "gpucluster:adminPool": {**pool, "machines": pool["machines"][:1]}}, "lab-ha")
    before, after = one.only(FIRST).inputs, program.only(FIRST).inputs
    assert {key for key in after if before.get(key) != after[key]} == {"firewall"}
    assert one.of_type(ADDITIONAL) == []


def test_without_a_shared_address_nothing_of_it_is_declared() -> None:
    program = run_program(OWN_MACHINES)
    assert "virtualAddress" not in program.only(FIRST).inputs
    assert "controlPlanes" not in program.only("pulumi:providers:gpucluster-machines").inputs
    assert "controlPlanes" not in program.only(FIRST).inputs["firewall"]
