"""Notebooks: nobody gets in without a login, each GPU pool is a choice, and what is idle ends."""

from __future__ import annotations

import asyncio
import base64
import sys
from collections.abc import Mapping
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from components.settings import from_stack_file
from components.settings.sections.tools import Notebook
from components.workloads.notebook import LOGIN, values
from facts.concepts.pool import CLASS_LABEL, POOL_LABEL, gpus_per_pod
from tests.components.workloads.tools.stacks import CLOUDS, SECRET, releases, with_all, with_one
from tests.stacks import ROOT

every_cloud = pytest.mark.parametrize("cloud", CLOUDS)
LAB = from_stack_file(ROOT / "examples" / "research-lab.yaml")


@every_cloud
def test_a_password_is_generated_once_and_secret(cloud: str) -> None:
    made = [each for each in with_all(cloud).of_type(SECRET) if each.inputs["metadata"]["name"] == LOGIN]
    (login,) = made
    assert "data" in login.secret_inputs
    assert login.ignore_changes == ("data",)
    assert len(base64.b64decode(login.inputs["data"]["password"])) >= 32
    hub = releases(with_all(cloud))["jupyterhub"]["values"]["hub"]
    assert hub["extraEnv"]["NOTEBOOK_PASSWORD"]["valueFrom"]["secretKeyRef"] == {"name": LOGIN, "key": "password"}
    assert login.inputs["data"]["password"] not in str(releases(with_all(cloud)))
    again = with_one(cloud, "notebook").of_type(SECRET)
    assert again[0].inputs["data"] != login.inputs["data"]


def test_the_login_is_never_the_one_that_lets_everybody_in() -> None:
    for login, secret in (("shared-password", None), ("github", "mine"), ("ldap", "mine")):
        hub = values(Notebook.model_validate({"login": login, "loginSecret": secret}), LAB.gpu_pools)["hub"]
        assert hub["config"]["JupyterHub"]["authenticator_class"] not in ("dummy", "tmp", "null")
        assert hub["config"]["JupyterHub"]["admin_access"] is False
        assert hub.get("existingSecret") == secret
        # Whom else's login lets in, its settings say.
        assert ("Authenticator" in hub["config"]) == (secret is None)


@every_cloud
def test_each_gpu_pool_is_a_choice_that_its_nodes_take(cloud: str) -> None:
    recording = with_all(cloud)
    pools = recording.stack_outputs["pools"]
    chosen: list[str] = []
    for profile in releases(recording)["jupyterhub"]["values"]["singleuser"]["profileList"]:
        spawned = profile["kubespawner_override"]
        ((expression,),) = [term["matchExpressions"] for term in spawned["node_affinity_required"]]
        assert (expression["key"], expression["operator"]) == (POOL_LABEL, "In")
        chosen += expression["values"]
        for name in expression["values"]:
            taints = {each["key"] for each in pools[name]["taints"]}
            assert {each["key"] for each in spawned["tolerations"]} == taints
            assert spawned["extra_resource_limits"] == {"nvidia.com/gpu": str(int(pools[name]["gpusPerNode"]))}
    assert sorted(chosen) == sorted(pools)


def test_a_choice_is_of_all_zones_because_a_home_volume_is_in_one() -> None:
    profiles = releases(with_all("eks"))["jupyterhub"]["values"]["singleuser"]["profileList"]
    pools = with_all("eks").stack_outputs["pools"]
    assert len(pools) > len(profiles) == len({pool["gpusPerNode"] for pool in pools.values()})


def test_a_pool_of_shared_gpus_offers_one_share() -> None:
    (pool,) = from_stack_file(ROOT / "examples" / "gke-time-sharing.yaml").gpu_pools[:1]
    (profile,) = values(Notebook(), [pool])["singleuser"]["profileList"]
    assert profile["kubespawner_override"]["extra_resource_limits"] == {"nvidia.com/gpu": str(gpus_per_pod(pool))}


def server_settings(written: Mapping[str, Any], monkeypatch: pytest.MonkeyPatch) -> tuple[Any, type]:
    """What Jupyter's server makes of its settings ``written`` in a file: them, and its handler of requests."""
    handler = type("APIHandler", (), {"_track_activity": True})
    for name in ("jupyter_server", "jupyter_server.base", "jupyter_server.base.handlers"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    setattr(sys.modules["jupyter_server.base.handlers"], handler.__name__, handler)
    names = ("MappingKernelManager", "TerminalManager", "ServerApp")
    settings = SimpleNamespace(**{each: SimpleNamespace() for each in names})
    exec(written["stringData"], {"get_config": lambda: settings})
    return settings, handler


@pytest.mark.parametrize("login", [{}, {"login": "github", "loginSecret": "mine"}])
def test_the_token_of_a_notebook_is_in_a_secret_that_ends_with_its_pod(
    login: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who may read pods, as a `viewer`, may not act as the notebook's person."""
    kinds = ("V1EnvVarSource", "V1ObjectMeta", "V1OwnerReference", "V1Secret", "V1SecretKeySelector")
    for name in ("kubernetes_asyncio", "kubernetes_asyncio.client"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    for kind in kinds:
        setattr(sys.modules["kubernetes_asyncio.client"], kind, SimpleNamespace)
    hub = SimpleNamespace(KubeSpawner=SimpleNamespace())
    code = values(Notebook.model_validate(login), LAB.gpu_pools)["hub"]["extraConfig"]
    assert ("password" in code) is not bool(login)
    exec(code["tokens"], {"c": hub})
    made: list[tuple[str, Any]] = []

    async def create(namespace: str, secret: Any) -> None:
        made.append((namespace, secret))

    token, plain = "0123abcd", SimpleNamespace(name="HOME", value="/home/jovyan", value_from=None)
    env = [plain, *(SimpleNamespace(name=name, value=token) for name in ("JUPYTERHUB_API_TOKEN", "JPY_API_TOKEN"))]
    pod = SimpleNamespace(
        metadata=SimpleNamespace(name="jupyter-ann"),
        spec=SimpleNamespace(containers=[SimpleNamespace(env=env), SimpleNamespace(env=[])]),
    )
    spawner = SimpleNamespace(api_token=token, namespace="notebook")
    spawner.api = SimpleNamespace(create_namespaced_secret=create)
    assert hub.KubeSpawner.modify_pod_hook(spawner, pod) is pod
    assert token not in str(pod)
    (selector,) = {each.value_from.secret_key_ref.name for each in env[1:]}
    assert plain.value == "/home/jovyan"
    # What the API server lists of it.
    variables = [{"name": "HOME", "value": "/home/jovyan"}]
    variables += [{"name": "A", "valueFrom": {"secretKeyRef": {"name": selector, "key": "token"}}}]
    listed = {"metadata": {"name": "jupyter-ann", "uid": "7"}, "spec": {"containers": [{"env": variables}]}}
    asyncio.run(hub.KubeSpawner.after_pod_created_hook(spawner, listed))
    ((namespace, secret),) = made
    assert (namespace, secret.metadata.name, secret.string_data) == ("notebook", selector, {"token": token})
    (owner,) = secret.metadata.owner_references
    assert (owner.api_version, owner.kind, owner.name, owner.uid) == ("v1", "Pod", "jupyter-ann", "7")


@pytest.mark.parametrize("minutes", [5, 60, 1440])
def test_a_notebook_ends_when_nothing_runs_even_in_a_browser(minutes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chart_values = values(Notebook.model_validate({"idleMinutes": minutes}), LAB.gpu_pools)
    (written,) = chart_values["singleuser"]["extraFiles"].values()
    settings, handler = server_settings(written, monkeypatch)
    kernels, terminals = settings.MappingKernelManager, settings.TerminalManager
    assert kernels.cull_idle_timeout == terminals.cull_inactive_timeout == 60 * minutes
    assert settings.ServerApp.shutdown_no_activity_timeout == 60 * minutes
    # Looked at often enough, once a cell has ended, and with a tab open.
    assert max(kernels.cull_interval, terminals.cull_interval) <= 60
    assert kernels.cull_connected is True
    assert handler._track_activity is False
    # A cell that computes in silence.
    assert kernels.cull_busy is False
    # The hub sees traffic alone, and would end such a cell after an hour.
    assert chart_values["cull"]["enabled"] is True
    assert chart_values["cull"]["timeout"] >= max(24 * 3600, 60 * minutes)
    assert chart_values["cull"]["adminUsers"] is True


def test_how_a_notebook_ends_is_read_beside_the_settings_of_its_image() -> None:
    (written,) = values(Notebook(), LAB.gpu_pools)["singleuser"]["extraFiles"].values()
    # One of the directories that Jupyter reads, on Linux: https://docs.jupyter.org/en/latest/use/jupyter-directories.html
    # The images' own settings are in another of them:
    # https://github.com/jupyter/docker-stacks/blob/main/images/base-notebook/Dockerfile
    assert written["mountPath"] == "/usr/local/etc/jupyter/jupyter_server_config.py"


@pytest.mark.parametrize(
    ("image", "name", "tag"),
    [
        ("registry.example:5000/lab/jupyter:1", "registry.example:5000/lab/jupyter", "1"),
        ("registry.example:5000/lab/jupyter", "registry.example:5000/lab/jupyter", "latest"),
        ("jupyter", "jupyter", "latest"),
    ],
)
def test_an_image_is_a_name_and_a_tag(image: str, name: str, tag: str) -> None:
    single = values(Notebook.model_validate({"image": image}), LAB.gpu_pools)["singleuser"]
    assert single["image"] == {"name": name, "tag": tag}


def test_a_notebook_on_pools_of_a_compute_class_selects_the_class() -> None:
    pools = from_stack_file(ROOT / "examples" / "gke-capacity-order.yaml").gpu_pools
    profiles = values(Notebook(), pools)["singleuser"]["profileList"]
    affinities = {each["slug"]: each["kubespawner_override"]["node_affinity_required"][0] for each in profiles}
    keys = {slug: [each["key"] for each in affinity["matchExpressions"]] for slug, affinity in affinities.items()}
    both = [POOL_LABEL, CLASS_LABEL]
    assert keys == {"h100-8-reserved": both, "h100-8-spot": both, "l4-1": [POOL_LABEL]}
