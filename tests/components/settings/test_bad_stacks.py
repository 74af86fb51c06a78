"""Every file in ``bad_stacks`` is refused with exactly the problems that its first lines announce."""

from __future__ import annotations

from pathlib import Path

import pytest

from components.settings import SettingsError, from_stack_file

FILES = sorted((Path(__file__).parent / "bad_stacks").glob("*.yaml"))


def announced(file: Path) -> dict[str, str]:
    """``# expect: <key path> | <phrase of the message or the remedy>`` lines: path → phrase."""
    lines = (line for line in file.read_text().splitlines() if line.startswith("# expect: "))
    return dict(line.removeprefix("# expect: ").split(" | ") for line in lines)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_bad_stack_is_refused_with_path_and_remedy(file: Path) -> None:
    expected = announced(file)
    assert expected
    with pytest.raises(SettingsError) as refused:
        from_stack_file(file)
    paths = [problem.path.removeprefix(f"{file.parent}/") for problem in refused.value.problems]
    by_path = dict(zip(paths, refused.value.problems, strict=True))
    assert sorted(paths) == sorted(expected), str(refused.value)
    for path, phrase in expected.items():
        assert phrase in str(by_path[path])
        assert str(by_path[path]) in str(refused.value)


def test_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be read"):
        from_stack_file(tmp_path / "Pulumi.none.yaml")


def test_file_that_is_not_text(tmp_path: Path) -> None:
    file = tmp_path / "Pulumi.x.yaml"
    file.write_bytes(b"\xff\xfe\x00config")
    with pytest.raises(SettingsError, match="cannot be read"):
        from_stack_file(file)
