"""Files are whole or not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from chearts_env.whole_files import write_whole, written_beside


def test_file_takes_its_name_when_it_is_whole(tmp_path: Path):
    """Until then the earlier one stands."""
    place = tmp_path / "a.txt"
    write_whole(place, "ein Ärger\n")
    with written_beside(place) as beside:
        beside.write_text("new", "utf-8")
        assert place.read_bytes() == "ein Ärger\n".encode()
    assert place.read_text("utf-8") == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_block_that_fails_leaves_the_earlier_file_and_nothing_else(error, tmp_path: Path):
    """Ctrl-C is no exception to that."""
    place = tmp_path / "a.bin"
    write_whole(place, b"old")

    def write_half() -> None:
        with written_beside(place) as beside:
            beside.write_bytes(b"half of")
            raise error

    with pytest.raises(error):
        write_half()
    assert place.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["a.bin"]


def test_place_that_cannot_be_written_is_an_error(tmp_path: Path):
    """The system's own words, and nothing is made."""
    with pytest.raises(FileNotFoundError):
        write_whole(tmp_path / "nowhere" / "a.txt", "text")
    assert not list(tmp_path.iterdir())
