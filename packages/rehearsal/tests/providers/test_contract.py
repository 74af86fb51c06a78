"""What every simulated resource of every cloud does: it is made, read, changed, replaced, referred to, ended."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from facts.concepts.unknown import UNKNOWN
from packages.rehearsal.tests.providers.aks.account import Microsoft
from packages.rehearsal.tests.providers.driver import Account, Step, with_one_unknown
from packages.rehearsal.tests.providers.eks.account import Amazon
from packages.rehearsal.tests.providers.gke.account import Google
from rehearsal.providers.base import Created, Properties, ProviderError, without_none
from rehearsal.providers.resource import Reference, SimulatedResource

CLOUDS: tuple[type[Account], ...] = (Google, Amazon, Microsoft)
ROWS = [(cloud, step) for cloud in CLOUDS for step in cloud.steps()]
REFERENCES = [
    (cloud, step, path, references)
    for cloud, step in ROWS
    for path, references in cloud.provider_type.rows[step.type].references.items()
]
NAMES = [step.type for _, step in ROWS]


@dataclass
class Case:
    """A cloud in which everything exists that a resource needs."""

    account: Account
    step: Step

    @property
    def row(self) -> SimulatedResource[object]:  # type: ignore[type-var]
        return self.account.provider_type.rows[self.step.type]

    def make(self) -> Created:
        return self.account.create(self.step.type, self.step.inputs)

    def others(self) -> list[tuple[str, Properties]]:
        return [(record.id, record.state) for record in self.account.store().everything()]


def before(cloud: type[Account], step: Step, directory: Path) -> Case:
    account = cloud(directory)
    for each in cloud.needed(step):
        account.create(each.type, each.inputs)
    return Case(account, step)


@pytest.fixture
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Case]:
    cloud, step = request.param
    made = before(cloud, step, tmp_path)
    yield made
    made.account.stop()


@pytest.fixture(scope="module")
def untouched(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Case]:
    """The case for tests that only ask: nothing is made in it."""
    cloud, step = request.param
    made = before(cloud, step, tmp_path_factory.mktemp("untouched"))
    others = made.others()
    yield made
    assert made.others() == others
    made.account.stop()


@pytest.fixture(params=CLOUDS, ids=lambda cloud: cloud.__name__)
def account(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Account]:
    made: Account = request.param(tmp_path)
    yield made
    made.stop()


every_reference = pytest.mark.parametrize(
    ("cloud", "step", "path", "references"), REFERENCES, ids=[f"{step.type}-{path}" for _, step, path, _ in REFERENCES]
)
on_disk = pytest.mark.parametrize("account", [cloud for cloud in CLOUDS if cloud.on_disk], indirect=True)
every_row = pytest.mark.parametrize("case", ROWS, ids=NAMES, indirect=True)
every_row_untouched = pytest.mark.parametrize("untouched", ROWS, ids=NAMES, indirect=True)


@pytest.mark.parametrize("cloud", CLOUDS)
def test_every_row_is_tried(cloud: type[Account]) -> None:
    assert {step.type for step in cloud.steps()} == set(cloud.provider_type.rows)


@pytest.mark.parametrize("cloud", CLOUDS)
def test_every_rule_has_one_source_and_is_on_its_clouds_page(cloud: type[Account]) -> None:
    rules = {(rule.id, rule.source) for row in cloud.provider_type.rows.values() for rule in row.rules}
    folder = Path(__file__).parents[2] / "docs"
    page = (folder / f"{Path(inspect.getfile(cloud)).parent.name}.md").read_text(encoding="utf-8")
    assert len({id for id, _ in rules}) == len(rules) > 40
    assert [id for id, source in sorted(rules) if f"`{id}`" not in page or not source.startswith("https://")] == []


@every_row
def test_a_preview_makes_nothing_and_announces_every_output(case: Case) -> None:
    nothing = case.others()
    foreseen = case.account.preview(case.step.type, case.step.inputs)
    assert case.others() == nothing
    state = case.make().state
    inputs = case.account.provider.schema.inputs(case.step.type).properties
    assert {key for key in state if key not in inputs} <= set(foreseen)


@every_row
def test_what_was_made_is_read_after_a_restart_and_in_an_import(case: Case) -> None:
    made = case.make()
    case.account.restart()
    again = case.account.read(case.step.type, made.id, made.inputs)
    assert (again.id, again.state, again.inputs) == (made.id, made.state, made.inputs)
    imported = case.row.imported(made.inputs or {})
    assert case.account.read(case.step.type, made.id).inputs == {k: v for k, v in imported.items() if v is not None}


@every_row
def test_a_crash_between_making_and_answering(case: Case) -> None:
    made = case.make()
    case.account.restart()  # the engine never got the answer and asks again
    if case.step.again == "same" or case.row.idempotent(made.inputs or {}):
        assert case.make() == made
    elif case.step.again == "another":
        assert case.make().id != made.id
    else:
        words = r"[Aa]lready|RoleAssignmentExists|ResourceInUse|conflicts with another"
        with pytest.raises(ProviderError, match=words):
            case.make()


@every_row_untouched
def test_checked_inputs_are_their_own_check_and_no_change(untouched: Case) -> None:
    account, step = untouched.account, untouched.step
    once = account.check(step.type, step.inputs)
    assert account.check(step.type, once, once) == once
    assert account.diff(step.type, step.inputs, step.inputs).changes == ()


@every_row
def test_a_change_in_place(case: Case) -> None:
    if case.step.update is None:
        pytest.skip("every input of a grant is part of what it is")
    made = case.make()
    difference = case.account.diff(case.step.type, case.step.inputs, case.step.update)
    assert difference.changes
    assert difference.replaces == ()
    others = case.others()
    foreseen = case.account.update(case.step.type, made, case.step.update, preview=True)
    assert case.others() == others
    state = case.account.update(case.step.type, made, case.step.update)
    news = case.account.check(case.step.type, case.step.update, made.inputs)
    assert case.account.read(case.step.type, made.id, news).inputs == without_none(news)
    assert case.account.read(case.step.type, made.id).state == state
    assert {key: value for key, value in foreseen.items() if value is not UNKNOWN and key not in state} == {}


@every_row_untouched
def test_a_change_that_replaces(untouched: Case) -> None:
    step = untouched.step
    if step.replace is None:
        pytest.skip("every input can be changed in place")
    difference = untouched.account.diff(step.type, step.inputs, step.replace)
    assert difference.replaces
    assert set(difference.replaces) <= set(difference.changes)


@every_row
def test_an_update_of_a_deleted_resource_is_refused(case: Case) -> None:
    made = case.make()
    case.account.delete(case.step.type, made)
    with pytest.raises(ProviderError, match=case.account.missing):
        case.account.update(case.step.type, made, case.step.inputs)


@every_row
def test_a_deletion_removes_the_resource_and_its_machines_and_nothing_else(case: Case) -> None:
    others, groups, clusters = case.others(), dict(case.account.fleet.groups), dict(case.account.fleet.clusters)
    before = {*case.account.provider.inventory()}
    made = case.make()
    # Else a rehearsal would not see what a program leaves behind. What is a part cannot stay without its whole.
    whole = PART_OF.get(case.step.type)
    assert bool({*case.account.provider.inventory()} - before) is (whole is None)
    assert whole is None or any(each.startswith(f"{whole} ") for each in before)
    case.account.delete(case.step.type, made)
    case.account.delete(case.step.type, made)  # a second deletion is no error
    assert case.account.read(case.step.type, made.id).id == ""
    assert case.others() == others
    assert (case.account.fleet.groups, case.account.fleet.clusters) == (groups, clusters)


WHOLES = yaml.safe_load(Path(__file__).with_name("part_of.yaml").read_text())
PART_OF = {type: whole for whole, types in WHOLES.items() for type in types}


@every_row
def test_any_input_may_be_unknown_in_a_preview(case: Case) -> None:
    inputs = case.account.check(case.step.type, case.step.inputs)
    made = case.make()
    for unknown in with_one_unknown(inputs):
        case.account.preview(case.step.type, unknown)
        case.account.diff(case.step.type, inputs, unknown)
        case.account.update(case.step.type, made, unknown, preview=True)


@every_row_untouched
def test_an_input_nobody_knows_is_named(untouched: Case) -> None:
    step = untouched.step
    with pytest.raises(ProviderError, match=r"^nobodyKnowsThis: .*check the spelling$"):
        untouched.account.check(step.type, {**step.inputs, "nobodyKnowsThis": 1})


def _named(cloud: type[Account], step: Step, references: Reference) -> Step | None:
    """The step whose resource ``step`` names."""
    return next((each for each in cloud.steps() if each.type == references.token), None)


def _put(inputs: Properties, path: str, value: str) -> Properties | None:
    """``inputs`` with another name at ``path``; ``None`` if they name nothing there."""
    key, _, rest = path.partition(".")
    child = inputs.get(key)
    if child is None:
        return None
    if not rest:
        return {**inputs, key: [value, *child[1:]] if isinstance(child, list) else value}
    blocks = child if isinstance(child, list) else [child]
    if not blocks:
        return None
    changed = [_put(block, rest, value) for block in blocks]
    if None in changed:
        return None
    return {**inputs, key: changed if isinstance(child, list) else changed[0]}


@every_reference
def test_what_is_named_must_exist(
    cloud: type[Account], step: Step, path: str, references: Reference, tmp_path: Path
) -> None:
    inputs = _put(step.inputs, path, cloud.absent.get(path.split(".")[-1], "nowhere"))
    if inputs is None:
        pytest.skip("the example names none")
    case = before(cloud, step, tmp_path)
    others = case.others()
    # Some services refuse the name itself, before they look anything up.
    case.account.refuses(step.type, inputs, f"{cloud.missing}|does not match")
    assert case.others() == others


@every_reference
def test_what_is_used_stays_and_what_is_part_goes_along(
    cloud: type[Account], step: Step, path: str, references: Reference, tmp_path: Path
) -> None:
    named = _named(cloud, step, references)
    assert named is not None
    if _put(step.inputs, path, "x") is None:
        pytest.skip("the example names none")
    case = before(cloud, step, tmp_path)
    target = case.account.create(named.type, named.inputs) if named == step else None
    holder = next(record for record in case.account.store().all(references.token))
    target = target or Created(holder.id, holder.state, holder.inputs)
    made = case.make()
    if references.tie == "uses":
        with pytest.raises(ProviderError, match=cloud.in_use):
            case.account.delete(references.token, target)
        assert case.account.read(references.token, target.id).id == target.id
        assert case.account.read(step.type, made.id).id == made.id
    elif references.tie == "part":
        case.account.delete(references.token, target)
        assert case.account.read(step.type, made.id).id == ""
    else:
        assert references.tie == "names"


@on_disk
def test_a_half_written_state_changes_nothing_and_a_damaged_one_is_named(account: Account) -> None:
    step = account.steps()[0]
    made = account.create(step.type, step.inputs)
    file = account.directory / f"{account.provider.name}.json"
    file.with_suffix(".99.1.tmp").write_text('{"half":')
    account.restart()
    assert account.read(step.type, made.id).id == made.id
    file.write_text("{")
    with pytest.raises(ValueError, match=rf"{account.provider.name}\.json is not a state of this provider"):
        account.read(step.type, made.id)


@on_disk
def test_two_processes_share_the_state(account: Account) -> None:
    other = type(account)(account.directory)
    step = account.steps()[0]
    made = account.create(step.type, step.inputs)
    assert other.read(step.type, made.id).id == made.id


def test_parallel_creations_all_arrive(account: Account) -> None:
    step = account.steps()[0]
    name = account.provider.rows[step.type].name
    named = [{name: f"it-{index}"} if name else {} for index in range(20)]
    threads = [threading.Thread(target=account.create, args=(step.type, {**step.inputs, **each})) for each in named]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    account.restart()
    assert len(account.store().all(step.type)) == 20


def test_without_a_fleet_clusters_are_only_previewed(account: Account) -> None:
    steps = [step for step in account.steps() if account.provider.rows[step.type].lifecycle]
    for each in account.needed(steps[0]):
        account.create(each.type, each.inputs)
    account.fleet = None  # type: ignore[assignment]
    account.stop()
    account.provider = account.new_provider()
    account.preview(steps[0].type, steps[0].inputs)
    account.refuses(steps[0].type, steps[0].inputs, "without a control plane")


def test_instances_have_their_own_configuration(account: Account) -> None:
    other = account.provider.instance()
    other.configure({})
    step = account.steps()[0]
    assert account.check(step.type, step.inputs)
    _, failures = other.check(account.request(step.type), {}, step.inputs)
    required = [each.property for each in failures if each.reason.startswith("is required")]
    assert required == ([account.setting] if account.setting else [])


def test_unknown_types_and_functions_are_named(account: Account) -> None:
    plugin = account.provider.name
    with pytest.raises(ProviderError, match=rf"^{plugin}: resource type {plugin}:a:B is not simulated; .*{plugin}:"):
        account.check(f"{plugin}:a:B", {})
    with pytest.raises(ProviderError, match=rf"^{plugin}: function {plugin}:a:b is not simulated"):
        account.provider.invoke(f"{plugin}:a:b", {})
