"""The writer of records: what becomes of its file and of others of its name, however it ends; its memory."""

from __future__ import annotations

import resource
import tracemalloc

import pytest

from chearts_env import Rules
from chearts_env.record import RecordError, RecordWriter, read_records, verify
from tests.test_record import played, written


def test_writer_that_fails_leaves_the_old_file_whole(tmp_path):
    """What there is lies beside it, and reads as cut."""
    path = written(tmp_path / "hands.jsonl.gz", played(Rules(6), 1))
    before = path.read_bytes()

    def fail() -> None:
        with RecordWriter(path) as writer:
            writer.write(played(Rules(6), 2)[0])
            raise KeyError("on the way")

    with pytest.raises(KeyError):
        fail()
    assert path.read_bytes() == before
    with pytest.raises(RecordError, match="the file is cut: no last line follows its 1 hands"):
        verify(tmp_path / "hands.jsonl.gz.unfinished")


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
def test_hands_that_another_run_left_unfinished_are_not_destroyed(suffix, tmp_path):
    """The next writer is refused, and they can still be read; once they are away, it writes."""
    if suffix == ".zst":
        pytest.importorskip("zstandard", reason="zstandard, of the extra `record`, is not installed")
    path, left = tmp_path / f"hands.jsonl{suffix}", tmp_path / f"hands.jsonl{suffix}.unfinished"
    hands = played(Rules(6, max_hands=2), 1, "game")

    def break_off() -> None:
        with RecordWriter(path) as writer:
            writer.write(hands[0])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        break_off()
    before = left.read_bytes()
    with pytest.raises(FileExistsError, match=r"move or delete them: .*hands\.jsonl.*\.unfinished"):
        RecordWriter(path)
    assert left.read_bytes() == before
    reader = read_records(left)
    assert next(reader) == hands[0]
    with pytest.raises(RecordError, match="cut"):
        next(reader)
    left.unlink()
    assert verify(written(path, hands)) == 2


def test_writer_that_is_discarded_leaves_the_old_file_whole(tmp_path):
    """And its block ends without another word."""
    path = written(tmp_path / "hands.jsonl", played(Rules(6), 1))
    with RecordWriter(path) as writer:
        writer.write(played(Rules(6), 2)[0])
        writer.discard()
    assert verify(path) == 1
    assert list(tmp_path.iterdir()) == [path]


def test_full_disk_is_told_with_the_name_of_the_file(tmp_path):
    """As the system tells it; the file of before stays."""
    path = written(tmp_path / "hands.jsonl", played(Rules(6), 1))
    hands, (soft, hard) = played(Rules(6, max_hands=9), 1, "game"), resource.getrlimit(resource.RLIMIT_FSIZE)

    def write_too_much() -> None:
        with RecordWriter(path) as writer:
            for _ in range(20):
                for hand in hands:
                    writer.write(hand)

    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
    try:
        with pytest.raises(OSError, match=r"File too large: '.*hands\.jsonl'"):
            write_too_much()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert verify(path) == 1


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
def test_hands_that_were_flushed_can_be_read_whatever_becomes_of_the_writer(suffix, tmp_path):
    """As the file lies there, the writer still open; its end is missing, and that is told."""
    if suffix == ".zst":
        pytest.importorskip("zstandard", reason="zstandard, of the extra `record`, is not installed")
    records = played(Rules(6, max_hands=2), 1, "game")
    writer = RecordWriter(tmp_path / f"hands.jsonl{suffix}")
    for record in records:
        writer.write(record)
    writer.flush()
    left = tmp_path / f"left.jsonl{suffix}"
    left.write_bytes((tmp_path / f"hands.jsonl{suffix}.unfinished").read_bytes())
    reader = read_records(left)
    assert [next(reader) for _ in records] == records
    with pytest.raises(RecordError, match="cut"):
        next(reader)
    writer.leave_unfinished()
    assert [path.name for path in tmp_path.glob("hands*")] == [f"hands.jsonl{suffix}.unfinished"]


def test_files_are_written_and_read_as_a_stream(tmp_path):
    """Eighty times the hands take no more memory, neither to write nor to read."""
    (hand,) = played(Rules(6), 1)
    peaks = []
    for count in (50, 4000):
        tracemalloc.start()
        path = written(tmp_path / f"{count}.jsonl.gz", (hand for _ in range(count)))
        assert sum(1 for _ in read_records(path)) == count
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 1_000_000  # the lines alone are 5 million characters
