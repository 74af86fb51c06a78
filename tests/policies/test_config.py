"""Levels and limits per stack: good files load, bad ones say what is wrong and what to write; what loosens it."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

import pytest

from facts.concepts.kubernetes import Taint
from facts.concepts.pool import GPU_TAINT
from policies import gate_diff
from policies.config import DIRECTORY, ConfigError, file_for, limits_of, load, main, problems
from policies.gate_diff import (
    GateState,
    check_out,
    environments,
    gated_commands,
    loosenings,
    prices_and_budgets,
    providers_keys,
    secrets_keys,
    state_of,
    wider,
)
from policies.pools import parse
from policies.rules import rule as rules
from policies.rules.table import BY_ID, RULES
from tests.stacks import ROOT


@pytest.mark.parametrize("path", sorted(DIRECTORY.glob("*.json")), ids=lambda path: path.name)
def test_shipped_files_can_be_used(path: Path) -> None:
    assert load(path)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_defaults_of_every_rule_fit_its_schema(rule: Any) -> None:
    assert limits_of(rule, rule.limits()) == rule.limits()


def test_rules_have_ids_of_their_own() -> None:
    assert len(BY_ID) == len(RULES)


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"gpu-cieling": "mandatory"}, "gpu-cieling: no such rule; did you mean gpu-ceiling?"),
        (
            {"gpu-taint": "manditory"},
            "must be one of advisory, mandatory, disabled, remediate; did you mean mandatory?",
        ),
        ({"gpu-taint": 3}, "gpu-taint: must be one of"),
        ({"all": "off"}, "all: must be one of"),
        ({"gpu-taint": {"enforcementLevel": "high"}}, "gpu-taint.enforcementLevel: must be one of"),
        ({"gpu-ceiling": {"maxGpu": 3}}, "gpu-ceiling.maxGpu: the rule has no such limit; did you mean maxGpus?"),
        ({"gpu-taint": {"foo": 3}}, "gpu-taint.foo: the rule has no such limit; it has none"),
        (
            {"gpu-ceiling": {"level": "mandatory"}},
            "no such limit; it has maxGpus, and the keys enforcementLevel, exemptions",
        ),
        (
            {"gpu-ceiling": {"exemption": []}},
            "gpu-ceiling.exemption: the rule has no such limit; did you mean exemptions?",
        ),
        ({"gpu-ceiling": {"maxGpus": "3"}}, 'gpu-ceiling.maxGpus: must be of type integer or null, got "3"'),
        ({"gpu-ceiling": {"maxGpus": 2.5}}, "must be of type integer or null, got 2.5"),
        ({"gpu-ceiling": {"maxGpus": True}}, "must be of type integer or null, got true"),
        ({"gpu-ceiling": {"maxGpus": 0}}, "must be at least 1, got 0"),
        ({"low-carbon-region": {"minCarbonFreePercent": 101}}, "must be at most 100, got 101"),
        ({"allowed-regions": {"regions": [1]}}, "must be a list of strings, got [1]"),
        ({"gpu-ceiling": "remediate"}, "gpu-ceiling: must be one of advisory, mandatory, disabled, got"),
        ({"all": "remediate"}, "all: must be one of advisory, mandatory, disabled, got"),
        ({"exempted": "disabled"}, "exempted: no such rule"),
        ({"pool": {"l4": {"gpusPerNode": 1}}}, "pool: no such rule; did you mean pools?"),
        ({"pools": {}}, 'pools: must be an object of pools, for example {"l4": {"gpusPerNode": 1}}, got {}'),
        ({"pools": {"l4": 1}}, "pools.l4: must be an object with gpusPerNode, taints, labels, got 1"),
        ({"pools": {"l4": {}}}, "pools.l4.gpusPerNode: must be the GPUs of one node, 0 or more, got null"),
        ({"pools": {"l4": {"gpusPerNode": 1.5}}}, "0 or more, got 1.5"),
        ({"pools": {"l4": {"gpusPerNode": -1}}}, "0 or more, got -1"),
        ({"pools": {"l4": {"gpusPerNode": True}}}, "0 or more, got true"),
        ({"pools": {"l4": {"gpusPerNode": 1, "gpus": 1}}}, "pools.l4.gpus: no such key; a pool has gpusPerNode"),
        ({"pools": {"l4": {"gpusPerNode": 1, "taints": "a=b:NoSchedule"}}}, "pools.l4.taints: must be a list of"),
        (
            {"pools": {"l4": {"gpusPerNode": 1, "taints": ["a=b:NO_SCHEDULE"]}}},
            'pools.l4.taints[0]: must be like nvidia.com/gpu=present:NoSchedule, got "a=b:NO_SCHEDULE"',
        ),
        ({"pools": {"l4": {"gpusPerNode": 1, "labels": {"a": 1}}}}, "pools.l4.labels: must be an object of texts"),
        ({"price": {"m5zn.large": 0.3}}, "price: no such rule; did you mean prices?"),
        ({"prices": {}}, 'prices: must be an object of prices, for example {"m5zn.large": 0.33'),
        ({"prices": {"m5zn.large": "0.3"}}, "prices.m5zn.large: must be the US dollars of one node an hour, 0 or more"),
        ({"prices": {"m5zn.large": {"eu-west-1": -1}}}, "prices.m5zn.large.eu-west-1: must be the US dollars"),
        ({"prices": {"m5zn.large": {}}}, "prices.m5zn.large: must be the US dollars of one node an hour"),
        ({"prices": {"m5zn.large": True}}, "0 or more, got true"),
        ({"pools": {"web": {"gpusPerNode": 0}}}, "pools: none has GPUs; name the cluster's GPU pools"),
        ({"gpu-taint": {"exemptions": {}}}, "gpu-taint.exemptions: must be a list of exemptions, got {}"),
    ],
)
def test_problems(config: dict[str, Any], words: str) -> None:
    (problem,) = problems(config)
    assert words in problem


def test_all_problems_at_once(tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_text(json.dumps({"gpu-tant": "mandatory", "gpu-ceiling": {"maxGpus": -1}}))
    with pytest.raises(ConfigError, match=r"bad.json: gpu-tant.*\nbad.json: gpu-ceiling.maxGpus"):
        load(path)
    assert main([str(path)]) == 1


@pytest.mark.parametrize(("text", "words"), [("{", "bad.json:1: not JSON"), ("[]", "must be an object of rules")])
def test_unreadable_files(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(text)
    with pytest.raises(ConfigError, match=words):
        load(path)
    with pytest.raises(ConfigError, match="cannot be read"):
        load(tmp_path / "missing.json")


def test_a_stack_without_a_file_gets_the_default() -> None:
    assert file_for("dev").name == "dev.json"
    assert file_for("somebody").name == "default.json"


@pytest.mark.parametrize("stack", ["prod", "gpucluster/prod", "organization/gpucluster/prod"])
def test_a_stack_has_its_file_by_any_name_that_pulumi_takes(stack: str) -> None:
    assert file_for(stack).name == "prod.json"


@pytest.mark.parametrize("stack", ["Prod", "PROD", "organization/gpucluster/Prod"])
def test_a_name_in_other_letters_is_no_stack_without_a_file(stack: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--stack", stack]) == 1
    assert capsys.readouterr().out == ""


def test_the_default_is_named_when_it_is_used(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--stack", "organization/gpucluster/somebody"]) == 0
    assert "it has no somebody.json" in capsys.readouterr().err
    assert main(["--stack", "prod"]) == 0
    assert capsys.readouterr().err == ""


def test_the_file_of_one_stack_is_checked_and_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--stack", "dev"]) == 0
    assert capsys.readouterr().out == f"{DIRECTORY / 'dev.json'}\n"
    assert main(["--stack"]) == 2
    assert "--stack takes one name" in capsys.readouterr().err


def test_numbers_arrive_as_floats() -> None:
    limit = limits_of(BY_ID["gpu-ceiling"], {"maxGpus": 8.0})["maxGpus"]
    assert repr(limit) == "8"


def test_a_pool_with_gpus_has_the_gpu_taint_unless_the_configuration_says_otherwise() -> None:
    pools = {
        "l4": {"gpusPerNode": 1.0},
        "web": {"gpusPerNode": 0},
        "open": {"gpusPerNode": 1, "taints": []},
        "two": {"gpusPerNode": 1, "taints": ["a:NoExecute", "b=c:PreferNoSchedule"]},
    }
    assert problems({"pools": pools}) == []
    l4, web, opened, two = parse(pools)
    assert repr(l4.gpus.per_node) == "1"
    assert l4.nodes.taints == (GPU_TAINT,)
    assert web.nodes.taints == opened.nodes.taints == ()
    assert two.nodes.taints == (Taint("a", "", "NoExecute"), Taint("b", "c", "PreferNoSchedule"))


def test_production_refuses_an_open_api_server_and_plain_disks() -> None:
    levels = load(DIRECTORY / "prod.json")
    assert levels["control-plane-access"] == "mandatory"
    assert levels["disk-encryption"] == {"enforcementLevel": "mandatory", "customerKey": False}


def test_ordinary_pools_of_azure_are_refused_by_our_own_stacks_alone() -> None:
    levels = {path.stem: load(path) for path in DIRECTORY.glob("*.json")}
    for rule in ("host-encryption", "verified-boot"):  # both are off in a pool that does not ask for them
        mandatory = {stem for stem, level in levels.items() if level.get(rule) == "mandatory"}
        assert mandatory == {"aks-train-infer", "dev", "prod"}


RULES_THEN = {"gpu-ceiling": {"level": "mandatory", "limits": {"maxGpus": None}}}
EXEMPT = {"resource": "l4", "reason": "demo on Friday", "expires": "2026-12-31"}
REFUSED = {"a": ["gpu-ceiling"]}
EIGHT = {"gpu-ceiling": {"maxGpus": 8}}


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"gpu-ceiling": "mandatory"}, {"gpu-ceiling": "advisory"}, "stack dev: level mandatory → advisory"),
        ({}, {"all": "disabled"}, "stack dev: level mandatory → disabled"),
        ({"gpu-ceiling": {"maxGpus": 64}}, {"gpu-ceiling": {"maxGpus": 128}}, "stack dev: maxGpus 64 → 128"),
        ({"gpu-ceiling": {"maxGpus": 64}}, {}, "stack dev: maxGpus 64 → no limit"),
        ({}, {"gpu-ceiling": {"exemptions": [EXEMPT]}}, "exemption of l4 added until 2026-12-31: demo on"),
        (
            {"gpu-ceiling": {"exemptions": [EXEMPT]}},
            {"gpu-ceiling": {"exemptions": [{**EXEMPT, "expires": "2027-01-31"}]}},
            "exemption of l4 extended from 2026-12-31 until 2027-01-31",
        ),
        *(
            (
                {key: {"enforcementLevel": level, "reason": "the first month", "expires": "2026-12-05"}},
                {key: {"enforcementLevel": level, "reason": "the first month", **longer}},
                f"gpu-ceiling, stack dev: level {level} extended from 2026-12-05 until {shown}",
            )
            for key in ("gpu-ceiling", "all")
            for level in ("advisory", "disabled")
            for longer, shown in (({"expires": "2027-11-30"}, "2027-11-30"), ({}, "for ever"))
        ),
        (
            {"all": {"enforcementLevel": "disabled", "reason": "the first month", "expires": "2026-12-05"}},
            {"gpu-ceiling": {"enforcementLevel": "advisory", "reason": "the second", "expires": "2026-12-06"}},
            "gpu-ceiling, stack dev: level advisory extended from 2026-12-05 until 2026-12-06",
        ),
        ({}, {"configs": {"dev": {}}, "rules": {}}, "gpu-ceiling: the rule is removed"),
        (
            {},
            {"configs": {"dev": {}}, "rules": {"gpu-ceiling": {"level": "advisory", "limits": {"maxGpus": None}}}},
            "mandatory → advisory",
        ),
        (
            {},
            {"configs": {"dev": {}}, "rules": {"gpu-ceiling": {"level": "mandatory", "limits": {}}}},
            "the limit maxGpus (no limit) is remo",
        ),
        (
            {"configs": {"dev": {}}, "rules": {"own": {"level": "mandatory", "limits": {"size": 1}}}},
            {"configs": {"dev": {}}, "rules": {"own": {"level": "mandatory", "limits": {"size": 0}}}},
            "own, stack dev: size 1 → 0",
        ),
        (
            {"configs": {"dev": {}}, "budgets": {"dev": 50}},
            {"configs": {"dev": {}}, "budgets": {"dev": 90}},
            "budget.maxHourlyUsd, stack dev: 50 → 90",
        ),
        (
            {"configs": {"dev": {}}, "budgets": {"dev": 50}},
            {"configs": {"dev": {}}, "budgets": {"dev": None}},
            "budget.maxHourlyUsd, stack dev: 50 → no limit",
        ),
        (
            {"configs": {}, "gated": {"Makefile": ["a", "b"]}},
            {"configs": {}, "gated": {"Makefile": ["b"]}},
            "Makefile: what runs with --policy-pack is changed or removed: a",
        ),
        ({"configs": {}, "refused": REFUSED}, {"configs": {}, "refused": {"a": []}}, "gpu-ceiling: a program of"),
        ({"configs": {}, "refused": REFUSED}, {"configs": {}}, "passes, a"),
        ({"configs": {}, "refused": REFUSED}, {"configs": {}, "refused": None}, "cannot judge these programs"),
        (
            {"prices": {"m5zn.large": {"eu-west-1": 0.3}}},
            {"prices": {"m5zn.large": {"eu-west-1": 0.2}}},
            "prices, stack dev: m5zn.large in eu-west-1 $0.3 → $0.2",
        ),
        (
            {"configs": {"default": EIGHT}},
            {"configs": {"default": EIGHT, "new": {}}},
            "gpu-ceiling, stack new: maxGpus 8 → no limit",
        ),
    ],
)
def test_each_loosening_is_one_line(before: Mapping[str, Any], after: Mapping[str, Any], expected: str) -> None:
    """A state is the gate's configuration of stack ``dev``, or its fields."""
    then, now = (
        GateState(**{"rules": RULES_THEN, **(state if "configs" in state else {"configs": {"dev": state}})})
        for state in (before, after)
    )
    (line,) = loosenings(then, now)
    assert expected in line
    if "own" not in then.rules and "2026-12-06" not in line:
        assert loosenings(now, then) == []
    assert loosenings(then, then) == []


@pytest.mark.parametrize(
    ("limit", "up", "down"),
    [
        ("customerKey", [True, False], [False, True]),
        ("minCarbonFreePercent", [75, 50], [50, 75]),
        ("mostPromised", [1, 1.5], [None, 2]),
        ("opaque", [True, False], [False, True]),
        ("regions", [["a"], ["a", "b"]], [[], ["a"]]),
        ("regions", [["a"], []], [["a", "b"], ["a"]]),
        ("taintKeys", [[], ["team"]], [["team"], []]),
    ],
)
def test_a_limit_knows_which_way_is_wider(limit: str, up: list[Any], down: list[Any]) -> None:
    assert wider(limit, *up)
    assert not wider(limit, *down)
    assert not wider(limit, up[0], up[0])
    assert wider("ofAnotherVersion", 1, 2)


def test_a_limit_without_a_direction_is_no_rule_s() -> None:
    """Else a looser gate would pass a review as if nothing had changed."""
    with pytest.raises(KeyError, match="wider"):
        rules.rule("some-rule", limits={"most": {"type": "number"}})


def test_the_project_s_own_gate_is_read() -> None:
    state = state_of(ROOT)
    assert state.configs["dev"]["gpu-ceiling"]["maxGpus"] == 64
    assert state.budgets == {"dev": None, "prod": 300}
    assert state.rules["gpu-zero-minimum"]["level"] == "mandatory"


def checkout(folder: Path, **changed: tuple[str, str, str]) -> Path:
    """A copy of what the gate consists of; each change replaces a text of a file by another."""
    for name in ("policies", "facts", "packages/cli"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("Pulumi.yaml", "Pulumi.dev.yaml", "Pulumi.prod.yaml"):
        shutil.copy(ROOT / name, folder)
    for name, old, new in changed.values():
        text = (folder / name).read_text()
        assert old in text
        (folder / name).write_text(text.replace(old, new, 1))
    return folder


POOLS: Final = '[{"name": "t4", "gpu": "nvidia-t4", "hourlyUsd": 0.01}]'


@pytest.mark.parametrize(
    "text",
    [
        f"gpucluster:gpuPools: {POOLS}",
        f"gpucluster:gpuPools: '{POOLS}'",
        f"gpucluster:config:gpuPools: '{POOLS}'",
        f"gpucluster:gpuPools: {POOLS.replace('0.01', '1e-2')}",
    ],
)
def test_a_price_of_a_pool_is_seen_in_every_form_that_the_engine_reads(text: str, tmp_path: Path) -> None:
    (tmp_path / "Pulumi.yaml").write_text("name: gpucluster\nruntime: python\n")
    (tmp_path / "Pulumi.dev.yaml").write_text(f"config:\n  {text}\n  gpucluster:budget: '{{\"maxHourlyUsd\": 7}}'\n")
    assert prices_and_budgets(tmp_path) == ({("dev", "t4"): 0.01}, {"dev": 7})


@pytest.mark.parametrize("text", ["[prices]", "prices", "{values: {pulumiConfig: {gpucluster:budget: {}}}}"])
def test_values_from_elsewhere_are_named(text: str, tmp_path: Path) -> None:
    """A stack's environment may set every key, and whoever may change it changes what the gate reads."""
    states = []
    for environment in ("", f"environment: {text}\n"):
        (tmp_path / "Pulumi.yaml").write_text("name: gpucluster\nruntime: python\n")
        (tmp_path / "Pulumi.dev.yaml").write_text(f"{environment}config: {{gpucluster:cloud: gke}}\n")
        states.append(GateState(rules=RULES_THEN, environments=environments(tmp_path)))
    without, with_one = states
    (line,) = loosenings(without, with_one)
    assert "environment, stack dev: " in line
    assert loosenings(with_one, without) == loosenings(with_one, with_one) == []


@pytest.mark.parametrize("key", ["gcp:containerCustomEndpoint", "aws:endpoints", "azure-native:metadataHost"])
@pytest.mark.parametrize(("file", "stack"), [("Pulumi.dev.yaml", "dev"), ("Pulumi.yaml", "of any name")])
def test_a_provider_that_may_send_its_login_elsewhere_is_named(key: str, file: str, stack: str, tmp_path: Path) -> None:
    """A pull request changes a stack file, and the pipeline logs in for it."""
    states = []
    for line in ("", f"  {key}: https://elsewhere.example/\n"):
        (tmp_path / "Pulumi.yaml").write_text("name: gpucluster\nruntime: python\nconfig:\n  region: {type: string}\n")
        (tmp_path / "Pulumi.dev.yaml").write_text("config:\n  gcp:project: p\n  gpucluster:cloud: gke\n")
        (tmp_path / file).write_text((tmp_path / file).read_text() + line)
        states.append(GateState(rules=RULES_THEN, providers_keys=providers_keys(tmp_path)))
    without, with_one = states
    (line,) = loosenings(without, with_one)
    assert line.startswith(f"{key}, stack {stack}: ")
    assert loosenings(with_one, without) == loosenings(with_one, with_one) == []


@pytest.mark.parametrize(
    "key", ["gcp:project", "gcp:config:zone", "aws:profile", "aws:defaultTags", "azure-native:location"]
)
def test_a_provider_that_logs_in_as_before_is_not_named(key: str, tmp_path: Path) -> None:
    (tmp_path / "Pulumi.yaml").write_text("name: gpucluster\nruntime: python\n")
    (tmp_path / "Pulumi.dev.yaml").write_text(f"config: {{{key}: x, gpucluster:cloud: gke}}\n")
    assert providers_keys(tmp_path) == {}


@pytest.mark.parametrize(
    "line", ["secretsprovider: awskms://k?endpoint=https://elsewhere.example", "encryptedkey: YQ=="]
)
def test_another_key_of_secrets_is_named(line: str, tmp_path: Path) -> None:
    """Who knows the key reads the secrets of the state; the provider's own may be on another server."""
    states = []
    for written in ("", line):
        (tmp_path / "Pulumi.yaml").write_text("name: gpucluster\nruntime: python\n")
        (tmp_path / "Pulumi.dev.yaml").write_text(
            f"encryptionsalt: v1:x\n{written}\nconfig: {{gpucluster:cloud: gke}}\n"
        )
        states.append(GateState(rules=RULES_THEN, secrets_keys=secrets_keys(tmp_path)))
    without, with_one = states
    (named,) = loosenings(without, with_one)
    assert "stack dev: another key decrypts the secrets" in named
    assert loosenings(with_one, without) == loosenings(with_one, with_one) == []


@pytest.mark.parametrize("form", ["default", "value"])
def test_a_price_that_the_project_gives_every_stack_is_seen(form: str, tmp_path: Path) -> None:
    (tmp_path / "Pulumi.yaml").write_text(f"config:\n  gpuPools:\n    {form}: {POOLS}\n  budget: {{value: {{}}}}\n")
    (tmp_path / "Pulumi.dev.yaml").write_text("config: {gpucluster:cloud: gke}")
    assert prices_and_budgets(tmp_path) == ({("dev", "t4"): 0.01}, {"dev": None})


@pytest.mark.parametrize("config", ["5", "[gcp:project]", "{5: x}"])
def test_a_stack_file_that_the_program_refuses_ends_no_comparison(config: str, tmp_path: Path) -> None:
    (tmp_path / "Pulumi.yaml").write_text("name: gpucluster\nruntime: python\n")
    (tmp_path / "Pulumi.dev.yaml").write_text(f"config: {config}\n")
    assert providers_keys(tmp_path) == {}
    assert prices_and_budgets(tmp_path) == ({}, {"dev": None})


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("Pulumi.dev.yaml", "config:\n  gpucluster:cloud: gke\n gpucluster:x: 1\n", "Pulumi.dev.yaml:3: not YAML"),
        ("Pulumi.yaml", "name: [gpucluster\n", "Pulumi.yaml:2: not YAML"),
        ("policies/config/dev.json", '{\n"gpu-taint": mandatory}', "policies/config/dev.json:2: not JSON"),
    ],
)
def test_a_file_that_nobody_can_read_is_named_in_a_sentence(
    name: str,
    text: str,
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for file, written in {"Pulumi.yaml": "name: gpucluster\nruntime: python\n", name: text}.items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(written)
    monkeypatch.setattr(gate_diff, "ROOT", tmp_path)
    monkeypatch.setattr(gate_diff, "_git", lambda *_: b"commit")
    monkeypatch.setattr(gate_diff, "check_out", lambda *_: shutil.copytree(tmp_path, _[-1], dirs_exist_ok=True))
    assert gate_diff.main(["main"]) == 2
    assert capsys.readouterr().err == f"cannot compare with the commit 'main': {words}\n"


def test_a_gate_is_judged_once_whatever_its_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Judging takes seconds, which each change without a new rule would wait for twice."""
    judged: list[str] = []
    monkeypatch.setattr(gate_diff, "_VERDICTS", {})
    monkeypatch.setattr(gate_diff, "_output", lambda script, _: judged.append(script) or {})
    files = ("facts/taints.py", "policies/rules/taints.py", "tests/policies/corpus/case.py")
    for tree, most in (("before", 64), ("after", 65)):
        for name in (*files, "policies/config/dev.json", "Pulumi.yaml"):
            file = tmp_path / tree / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps({"gpu-ceiling": {"maxGpus": most}}) if name.startswith("policies/c") else "{}")
    for name in ("before", "after"):
        state_of(tmp_path / name)
    assert len(judged) == 2, "the rules and the programs"
    for file in (*(tmp_path / "after" / name for name in files), tmp_path / "after" / "facts" / "more.py"):
        file.write_text("{1}")
        judged.clear()
        state_of(tmp_path / "after")
        assert len(judged) == 2, file
    # A file in place of two others, whose name tells of them.
    shutil.copytree(tmp_path / "before", tmp_path / "one")
    first, second = (tmp_path / "one" / name for name in files[:2])
    told = f"{first.name} {hashlib.sha256(first.read_bytes()).hexdigest()}\n{files[1]}"
    (first.parent / told).parent.mkdir(parents=True)
    second.rename(first.parent / told)
    first.unlink()
    judged.clear()
    state_of(tmp_path / "one")
    assert len(judged) == 2


@pytest.mark.slow
def test_what_a_fact_a_reader_and_a_command_loosen_is_named(tmp_path: Path) -> None:
    before = state_of(ROOT)
    checkout(
        tmp_path,
        fact=("facts/concepts/addresses.py", "2**24", "2**33"),
        reader=("policies/readers/idle.py", 'if after == "Never"', 'if after == "never"'),
        command=("packages/cli/gpucluster/commands/account.py", '"--policy-pack", "policies", ', ""),
        directory=("Pulumi.yaml", "name: gpucluster", "name: gpucluster\nstackConfigDir: st"),
    )
    (tmp_path / "st").mkdir()
    (tmp_path / "st/Pulumi.prod.yaml").write_text(
        "config: {gpucluster:budget: {maxHourlyUsd: 1000000}, gpucluster:gpuPools: [{name: h100, hourlyUsd: 0.01}]}"
    )
    lines = loosenings(before, state_of(tmp_path, ROOT))
    for words in (
        "control-plane-access: a program of",
        "gpu-idle-time: a program of",
        "account.py: what runs with --policy-pack is changed or removed: ",
        "stack prod: 300 → 1000000",
        "hourlyUsd of h100, stack prod: ",
    ):
        assert any(words in line for line in lines), lines
    assert loosenings(before, before) == []


def owners(file: str) -> set[str]:
    """Who is asked to review a file."""
    last: set[str] = set()
    for line in (ROOT / "CODEOWNERS").read_text().splitlines():
        pattern, *teams = line.split("#")[0].split() or [""]
        inside = file.startswith(pattern[1:]) if pattern.endswith("/") else fnmatchcase(file, pattern[1:])
        if pattern and (inside if pattern.startswith("/") else fnmatchcase(file.rpartition("/")[2], pattern)):
            last = set(teams)
    return last


def test_security_reviews_all_that_the_gate_consists_of() -> None:
    script = (
        "import sys; from policies import pack; from policies.readers.registry import MODULES, _modules;"
        "[_modules(each) for each in MODULES]; print(*(getattr(m, '__file__', None) for m in [*sys.modules.values()]))"
    )
    loaded = subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True, capture_output=True, text=True)
    files = {Path(name) for name in loaded.stdout.split() if Path(name).is_relative_to(ROOT) and ".venv" not in name}
    folders = {ROOT / file.relative_to(ROOT).parts[0] for file in files}
    assert {folder.name for folder in folders} == {"facts", "policies"}
    read = {
        file for folder in folders for file in folder.rglob("*") if file.is_file() and "__pycache__" not in file.parts
    }
    commands = {ROOT / name for name in gated_commands(ROOT)}
    stacks = {*ROOT.glob("Pulumi*.yaml")}
    started = {
        *(ROOT / name for name in ("__main__.py", ".gitlab-ci.yml", "examples/ci/gitlab.yml", "CODEOWNERS", "uv.lock")),
        # Python may import these before installed packages, or the standard library.
        *(ROOT / name for name in ("yaml.py", "yaml/__init__.py", "yaml.pyc", "_yaml.abi3.so", "json/decoder.py")),
    }
    names = {str(file.relative_to(ROOT)) for file in files | read | commands | stacks | started}
    assert [name for name in sorted(names) if "@gpucluster/security" not in owners(name)] == []
    assert owners("README.md") == owners("docs/ci.md") == {"@gpucluster/maintainers"}


# Starts the pack up to where it would listen.
_START: Final = """\
import runpy, sys, types
sys.modules["policies.pack"] = types.SimpleNamespace(serve=lambda: None)
runpy.run_path("policies")
import yaml, pulumi_policy
"""


@pytest.mark.parametrize("command", [("-m", "policies.config"), ("-I", "-c", _START)], ids=["module", "pack"])
def test_nothing_beside_the_gate_takes_the_place_of_an_installed_package(tmp_path: Path, command: list[str]) -> None:
    shutil.copytree(ROOT / "policies", tmp_path / "policies", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "facts").symlink_to(ROOT / "facts")
    for name in ("yaml", "pulumi_policy"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise SystemExit('it ran')")
    ran = subprocess.run([sys.executable, *command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_a_pool_of_another_program_loosens_wherever_it_changes() -> None:
    """A pod that fits no declared pool may fit it, and one that it repelled may not."""
    then, now = (
        GateState(rules=RULES_THEN, configs={"dev": each}) for each in ({}, {"pools": {"big": {"gpusPerNode": 8}}})
    )
    assert loosenings(then, now) == ["pools, stack dev: big is added"]
    assert loosenings(now, then) == ["pools, stack dev: big is removed"]


COMMAND = """
def preview(stack):
    gate = ["--policy-pack", "policies"]
    return ["pulumi", "preview", *gate]

def run(stack):
    return preview(stack)

def other():
    return 1
"""


@pytest.mark.parametrize(
    "change",
    [
        ('gate = ["--policy-pack", "policies"]', 'gate = [] if stack == "prod" else ["--policy-pack", "policies"]'),
        ("*gate", "*gate[2:]"),
        ("return preview(stack)", "return []"),
    ],
)
def test_a_command_counts_by_what_it_does_with_the_pack(tmp_path: Path, change: tuple[str, str]) -> None:
    def state(text: str) -> GateState:
        (tmp_path / "packages/cli").mkdir(parents=True, exist_ok=True)
        (tmp_path / "packages/cli/run.py").write_text(text)
        return GateState(rules=RULES_THEN, gated=gated_commands(tmp_path))

    before = state(COMMAND)
    assert len(loosenings(before, state(COMMAND.replace(*change)))) == 1
    assert loosenings(before, state(COMMAND.replace("return 1", "return 2"))) == []


def test_a_price_in_place_of_a_list_price_may_be_lower_and_the_other_way_round() -> None:
    then, now = (GateState(rules=RULES_THEN, configs={"dev": state}) for state in ({}, {"prices": {"g6.xlarge": 0.5}}))
    assert loosenings(then, now) == ["prices, stack dev: g6.xlarge list price → $0.5"]
    assert loosenings(now, then) == ["prices, stack dev: g6.xlarge $0.5 → list price"]


def test_the_base_has_all_of_its_files_whatever_attributes_they_have(tmp_path: Path) -> None:
    repository, folder = tmp_path / "repository", tmp_path / "base"
    repository.mkdir()
    folder.mkdir()
    (repository / ".gitattributes").write_text("*.json export-ignore\n")
    (repository / "prod.json").write_text("{}\n")
    commit = ("-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", "a")
    for command in (("init", "-q"), ("add", "."), commit):
        subprocess.run(["git", *command], cwd=repository, check=True)
    check_out(repository, "HEAD", folder)
    assert (folder / "prod.json").read_text() == "{}\n"
