"""Every YAML file of the repository says the same to both of PyYAML's parsers: its own, and libyaml where it is there.

libyaml is absent on some systems, and reads flow mappings that PyYAML's own parser refuses.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any, Final

import yaml

from tests.stacks import ROOT

NOT_YAML: Final = {
    "packages/rehearsal/tests/providers/kubernetes/helm/chart/templates": "Helm's templates",
    "tests/one_stack/template.yaml": "a template of stack files",
    "tests/components/settings/bad_stacks/file-not-yaml.yaml": "a stack file that is refused",
}
"""A folder or a file → what it has instead."""


class _Own(yaml.SafeLoader):
    pass


class _Libyaml(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # pyright: ignore[reportGeneralTypeIssues]
    pass


def _tagged(loader: Any, suffix: str, node: yaml.Node) -> tuple[str, Any]:
    """A tag of our own, such as ``!json``, with what it is put on."""
    if isinstance(node, yaml.ScalarNode):
        return suffix, loader.construct_scalar(node)
    if isinstance(node, yaml.SequenceNode):
        return suffix, loader.construct_sequence(node, deep=True)
    return suffix, loader.construct_mapping(node, deep=True)


for _loader in (_Own, _Libyaml):
    _loader.add_multi_constructor("!", _tagged)


def _loaded(text: str, loader: type[Any]) -> list[Any] | None:
    try:
        return list(yaml.load_all(text, Loader=loader))
    except yaml.YAMLError:
        return None


def _differences(files: dict[str, str]) -> list[str]:
    result = []
    for name, text in files.items():
        own, libyaml = _loaded(text, _Own), _loaded(text, _Libyaml)
        is_yaml = not any(Path(name).is_relative_to(other) for other in NOT_YAML)
        if (own is not None) is not is_yaml or own != libyaml:
            result.append(name)
    return result


def test_every_yaml_file_means_the_same_to_both_parsers() -> None:
    command = ["git", "ls-files", "*.yaml", "*.yml"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    files = {name: (ROOT / name).read_text(encoding="utf-8") for name in listed if (ROOT / name).exists()}
    assert len(files) > 100
    assert _differences(files) == []
    assert _differences({"quoted": "a: {b: '(?i)c'}", "plain": "a: {b: (?i)c}"}) == ["plain"], (
        "as libyaml alone reads it"
    )
