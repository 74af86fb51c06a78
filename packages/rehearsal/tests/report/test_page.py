"""The page of a report: what a browser and a screen reader get, and that it needs nothing but itself."""

from __future__ import annotations

import base64
import hashlib
import io
import itertools
import json
import re
import shutil
import subprocess
from collections.abc import Mapping
from contextlib import ExitStack
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, cast
from xml.etree import ElementTree

import pytest
from rich.console import Console

from packages.rehearsal.tests.objects import Cluster, admin_pool, gpu_pool
from rehearsal.day_two.play import Changed
from rehearsal.engine.engine import CommandResult
from rehearsal.engine.events import Outcome
from rehearsal.engine.stack import resolve
from rehearsal.lab.isolation import LabUnavailable
from rehearsal.lab.software import Software
from rehearsal.own_machines.lab_rehearsal import LabRehearsal
from rehearsal.report import page, pictures
from rehearsal.report.record import Scope, StageTime
from rehearsal.report.report import RunRecord
from rehearsal.run.options import Options
from rehearsal.scenario.check import Check, Pools

HOSTILE = '</script></style><img src="http://example.com/x" onerror="alert(1)">' + 99 * "long"
VOID = {"meta", "link", "br", "img", "input", "hr"}
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")


class Page(HTMLParser):
    """The elements of a page in order, with their attributes and texts; refuses wrong nesting."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self._open: list[str] = []
        self.feed(text)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append((self._open[-1] if self._open else "", data))

    def named(self, *tags: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.elements if tag in tags]

    def inside(self, *tags: str) -> list[str]:
        return [text.strip() for tag, text in self.texts if tag in tags and text.strip()]


@pytest.fixture(scope="module")
def report() -> dict[str, Any]:
    """A failed run: one GPU node is used for 4 s, idle for 6 s and used again for 2 s; hostile texts everywhere."""
    cluster, pools = Cluster.empty(), Pools((gpu_pool("t4-1", 1),), (), admin_pool())
    record = RunRecord(
        "dev", "Pulumi.dev.yaml", cluster.timeline, pools=pools, price=lambda _, pool: pool.nodes.hourly_usd
    )
    cluster.node("admin-0", "admin")
    cluster.pod("first")
    cluster.after(5).node(HOSTILE, "t4-1", size=1, gpus=0)
    cluster.after(1).node(HOSTILE, "t4-1", size=1, change="MODIFIED")
    cluster.after(1).pod("first", node=HOSTILE, phase="Running", change="MODIFIED")
    cluster.after(4).pod("first", node=HOSTILE, phase="Succeeded", change="MODIFIED")
    cluster.after(6).pod("second", node=HOSTILE, phase="Running")
    cluster.after(2).pod("second", node=HOSTILE, phase="Succeeded", change="MODIFIED")
    cluster.after(1).deleted(HOSTILE, "t4-1", size=1)
    record.scope = Scope({"network": f"not simulated {HOSTILE}"}, {"prices": "list prices"})
    record.stages = [StageTime("pulumi up", 4.0, True), StageTime("scenario", 18.0, False)]
    record.checks = [Check("ok", "`pulumi up` succeeds", True, "done"), Check("bad", "A pod runs", False, HOSTILE)]
    record.events, record.real = [(3.0, HOSTILE)], {"etcd": "v3.6.5"}
    record.changes = [Changed((HOSTILE,), f"-maxNodes: 4\n+maxNodes: 5 # {HOSTILE}")]
    record.ended = cluster.after(2).timeline.now()
    return {
        **record.to_json(None),
        "waiting": {"pods": 1, "medianSeconds": 7.0, "longestSeconds": 7.0, "byGpu": {HOSTILE: [7.0]}},
    }


@pytest.fixture(scope="module")
def shown(report: dict[str, Any]) -> Page:
    return Page(page.render(report))


class _OwnMachines(LabRehearsal):
    """Needs no machine."""

    specs_of = staticmethod(lambda settings: [])

    def _play(self, held: ExitStack) -> None:
        with self._stage("start"):
            self._record.real["cp1"] = "kubelet v1.34.4"
            self._say("cp1 started")
            self._check("up", "`pulumi up` makes a cluster", True, "in 80 s")
        with self._stage("rest"):
            (log := self.run_dir / "up.log").write_text("refused")
            result = CommandResult("up", int(self._options.fail_fast), 1.0, Outcome(), log)
            self._engine_check("second-up", "Nothing changes", result)
            self._say("the rest is done")


def on_own_machines(folder: Path, *, fails: bool = False) -> tuple[dict[str, Any], str]:
    """The report of a rehearsal of own machines, which has neither prices nor pods, and what it printed."""
    options, output = Options(tools=folder, gate=None, build=folder, fail_fast=fails), io.StringIO()
    stack, software = resolve("examples/kubeadm.yaml"), cast(Software, None)
    finished = _OwnMachines(stack, options, folder, software, Console(file=output, width=200)).run()
    assert finished.passed is not fails
    return json.loads(finished.report.read_text()), output.getvalue()


def test_a_host_that_cannot_rehearse_is_an_error_without_a_report(tmp_path: Path) -> None:
    class OnSuchAHost(_OwnMachines):
        def _play(self, held: ExitStack) -> None:
            raise LabUnavailable("needs root")

    stack, software, output = resolve("examples/kubeadm.yaml"), cast(Software, None), io.StringIO()
    options = Options(tools=tmp_path, gate=None, build=tmp_path)
    with pytest.raises(LabUnavailable, match="needs root"):
        OnSuchAHost(stack, options, tmp_path, software, Console(file=output)).run()
    assert list(tmp_path.rglob("report.*")) == []
    assert "Traceback" not in output.getvalue()


@pytest.fixture
def own_machines(tmp_path: Path) -> dict[str, Any]:
    return on_own_machines(tmp_path / "own")[0]


def published(folder: Path, report: dict[str, Any]) -> str:
    output = io.StringIO()
    page.publish(report, folder, Console(file=output, width=200))
    return output.getvalue()


@pytest.mark.parametrize("kind", ["report", "own_machines", "comparison"])
def test_a_screen_reader_gets_landmarks_headings_and_texts(
    kind: str, shown: Page, report: dict[str, Any], own_machines: dict[str, Any]
) -> None:
    if kind != "report":
        both = kind == "comparison"
        shown = Page(page.render_comparison([report, own_machines]) if both else page.render(own_machines))
    assert shown.named("html") == [{"lang": "en"}]
    assert [len(shown.named(tag)) for tag in ("header", "main", "h1", "title")] == [1, 1, 1, 1]
    levels = [int(tag[1]) for tag, _ in shown.elements if re.fullmatch("h[1-6]", tag)]
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))
    ids = [attributes["id"] for _, attributes in shown.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert all(str(link["href"])[1:] in ids for link in shown.named("a"))
    assert all(each["aria-labelledby"] in ids for _, each in shown.elements if "aria-labelledby" in each)
    drawings = [each for _, each in shown.elements if each.get("role") == "img"]
    assert len(drawings) == len(shown.named("svg"))
    assert all(each["aria-label"] for each in drawings)
    assert len(shown.named("figure")) == len(shown.named("details")) == len(shown.inside("summary"))
    assert len(shown.named("table")) == len(shown.named("caption"))
    assert all(each["scope"] in ("col", "row") for each in shown.named("th"))
    regions = [each for _, each in shown.elements if each.get("role") == "region"]
    assert all(each["tabindex"] == "0" and each["aria-label"] for each in regions)


def test_a_page_needs_no_script_and_no_other_file(shown: Page) -> None:
    (style,) = [text for tag, text in shown.texts if tag == "style"]
    (policy,) = [each["content"] for each in shown.named("meta") if each.get("http-equiv") == "Content-Security-Policy"]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    assert not re.search(r"url\(|@import", style)
    assert {tag for tag, _ in shown.elements} & {"script", "img", "link", "iframe", "object", "image", "use"} == set()
    for tag, attributes in shown.elements:
        assert not [name for name in attributes if name.startswith("on") or name in ("src", "style", "srcset")], tag
        assert str(attributes.get("href", "#")).startswith("#")
        assert "url(" not in " ".join(filter(None, attributes.values()))


@pytest.mark.parametrize("draw", [pictures.svg, pictures.png])
def test_a_character_that_xml_has_not_ends_no_process(draw: Any) -> None:
    rows = {"values": [{"name": "a\x00b\x1b\uffff", "nodes": 1}]}
    text = {"field": "name", "type": "nominal"}
    assert draw({"data": rows, "mark": "bar", "title": "\x08", "encoding": {"y": text, "x": {"field": "nodes"}}})


def test_texts_of_others_are_texts(shown: Page) -> None:
    for tag in ("dd", "p", "td", "th", "pre", "li"):
        assert any(HOSTILE in text for text in shown.inside(tag)), tag
    assert any(HOSTILE in (each.get("aria-label") or "") for _, each in shown.elements)
    assert any(HOSTILE[:9] in text for text in shown.inside("text")), "in a picture, shortened to its room"


def test_the_first_lines_are_the_verdict_and_failed_checks_come_first(report: dict[str, Any], shown: Page) -> None:
    assert shown.inside("strong") == ["FAIL", "Failed:", "Passed:"]
    assert "1 of 2 checks failed." in shown.inside("p")
    assert "pulumi up" in shown.inside("code")
    passed = {**report, "verdict": "pass", "reasons": [], "checks": report["checks"][:1]}
    first = "1 of 1 check passed. GPU nodes: 0 at first, 1 at most, 0 at the end."
    assert first in Page(page.render(passed)).inside("p")


def test_own_machines_have_a_page_without_pictures(tmp_path: Path) -> None:
    report, output = on_own_machines(tmp_path)
    assert report["verdict"] == "pass"
    assert output.splitlines()[-2:] == ["PASS kubeadm: 2 checks", f"Report: {tmp_path / 'kubeadm' / 'report.html'}"]
    assert sorted(path.name for path in (tmp_path / "kubeadm").iterdir()) == ["report.html", "report.json", "runs"]
    shown = Page((tmp_path / "kubeadm" / "report.html").read_text())
    assert shown.named("svg") == []
    assert {"2 of 2 checks passed.", "kubelet v1.34.4", "cp1 started"} <= {text.strip() for _, text in shown.texts}


def test_a_failed_check_on_own_machines_ends_the_run_and_is_the_only_reason(tmp_path: Path) -> None:
    report, output = on_own_machines(tmp_path, fails=True)
    assert [reason.split(":")[0] for reason in report["reasons"]] == ["second-up"]
    assert [(stage["name"], stage["passed"]) for stage in report["stages"]] == [("start", True), ("rest", False)]
    assert "the rest is done" not in output
    assert Path(report["logs"]).is_dir()


def test_a_report_from_before_there_were_lives_of_nodes_has_a_page(report: dict[str, Any]) -> None:
    older = {key: report[key] for key in report if key not in ("nodes", "events", "changes", "real", "simulated")}
    texts = Page(page.render(older)).inside("text")
    assert "Nodes per pool" in texts
    assert not [text for text in texts if "$" in text]


def test_a_page_that_cannot_be_written_names_the_report(report: dict[str, Any], tmp_path: Path) -> None:
    last = published(tmp_path, {**report, "stages": None}).splitlines()[-1]
    assert last == f"Report: {tmp_path / 'report.json'}"


def test_the_first_picture_is_a_file_of_its_own(report: dict[str, Any], tmp_path: Path) -> None:
    page.write(report, tmp_path)
    texts = {element.text for element in ElementTree.parse(tmp_path / "picture.svg").iter()}
    assert {"Rehearsal of dev: fail, 1 of 2 checks", "t4-1", "idle", "pending", "scenario"} <= texts
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_a_link_in_a_folder_of_reports_is_replaced_not_followed(report: dict[str, Any], tmp_path: Path) -> None:
    """A folder of build/ may come with somebody else's copy of the project."""
    names = ("report.html", "picture.svg", "picture.png")
    for name in names:
        (tmp_path / f"own-{name}").write_text("own")
        (tmp_path / name).symlink_to(tmp_path / f"own-{name}")
    page.write(report, tmp_path)
    assert [(tmp_path / f"own-{name}").read_text() for name in names] == ["own"] * 3
    assert not any((tmp_path / name).is_symlink() for name in names)


def test_the_life_of_a_node_is_starting_used_and_idle(report: dict[str, Any]) -> None:
    _, node = report["nodes"]
    assert node == {
        "name": HOSTILE, "pool": "t4-1", "hourlyUsd": 0.36, "created": 5.0, "ready": 6.0,
        "busy": [[7.0, 11.0], [17.0, 19.0]], "deleted": 20.0,
    }  # fmt: skip
    states = [(row["state"], row["from"], row["until"]) for row in pictures.periods(node, report)]
    used = [("running", 7.0, 11.0), ("idle", 11.0, 17.0), ("running", 17.0, 19.0)]
    assert states == [("provisioning", 5.0, 6.0), ("idle", 6.0, 7.0), *used, ("idle", 19.0, 20.0)]
    idle = {row["second"]: row["value"] for row in pictures.hourly(report) if row["series"] == "idle"}
    assert [idle[at] for at in (0.0, 6.0, 7.0, 11.0, 17.0, 19.0, 20.0)] == [0, 0.36, 0, 0.36, 0, 0.36, 0]


def test_events_are_in_order_and_say_how_pools_grow(report: dict[str, Any]) -> None:
    over = {"seconds": [0, 2, 5, 6, 9, 9.5], "nodes": {"t4-1": [0, 1, 1, 3, 2, 0]}}
    assert pictures.happenings({**report, "overTime": over, "events": [{"at": 3.0, "text": "pods deleted"}]}) == [
        (0.0, "Stage: pulumi up"),
        (2, "t4-1 grows: 0 → 3 nodes, until 6.0 s"),
        (3.0, "pods deleted"),
        (4.0, "Stage: scenario"),
        (9, "t4-1 shrinks: 3 → 0 nodes, until 9.5 s"),
    ]


def test_more_pools_than_colours_share_one(report: dict[str, Any]) -> None:
    names = [f"pool-{number}" for number in range(8)]
    sizes = {"admin": [1, 1], "cpu": [0, 2], **{name: [0, number + 1] for number, name in enumerate(names)}}
    gpus = [{"name": name, "gpu": "nvidia-t4"} for name in names]
    report = report | {
        "overTime": {"nodes": sizes},
        "pools": [{"name": n, "gpu": None} for n in ("admin", "cpu")] + gpus,
    }
    shown = pictures.pools(report, 6)
    assert list(shown) == ["pools without GPUs", *names[3:], "other GPU pools"]
    assert (shown["pools without GPUs"], shown["other GPU pools"]) == ([1, 3], [0, 1 + 2 + 3])


def linear(colour: str) -> list[float]:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def contrast(one: str, other: str) -> float:
    """https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio"""
    weights = (0.2126, 0.7152, 0.0722)
    dark, bright = sorted(sum(map(float.__mul__, weights, linear(colour))) for colour in (one, other))
    return (bright + 0.05) / (dark + 0.05)


def band(palette: Mapping[str, str]) -> str:
    """The shade behind every other stage."""
    both = zip(*(bytes.fromhex(palette[name][1:]) for name in ("frame", "ground")), strict=True)
    return "#" + bytes(round(pictures.BAND * over + (1 - pictures.BAND) * under) for over, under in both).hex()


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_texts_and_areas_stand_out(mode: str) -> None:
    palette = pictures.PALETTES[mode]
    for text, ground in itertools.product(("text", "dim", "link", "pass", "fail"), ("ground", "stripe")):
        assert contrast(palette[text], palette[ground]) >= 4.5, (text, ground)
    for area, ground in itertools.product(
        (*palette["pools"], *(palette[name] for name in pictures.STATES.values())), (palette["ground"], band(palette))
    ):
        assert contrast(area, ground) >= 3, (area, ground)
    assert contrast(palette["dim"], band(palette)) >= 4.5, "a stage's name"
    # Lines of the grid are for the eye that looks for them, in both modes alike.
    assert 1.3 <= contrast(palette["frame"], palette["ground"]) <= 1.6


DEFICIENCIES = {
    "none": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152, 1.053, -0.205), (0.115, 0.786, 0.099), (-0.004, -0.048, 1.052)),
    "deuteranopia": ((0.367, 0.861, -0.228), (0.280, 0.673, 0.047), (-0.012, 0.043, 0.969)),
    "tritanopia": ((1.256, -0.077, -0.179), (-0.078, 0.931, 0.148), (0.005, 0.691, 0.304)),
}
"""Machado, Oliveira and Fernandes 2009, severity 1: https://www.inf.ufrgs.br/~oliveira/pubs_files/CVD_Simulation/"""


def lab(colour: str, deficiency: str) -> tuple[float, float, float]:
    """CIE L*a*b* of a colour as it appears."""
    red, green, blue = (
        min(1.0, max(0.0, sum(a * b for a, b in zip(row, linear(colour), strict=True))))
        for row in DEFICIENCIES[deficiency]
    )
    x = (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.9505
    y = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    z = (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.089
    x, y, z = (part ** (1 / 3) if part > 0.008856 else 7.787 * part + 16 / 116 for part in (x, y, z))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


@pytest.mark.parametrize("deficiency", DEFICIENCIES)
@pytest.mark.parametrize("mode", ["light", "dark"])
def test_people_with_a_colour_vision_deficiency_tell_areas_apart(mode: str, deficiency: str) -> None:
    palette = pictures.PALETTES[mode]
    for group in ([*palette["pools"], palette["base"]], [palette[name] for name in pictures.STATES.values()]):
        for one, other in itertools.combinations(group, 2):
            pairs = zip(lab(one, deficiency), lab(other, deficiency), strict=True)
            distance = sum((a - b) ** 2 for a, b in pairs) ** 0.5
            assert distance >= 15, (one, other)


def test_a_comparison_shows_both(report: dict[str, Any], own_machines: dict[str, Any]) -> None:
    shown = Page(page.render_comparison([report, own_machines]))
    assert {"dev", "kubeadm"} <= set(shown.inside("h2"))
    assert {"fail", "pass", "–", "0 s"} <= set(shown.inside("td"))


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not on PATH (Debian's package chromium)")
@pytest.mark.parametrize("width", [360, 1280])
def test_a_browser_shows_it_without_scrolling_sideways(report: dict[str, Any], tmp_path: Path, width: int) -> None:
    page.write(report, tmp_path)
    text = (tmp_path / "report.html").read_text()
    measured = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)
    script = "<script>parent.document.title = [document.documentElement.scrollWidth <= innerWidth, innerWidth]</script>"
    (tmp_path / "measured.html").write_text(measured.replace("</body>", f"{script}</body>"))
    frame = f'<title></title><iframe src="measured.html" width="{width}" height="900" style="border:0"></iframe>'
    (tmp_path / "frame.html").write_text(frame)
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    options += ["--allow-file-access-from-files", "--enable-logging=stderr", "--virtual-time-budget=2000", "--dump-dom"]
    pages = [(tmp_path / name).as_uri() for name in ("frame.html", "report.html")]
    command = [str(CHROMIUM), *options]
    shown = [subprocess.run([*command, each], capture_output=True, text=True, check=True) for each in pages]
    assert f"<title>true,{width}</title>" in shown[0].stdout
    assert "Content Security Policy" not in shown[1].stderr
