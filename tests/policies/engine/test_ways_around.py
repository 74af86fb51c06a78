"""The real engine: no way of declaring a resource is a way around the gate."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from packages.rehearsal.tests.engine_project import REAL_ENGINE, Project
from tests.policies.gated_project import gated, gated_project, rewrite

pytestmark = REAL_ENGINE

START = """
CLUSTER, POOL = "aws:eks/cluster:Cluster", "aws:eks/nodeGroup:NodeGroup"

def cluster(suffix="", opts=None):
    made = Resource(CLUSTER, "c" + suffix, {"name": "ml"}, opts)
    sizes = {"minSize": 1, "maxSize": 2, "desiredSize": 1}
    kind = {"clusterName": "ml", "instanceTypes": ["m5.large"], "scalingConfig": sizes}
    Resource(POOL, "cpu" + suffix, {**kind, "nodeGroupName": "cpu"}, opts)
    return made

def pool(name, minimum, opts=None):
    return Resource(POOL, name, {
        "clusterName": "ml",
        "nodeGroupName": "gpu",
        "instanceTypes": ["g5.xlarge"],
        "scalingConfig": {"minSize": minimum, "maxSize": 4, "desiredSize": 0},
        "taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}],
    }, opts)

"""
PLAIN = """
cluster()
pool("gpu", values["minimum"])
"""
RENAMED = """
cluster()
pool("renamed", values["minimum"], pulumi.ResourceOptions(aliases=[pulumi.Alias(name="gpu")]))
"""
IGNORED = """
cluster()
pool("gpu", 0, pulumi.ResourceOptions(ignore_changes=["scalingConfig"]))
"""
IMPORTED = """
cluster()
pool("gpu", values["minimum"], pulumi.ResourceOptions(import_="ml:gpu"))
"""
SECRET = """
cluster()
pool("gpu", pulumi.Output.secret(values["minimum"]))
"""
IN_APPLY = """
cluster().id.apply(lambda _: pool("gpu", values["minimum"]) and None)
"""
TWO_REGIONS = """
for number, region in enumerate(("us-west-2", "eu-west-1")):
    provider = pulumi.ProviderResource("aws", region, {"region": region})
    options = pulumi.ResourceOptions(provider=provider)
    with_nodes = number == 0 or values["home"]
    cluster(region, options) if with_nodes else Resource(CLUSTER, "c" + region, {"name": "ml"}, options)
    pool("gpu-" + region, values["minimum"] * number, options)
"""
BROKEN = "[mandatory]  gpu-zero-minimum  (aws:eks/nodeGroup:NodeGroup: {})"


@pytest.fixture(scope="module")
def module_project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    with gated_project(tmp_path_factory.mktemp("around"), START, "aws") as made:
        yield made


@pytest.fixture
def project(module_project: Project) -> Iterator[Project]:
    yield module_project
    module_project.run("stack", "rm", "--stack=test", "--yes", "--force", "--preserve-config")
    module_project.run("stack", "init", "test")


def run(project: Project, program: str, *command: str, refused: bool = False, **values: object) -> str:
    rewrite(project, START + program, **{"minimum": 0, "home": True, **values})
    return gated(project, *(command or ("preview",)), config={}, refused=refused)


UP = ("up", "--yes", "--skip-preview")


@pytest.mark.parametrize(
    ("program", "name", "command"),
    [
        (PLAIN, "gpu", ("preview",)),
        (IMPORTED, "gpu", ("preview",)),
        (IMPORTED, "gpu", UP),
        (SECRET, "gpu", ("preview",)),
        (IN_APPLY, "gpu", UP),
        (TWO_REGIONS, "gpu-eu-west-1", ("preview",)),
    ],
    ids=["plain", "import in preview", "import in update", "secret", "in apply", "second provider"],
)
def test_refused_with_a_minimum_of_one_and_let_through_with_zero(
    project: Project, program: str, name: str, command: tuple[str, ...]
) -> None:
    failed = run(project, program, *command, minimum=1, refused=True)
    assert BROKEN.format(name) in failed, failed
    passed = run(project, program, *command)
    assert "[mandatory]" not in passed


def test_a_pool_with_another_name_and_an_alias_is_judged_again(project: Project) -> None:
    run(project, PLAIN, *UP)
    failed = run(project, RENAMED, minimum=1, refused=True)
    assert BROKEN.format("renamed") in failed
    run(project, RENAMED)


def test_what_ignored_changes_leave_as_it_was_is_judged_as_it_was(project: Project) -> None:
    rewrite(project, START + PLAIN, minimum=1)
    project.up()  # without the gate
    failed = run(project, IGNORED, refused=True)
    assert BROKEN.format("gpu") in failed


def test_clusters_of_one_name_in_two_regions_are_two(project: Project) -> None:
    failed = run(project, TWO_REGIONS, home=False, refused=True)
    assert "[mandatory]  system-pods-home  (aws:eks/cluster:Cluster: ceu-west-1)" in failed, failed
    homeless = [line for line in failed.splitlines() if "[mandatory]  system-pods-home" in line]
    assert not any("cus-west-2" in line for line in homeless), "the first cluster has CPU nodes"
