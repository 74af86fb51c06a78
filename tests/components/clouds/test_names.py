"""Names within a cloud's limits."""

from __future__ import annotations

import pytest

from components.clouds.names import shortened


@pytest.mark.parametrize(
    ("name", "limit", "suffix", "made"),
    [("gpu", 10, "", "gpu"), ("gpu", 10, "-nodes", "gpu-nodes"), ("a" * 10, 10, "", "a" * 10)],
)
def test_a_name_that_fits_stays(name: str, limit: int, suffix: str, made: str) -> None:
    assert shortened(name, limit, suffix=suffix) == made


@pytest.mark.parametrize("limit", [12, 20, 40])
@pytest.mark.parametrize("name", ["a" * 41, "gpu-team-research-and-development-of-the-west"])
def test_a_name_that_does_not_fit_ends_as_it_should(name: str, limit: int) -> None:
    made = shortened(name, limit, suffix="-abc")
    assert len(made) <= limit
    assert made.endswith("-abc")
    assert "--" not in made


def test_names_with_the_same_beginning_stay_apart() -> None:
    assert shortened("gpu-team-of-research-a", 20) != shortened("gpu-team-of-research-b", 20)


def test_a_limit_without_room_is_an_error() -> None:
    with pytest.raises(ValueError, match="no name fits into 10"):
        shortened("gpu-dev-gpu-dev", 10, suffix="-nodes")
