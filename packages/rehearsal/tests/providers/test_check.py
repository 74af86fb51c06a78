"""Inputs that need no server to be refused, in every form that a schema can forbid."""

from __future__ import annotations

from typing import Any

import pytest

from facts.concepts.unknown import UNKNOWN
from rehearsal.providers import check
from schemas import Object, Property, ResourceType, Schema

TEXT = Property(type="string")
KNOWN = Schema(
    {"pulumi-some": "1.2.3"},
    {"some:a:B": ResourceType(api="v1", object="B", outputs=())},
    {
        "B": Object(
            name="Body",
            properties={
                "name": Property(type="string", required=True, pattern="[a-z]+"),
                "mode": Property(type="string", enum=("System", "User")),
                "spot": Property(type="boolean"),
                "size": Property(type="integer", format="int32"),
                "wide": Property(type="integer", format="int64"),
                "disk": Property(type="integer", minimum=0, maximum=2048),
                "price": Property(type="number"),
                "wait": Property(type="string", format="google-duration"),
                "start": Property(type="string", format="google-datetime"),
                "labels": Property(type="map", items=TEXT),
                "zones": Property(type="list", items=TEXT),
                "block": Property(type="object", object="Inner"),
                "blocks": Property(type="list", items=Property(type="object", object="Inner")),
                "single": Property(type="list", items=TEXT, longest=1),
                "code": Property(type="string", shortest=2, longest=4),
                "pair": Property(type="list", items=TEXT, shortest=1, longest=2),
                "tags": Property(type="map", items=TEXT, keys=Property(type="string", longest=3), longest=1),
                "few": Property(type="integer", minimum=1),
                "many": Property(type="integer", maximum=9),
                "kind": Property(type="string", enum=tuple(f"k{index}" for index in range(40))),
                "later": Property(type="string", refused="is not simulated; leave it out"),
                "anything": Property(type="any"),
            },
            server=("status",),
            lacking=("newer",),
        ),
        "Inner": Object(name="Inner", properties={"count": Property(type="integer", required=True)}),
    },
)
WORDS = check.InputMessages("{api} knows none in {object}", "{version} of the provider lacks it", "is the server's")


def failures(inputs: dict[str, Any]) -> list[tuple[str, str]]:
    return [(each.property, each.reason) for each in check.failures(KNOWN, "some:a:B", inputs, WORDS)]


@pytest.mark.parametrize(
    ("inputs", "path", "reason"),
    [
        ({"name": None}, "name", "is required"),
        ({"name": 3}, "name", "must be a string, not 3"),
        ({"name": "B"}, "name", "'B' does not match [a-z]+"),
        ({"mode": "Systems"}, "mode", "'Systems' is not one of System, User"),
        ({"spot": "yes"}, "spot", "must be true or false, not 'yes'"),
        ({"spot": 1}, "spot", "must be true or false, not 1"),
        ({"size": 1.5}, "size", "must be a whole number, not 1.5"),
        ({"size": True}, "size", "must be a whole number, not True"),
        ({"size": "3"}, "size", "must be a whole number, not '3'"),
        ({"size": 2**31}, "size", "2147483648 is outside int32 (-2147483648 to 2147483647)"),
        ({"disk": 2049}, "disk", "2049 is outside 0 to 2048"),
        ({"price": "1"}, "price", "must be a number, not '1'"),
        ({"wait": "1h"}, "wait", "'1h' is not a duration in seconds such as '3600s'"),
        ({"start": "now"}, "start", "'now' is not an RFC 3339 time such as '2026-01-31T12:00:00Z'"),
        ({"labels": ["a"]}, "labels", "must be an object, not ['a']"),
        ({"labels": {"a": 1}}, "labels.a", "must be a string, not 1"),
        ({"zones": "a"}, "zones", "must be a list, not 'a'"),
        ({"zones": ["a", None]}, "zones[1]", "must be a string, not None"),
        ({"block": []}, "block", "must be an object, not []"),
        ({"block": {}}, "block.count", "is required"),
        ({"blocks": [{"count": 1}, {"count": "x"}]}, "blocks[1].count", "must be a whole number, not 'x'"),
        ({"block": {"count": 1, "counts": 1}}, "block.counts", "v1 knows none in Inner"),
        ({"single": ["a", "b"]}, "single", "takes one block, not 2"),
        ({"labels": {"a/b": 1}}, 'labels["a/b"]', "must be a string, not 1"),
        ({"code": "a"}, "code", "length 1 is less than 2"),
        ({"code": "abcde"}, "code", "length 5 is more than 4"),
        ({"pair": []}, "pair", "length 0 is less than 1"),
        ({"pair": ["a", "b", "c"]}, "pair", "length 3 is more than 2"),
        ({"tags": {"abcd": "a"}}, "tags.abcd", "length 4 is more than 3"),
        ({"tags": {"a": "a", "b": "b"}}, "tags", "length 2 is more than 1"),
        ({"few": 0}, "few", "0 is less than 1"),
        ({"many": 10}, "many", "10 is more than 9"),
        ({"kind": "k"}, "kind", f"'k' is not one of {', '.join(f'k{index}' for index in range(30))} …"),
        ({"later": UNKNOWN}, "later", "is not simulated; leave it out"),
        ({"status": "RUNNING"}, "status", "is the server's"),
        ({"newer": 1}, "newer", "1.2.3 of the provider lacks it"),
        ({"nodes": 1}, "nodes", "v1 knows none in Body"),
        ({"zones": "a" * 99}, "zones", f"must be a list, not '{'a' * 56}..."),
    ],
)
def test_one_error_is_reported_at_its_path(inputs: dict[str, Any], path: str, reason: str) -> None:
    assert failures({"name": "a", **inputs}) == [(path, reason)]


@pytest.mark.parametrize(
    "inputs",
    [
        {"size": 3.0},
        {"wide": "12"},
        {"wide": 12},
        {"disk": 0},
        {"disk": 2048},
        {"price": 1},
        {"wait": "1.5s"},
        {"start": "2026-01-31T12:00:00.5+01:00"},
        {"single": []},
        {"code": "ab"},
        {"code": "abcd"},
        {"code": UNKNOWN},
        {"pair": ["a", "b"]},
        {"tags": {"abc": "a long one"}},
        {"few": 1},
        {"many": 9},
        {"kind": "k39"},
        {"anything": {"a": [1]}},
        {"block": None},
        {"name": UNKNOWN, "labels": UNKNOWN, "zones": ["a", UNKNOWN], "block": {"count": UNKNOWN}},
    ],
)
def test_what_the_schema_allows_passes(inputs: dict[str, Any]) -> None:
    assert failures({"name": "a", **inputs}) == []


def test_all_errors_are_reported_at_once() -> None:
    assert len(failures({"mode": "x", "size": "y", "block": {}})) == 4
