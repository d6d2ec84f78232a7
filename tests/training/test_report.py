"""The page of a match: whole, self-contained, with every number in it, and pictures that open."""

from __future__ import annotations

import io
import json
import re
from functools import cache
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from baselines.low_card import LowCard
from baselines.random_legal import RandomLegal
from chearts_env import Rules
from chearts_env.arena import play_deals
from training import report
from training.losses import SHARES, LossWatch, losses_of_match
from training.page import interval, per_thousand, percent, points, signed
from training.plots import STRETCHES
from training.report_tables import shares_by_stretch

CHALLENGER = "runs/<my> & own"
COMMAND = ["python", "-m", "training.evaluate", "--challenger", CHALLENGER, "--report", "here"]
WORTHLESS = {"script", "link", "img", "iframe", "object", "embed", "base", "form"}  # nothing to load, nothing to run


@cache
def played(size: int) -> tuple[dict[str, Any], report.Detail]:
    """A row and its detail."""
    parts, losses = [], []
    for deals in (range(12), range(12, 30)):
        watch = LossWatch()
        parts.append(play_deals(LowCard(), RandomLegal(), Rules(size), deals, 3, watch=watch))
        losses.append(losses_of_match(watch, parts[-1]))
    watch = LossWatch()
    match = play_deals(LowCard(), RandomLegal(), Rules(size), range(30), 3, watch=watch)
    row = {
        "challenger": CHALLENGER,
        "field": "random_legal",
        "rules": "card_page",
        "seats": size,
        "deals": match.num_deals,
        "hands": match.num_hands,
        "swapped": match.swapped,
        "advantage": match.advantage,
        "interval95": list(match.interval95),
        "points_challenger": match.points_challenger,
        "points_field": match.points_field,
        "share_won": match.share_won,
        "share_won95": list(match.share_won95),
        "moons_made": match.moons_made,
        "moons_made95": list(match.moons_made95),
        "moons_suffered": match.moons_suffered,
        "moons_suffered95": list(match.moons_suffered95),
        "microseconds_per_decision": 1.2345678,
        "seed": 987654321,
        "versions": {"chearts_env": "0.1.0", "torch": "9.8.7"},
    }
    return row, report.detail_of(match, losses)


def written(folder, sizes: tuple[int, ...] = (6, 11)) -> str:
    """Write a report; return the page."""
    rows, details = zip(*(played(size) for size in sizes), strict=True)
    return report.write(folder, rows, details, COMMAND).read_text("utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A report of 6 and 11 seats."""
    place = tmp_path_factory.mktemp("report")
    written(place)
    return place


@pytest.fixture(scope="module")
def page(folder) -> str:
    """Its page."""
    return (folder / report.PAGE).read_text("utf-8")


class Reader(HTMLParser):
    """What a page is made of."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta",):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data

    def all(self, *names: str) -> list[dict[str, str | None]]:
        """The attributes of all tags of these names."""
        return [attributes for tag, attributes in self.tags if tag in names]


def numbers_in(value: Any) -> list[float]:
    """All numbers of a value of the JSON."""
    if isinstance(value, dict):
        return [each for part in value.values() for each in numbers_in(part)]
    if isinstance(value, list):
        return [each for part in value for each in numbers_in(part)]
    return [value] if isinstance(value, int | float) and not isinstance(value, bool) else []


def test_page_holds_every_number_of_the_rows(page):
    """In the tables as people read them, and once in full."""
    text = unescape(page)
    for size in (6, 11):
        row, _ = played(size)
        assert len(numbers_in(row)) > 15
        for number in numbers_in(row):
            assert json.dumps(number) in text
        shown = [signed(row["advantage"]), interval(row["interval95"]), points(row["points_challenger"])]
        shown += [points(row["points_field"]), percent(row["share_won"]), per_thousand(row["moons_suffered"])]
        for cell in shown:
            assert f"<td>{cell}</td>" in page
    for told in (CHALLENGER, "random_legal", "card_page", "30 with 6 seats", "987654321", "torch 9.8.7", "cores"):
        assert told in Reader(page).text
    assert "--challenger 'runs/<my> & own' --report here" in Reader(page).text
    assert "<my>" not in page  # names are the user's, and no HTML


def test_page_shows_where_every_point_came_from(page):
    """Parts, tricks, suits: each table's last line is the sum, and the sum is what the match says."""
    row, detail = played(11)
    parts = [losses.parts() for losses in detail.both]
    for name in parts[0]:
        cells = "".join(f"<td>{points(each[name])}</td>" for each in parts)
        assert f'<th scope="row">{name}</th>{cells}' in page
    sums = f"<td>{points(row['points_challenger'])}</td><td>{points(row['points_field'])}</td>"
    assert f'<th scope="row">points per hand</th>{sums}<td>{signed(row["advantage"])}</td>' in page
    for losses in detail.both:
        for trick in range(9):
            for share in range(len(SHARES)):
                assert f"<td>{points(losses.by_trick()[share, trick])}</td>" in page


def test_page_needs_no_network_and_runs_nothing(page):
    """One file: no address anywhere, no script, no picture to load; links lead to places on the page itself."""
    reader = Reader(page)
    assert not re.search(r"https?:|//\w|url\((?!#)|@import", page)
    assert not [tag for tag, _ in reader.tags if tag in WORTHLESS]
    ids = [attributes["id"] for _, attributes in reader.tags if attributes.get("id")]
    assert len(ids) == len(set(ids))
    targets = [attributes["href"] for _, attributes in reader.tags if "href" in attributes]
    targets += re.findall(r"url\((#[^)]+)\)", page)
    assert len(targets) > 20
    assert {str(target).removeprefix("#") for target in targets} <= set(ids)


def test_page_is_told_to_those_who_do_not_see_it(page):
    """Tables with captions and headings, pictures with a text, tables that scroll reachable by keyboard."""
    reader = Reader(page)
    assert not [tag for tag in reader.open if tag not in ("meta",)]
    assert len(reader.all("table")) == len(reader.all("caption")) == 12
    assert all(attributes.get("scope") in ("row", "col") for attributes in reader.all("th"))
    captions = {attributes["id"] for attributes in reader.all("caption")}
    scrolling = [attributes for attributes in reader.all("div") if attributes.get("class") == "scroll"]
    assert {attributes["aria-labelledby"] for attributes in scrolling} == captions
    assert all(attributes["tabindex"] == "0" for attributes in scrolling)
    pictures = reader.all("svg")
    assert len(pictures) == 1 + 2 * 3
    assert all(each["role"] == "img" and each["aria-label"] for each in pictures)
    assert reader.all("html") == [{"lang": "en"}]
    assert "light dark" in "".join(reader.text)
    assert 'name="viewport"' in page


def test_pictures_are_whole_png_files_and_the_same_every_time(folder, page, tmp_path):
    """One of the intervals, and three for each size; the page differs in its date at most."""
    pages = [re.sub(r"<dt>date</dt><dd>[^<]+", "", each) for each in (written(tmp_path), page)]
    assert pages[0] == pages[1]
    names = sorted(path.name for path in folder.glob("*.png"))
    kinds = ("parts", "points", "tricks")
    assert names == ["advantage.png", *(f"{kind}-{size}-seats.png" for kind in kinds for size in ("1-6", "2-11"))]
    for name in names:
        content = (folder / name).read_bytes()
        with Image.open(io.BytesIO(content)) as picture:
            picture.load()
            assert picture.width == 800
            assert len(np.unique(np.asarray(picture.convert("L")))) > 2
        assert content == (tmp_path / name).read_bytes()


def test_other_files_of_the_folder_stay_and_a_second_report_replaces_the_first(tmp_path):
    """And nothing half-written is left."""
    (tmp_path / "mine.txt").write_text("mine", "utf-8")
    first = written(tmp_path, (11,))
    second = written(tmp_path, (6,))
    assert first != second == (tmp_path / report.PAGE).read_text("utf-8")
    assert (tmp_path / "mine.txt").read_text("utf-8") == "mine"
    assert not list(tmp_path.glob("*.unfinished"))


def test_page_is_the_old_one_when_writing_the_new_one_fails(tmp_path, monkeypatch):
    """It is written beside and renamed."""
    first = written(tmp_path, (11,))

    write_text, write_bytes = Path.write_text, Path.write_bytes

    def full(write):
        def write_half(path, content, *more):
            if report.PAGE in path.name and content:
                write(path, content[: len(content) // 2], *more)
                raise OSError(28, "No space left on device")
            return write(path, content, *more)

        return write_half

    monkeypatch.setattr("pathlib.Path.write_text", full(write_text))
    monkeypatch.setattr("pathlib.Path.write_bytes", full(write_bytes))
    with pytest.raises(OSError, match="No space left"):
        written(tmp_path, (6,))
    assert (tmp_path / report.PAGE).read_text("utf-8") == first


def test_folder_that_cannot_be_written_is_refused_in_one_line(tmp_path):
    """A file is no folder; told before anything is played, too."""
    (tmp_path / "taken").write_text("a file", "utf-8")
    for call in (report.ready, written):
        with pytest.raises(ValueError, match=r"no report can be written to .*taken: ") as caught:
            call(tmp_path / "taken")
        assert "\n" not in str(caught.value)


def test_swapped_match_says_who_sits_alone(tmp_path):
    """One of the field among challengers."""
    row, detail = played(6)
    page = report.write(tmp_path, [row | {"swapped": True}], [detail], COMMAND).read_text("utf-8")
    assert f"random_legal alone among {CHALLENGER}" in unescape(page)
    assert "once by challengers alone and once with the field's policy in each seat" in unescape(page)


@pytest.mark.parametrize(
    ("interval95", "verdict"),
    [([0.1, 0.3], "better</strong> than"), ([-0.3, -0.1], "worse</strong> than"), ([-0.1, 0.2], "show no difference")],
)
def test_verdict_follows_from_the_interval(interval95, verdict):
    """An interval that covers zero shows nothing."""
    verdicts = ("better</strong> than", "worse</strong> than", "show no difference")
    said = report.verdict([played(6)[0] | {"interval95": interval95}])
    assert [words for words in verdicts if words in said] == [verdict]


def test_every_hand_lies_in_one_stretch_of_points():
    """From moons subtracted to the highest `moon_points`."""
    hands = np.array([-1_000_000, -26, -1, 0, 1, 2, 3, 5, 6, 12, 13, 15, 16, 25, 26, 27, 52, 1_000_000])
    shares = shares_by_stretch(hands) * len(hands)
    assert shares.tolist() == [3, 1, 2, 2, 2, 2, 2, 1, 3]
    assert len(STRETCHES) == len(shares)


def test_numbers_have_a_true_minus_sign_and_no_minus_zero():
    """As people read them."""
    assert [signed(-0.001), signed(-1.239), points(-0.004), points(2)] == [
        "+0.00",
        "\N{MINUS SIGN}1.24",
        "0.00",
        "2.00",
    ]
