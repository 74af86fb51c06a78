"""What the hub runs with: the chart's values, by their names in JupyterHub and KubeSpawner.

JupyterHub reads it. Its environment names a file with ``values`` (the chart's, merged) and what is different on this
machine: ``proxy``, ``proxyApi`` and ``hub`` (addresses), ``seconds`` (an annotation, so that kwok lets a notebook's pod
run), ``ports`` (of each person's notebook) and ``database``.
"""
# pyright: reportMissingParameterType=false

import json
import os
import sys
from pathlib import Path

INPUT = json.loads(Path(os.environ["HUB_GIVEN"]).read_text())
VALUES = INPUT["values"]
HUB, SINGLE, CULL = VALUES["hub"], VALUES["singleuser"], VALUES["cull"]

c = get_config()  # type: ignore[name-defined] # noqa: F821
hub, spawner = c.JupyterHub, c.KubeSpawner

hub.spawner_class = "kubespawner.KubeSpawner"
hub.cleanup_servers = False
hub.last_activity_interval = 60
hub.tornado_settings = {"slow_spawn_timeout": 0}
hub.allow_named_servers = HUB["allowNamedServers"]
hub.concurrent_spawn_limit = HUB["concurrentSpawnLimit"]
c.Spawner.consecutive_failure_limit = HUB["consecutiveFailureLimit"]

spawner.namespace = os.environ["POD_NAMESPACE"]
spawner.common_labels = {"app": "jupyterhub", "app.kubernetes.io/managed-by": "kubespawner"}
for trait, value in {
    "start_timeout": SINGLE["startTimeout"],
    "events_enabled": SINGLE["events"],
    "extra_labels": SINGLE["extraLabels"],
    "extra_annotations": SINGLE["extraAnnotations"],
    "allow_privilege_escalation": SINGLE["allowPrivilegeEscalation"],
    "uid": SINGLE["uid"],
    "fs_gid": SINGLE["fsGid"],
    "mem_guarantee": SINGLE["memory"]["guarantee"],
    "profile_list": SINGLE["profileList"],
    "image": f"{SINGLE['image']['name']}:{SINGLE['image']['tag']}",
    "tolerations": VALUES["scheduling"]["userPods"]["tolerations"],
    "cmd": SINGLE["cmd"],
}.items():
    setattr(spawner, trait, value)
# Nodes that are labelled for people are preferred; nobody labels any here.
on_users = {"matchExpressions": [{"key": "hub.jupyter.org/node-purpose", "operator": "In", "values": ["user"]}]}
spawner.node_affinity_preferred = [{"weight": 100, "preference": on_users}]
block = SINGLE["cloudMetadata"]
spawner.init_containers = [
    {
        "name": "block-cloud-metadata",
        "image": ":".join(SINGLE["networkTools"]["image"].values()),
        "command": ["iptables", "--append", "OUTPUT", "--destination", block["ip"], "--jump", "DROP"],
        "securityContext": {"privileged": True, "runAsUser": 0, "capabilities": {"add": ["NET_ADMIN"]}},
    }
] * block["blockWithIptables"]

home, dynamic = SINGLE["storage"], SINGLE["storage"]["dynamic"]
spawner.storage_pvc_ensure = True
spawner.storage_access_modes = dynamic["storageAccessModes"]
spawner.storage_capacity = home["capacity"]
name, files = dynamic["volumeNameTemplate"], SINGLE["extraFiles"]
items = [{"key": key, "path": key} for key in files]
spawner.volumes = {
    name: {"name": name, "persistentVolumeClaim": {"claimName": "{pvc_name}"}},
    "files": {"name": "files", "secret": {"secretName": "singleuser", "items": items}},
}
spawner.volume_mounts = {
    name: {"name": name, "mountPath": home["homeMountPath"]},
    **{key: {"name": "files", "mountPath": file["mountPath"], "subPath": key} for key, file in files.items()},
}

if CULL["enabled"]:
    scopes = ["list:users", "read:users:activity", "read:servers", "delete:servers"]
    culler = "jupyterhub-idle-culler"
    options = [f"--timeout={CULL['timeout']}", f"--cull-every={CULL['every']}"]
    options += [] if CULL["adminUsers"] else ["--cull-admin-users=false"]
    command = [sys.executable, "-m", "jupyterhub_idle_culler", f"--url={INPUT['hub']}/hub/api", *options]
    hub.services = [{"name": culler, "command": command}]
    hub.load_roles = [{"name": culler, "scopes": scopes, "services": [culler]}]

for section, settings in HUB["config"].items():
    c[section].update(settings)
for _, text in sorted(HUB["extraConfig"].items()):
    exec(text)

# What is different on this machine: addresses, and no kubelet that runs a pod's program.
hub.db_url = INPUT["database"]
hub.bind_url = INPUT["proxy"]
hub.hub_bind_url = hub.hub_connect_url = INPUT["hub"]
c.ConfigurableHTTPProxy.should_start = False
c.ConfigurableHTTPProxy.api_url = INPUT["proxyApi"]
spawner.ip = spawner.pod_connect_ip = "127.0.0.1"
spawner.extra_annotations = {**SINGLE["extraAnnotations"], "rehearsal.gpucluster.dev/seconds": INPUT["seconds"]}


def _own_port(started) -> None:  # noqa: ANN001
    started.port = INPUT["ports"][started.user.name]


c.Spawner.pre_spawn_hook = _own_port
