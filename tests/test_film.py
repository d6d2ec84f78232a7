"""Films: a frame for each position of a recorded hand, as one seat sees it or with all cards open."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from chearts_env import Game, Rules
from chearts_env.film import main, save_film
from chearts_env.observation import Knowledge, decode
from chearts_env.record import HandRecord, RecordWriter
from chearts_env.recording import GameRecorder
from chearts_env.render.everything import everything_of
from chearts_env.render.picture import table_as_picture
from tests.blocks import ALIKE, greatest_difference
from tests.test_record import played

pytestmark = pytest.mark.slow
pytest.importorskip("PIL", reason="Pillow, of the extra `render`, is not installed")
Picture = npt.NDArray[np.uint8]


@pytest.fixture(scope="module")
def filmed(tmp_path_factory):
    """A hand, another that seat 3 cannot tell from it at the deal, and films: seat 3's of both, an open one."""
    (record,) = played(Rules(9, first_dealer=0, pass_cycle=(0,)), 1)
    game, _, _ = next(record.replay())
    world = game.redeal(3, np.random.default_rng(1))
    hands = [world.hand(seat) for seat in range(9)]
    again = Game.from_hands(record.rules, hands, world.kitty, world.dealer, world.hand_number, episode="hand")
    others: list[HandRecord] = []
    recorder, rng = GameRecorder(others.append), random.Random(1)
    while not again.is_over:
        recorder.step(again, rng.choice(again.legal_actions()))
    folder = tmp_path_factory.mktemp("films")
    assert save_film(record, folder / "seat.gif", view=3) == len(record.moves) + 1
    save_film(record, folder / "open.gif")
    save_film(others[0], folder / "other.gif", view=3)
    assert not list(folder.glob("*.unfinished"))
    return record, folder


def first_frame(path: Path) -> Picture:
    """The frame that a film begins with, (600, 900, 3)."""
    from PIL import Image

    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"), np.uint8)


def as_frame(picture: Picture) -> Picture:
    """A picture as a film keeps it: smaller, of 128 colours."""
    from PIL import Image

    small = Image.fromarray(picture).resize((900, 600), Image.Resampling.LANCZOS)
    return np.asarray(small.quantize(128).convert("RGB"), np.uint8)


def test_film_has_a_frame_for_every_position(filmed):
    """And one for the end."""
    from PIL import Image

    record, folder = filmed
    with Image.open(folder / "seat.gif") as image:
        assert getattr(image, "n_frames", 1) > 0.9 * len(record.moves)  # Pillow joins frames that are alike
        assert image.size == (900, 600)


@pytest.mark.parametrize("view", [3, None])
def test_film_begins_with_the_picture_of_the_deal(filmed, view):
    """In every block; the picture after one decision, or with one wrong card, is another."""
    record, folder = filmed
    game, _, action = next(record.replay())
    seat = record.moves[0][0] if view is None else view

    def look() -> tuple[Knowledge, Any]:
        return everything_of(game, seat) if view is None else (decode(game.observation(seat)), None)

    knows, hands = look()
    frame = first_frame(folder / ("open.gif" if view is None else "seat.gif"))
    assert greatest_difference(frame, as_frame(table_as_picture(knows, seat, hands)), 12) < ALIKE
    wrong = knows.hand.copy()
    face = int(np.flatnonzero(wrong)[0])
    wrong[face] -= 1
    wrong[face + 1] += 1
    wrong_card = table_as_picture(replace(knows, hand=wrong), seat, hands)
    assert greatest_difference(frame, as_frame(wrong_card), 12) > ALIKE
    game.step(action)
    knows, hands = look()
    assert greatest_difference(frame, as_frame(table_as_picture(knows, seat, hands)), 12) > ALIKE


def test_film_of_a_seat_does_not_show_what_others_hold(filmed):
    """The same first frame of two deals that the seat cannot tell from each other."""
    _, folder = filmed
    seat, other, opened = (first_frame(folder / f"{name}.gif") for name in ("seat", "other", "open"))
    assert (seat == other).all()
    assert greatest_difference(seat, opened, 12) > ALIKE


def test_command_films_one_hand_of_a_file(tmp_path, capsys):
    """What cannot be is said, and no file is left."""
    file, out = tmp_path / "hands.jsonl", tmp_path / "hand.gif"
    with RecordWriter(file) as writer:
        for record in played(Rules(11, max_hands=1), 1, "game"):
            writer.write(record)
    assert main([str(file), "-o", str(out), "--hand", "7"]) == 1
    assert "has no hand 7" in capsys.readouterr().err
    assert main([str(file), "-o", str(out), "--view", "11"]) == 1
    assert "it must be None or a seat 0 … 10" in capsys.readouterr().err
    assert main([str(file), "-o", str(out), "--view", "everyone"]) == 1
    assert main([str(tmp_path / "none"), "-o", str(out)]) == 2
    assert not out.exists()
    assert main([str(file), "-o", str(out), "--fps", "4"]) == 0
    assert "frames" in capsys.readouterr().out
    assert out.stat().st_size > 100_000


def test_name_that_is_no_gifs_is_refused(tmp_path):
    """Before anything is drawn."""
    (record,) = played(Rules(6), 1)
    with pytest.raises(ValueError, match=r"hand\.mp4 is not allowed: a film is a GIF"):
        save_film(record, tmp_path / "hand.mp4")
    assert not list(tmp_path.iterdir())
