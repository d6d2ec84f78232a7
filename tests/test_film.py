"""Films: a frame for each position of a recorded hand, as one seat sees it or with all cards open."""

from __future__ import annotations

import numpy as np
import pytest

from chearts_env import Rules
from chearts_env.film import main, save_film
from chearts_env.record import RecordWriter
from tests.test_record import played

pytestmark = pytest.mark.slow
pytest.importorskip("PIL", reason="Pillow, of the extra `render`, is not installed")


def test_film_has_a_frame_for_every_position(tmp_path):
    """And one for the end."""
    from PIL import Image

    (record,) = played(Rules(9, first_dealer=0), 1)
    film = tmp_path / "hand.gif"
    assert save_film(record, film, view=3) == len(record.moves) + 1
    with Image.open(film) as image:
        assert getattr(image, "n_frames", 1) > 0.9 * len(record.moves)  # Pillow joins frames that are alike
        assert image.size == (900, 600)
    assert not list(tmp_path.glob("*.unfinished"))


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


def test_film_of_a_seat_does_not_show_what_others_hold(tmp_path):
    """Two hands alike for that seat up to the first card: the same first frame."""
    from PIL import Image

    (record,) = played(Rules(6), 1)
    frames = []
    for view in (0, None):
        save_film(record, tmp_path / "film.gif", view=view)
        with Image.open(tmp_path / "film.gif") as image:
            frames.append(np.asarray(image.convert("RGB")))
    assert (frames[0] != frames[1]).any()


def test_name_that_is_no_gifs_is_refused(tmp_path):
    """Before anything is drawn."""
    (record,) = played(Rules(6), 1)
    with pytest.raises(ValueError, match=r"hand\.mp4 is not allowed: a film is a GIF"):
        save_film(record, tmp_path / "hand.mp4")
    assert not list(tmp_path.iterdir())
