"""A page to look at recorded hands: `python -m chearts_env.replay FILE -o page.html`.

The page is one file and needs no network. Every position that it shows is written down here by the engine; the page
itself, in `render/page/`, knows no rule of the game.
"""

# ruff: noqa: T201 - printing is the command's job

from __future__ import annotations

import argparse
import hashlib
import html
import json
import re
import sys
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from importlib import resources
from itertools import islice
from pathlib import Path
from typing import Any, Final

from chearts_env.cards import counts_to_text, face_to_text
from chearts_env.compiled import kernel
from chearts_env.engine import play_card, winner_of_trick
from chearts_env.game import Game, action_to_text
from chearts_env.record import read_records
from chearts_env.record_format import HandRecord, RecordError
from chearts_env.table import NOBODY
from chearts_env.whole_files import refuse_to_overwrite, write_whole

#: So many of the decisions that a policy would have made otherwise are listed.
_MOST_DOUBTS: Final = 10


@kernel
def _winner_after(tables: Any, face: int) -> int:
    play_card(tables[0], face)
    return winner_of_trick(tables[0].options, tables[0].public)


def page_of(records: Iterable[HandRecord], title: str = "Cancellation Hearts", first: int = 1, note: str = "") -> str:
    """Return the page that shows some hands.

    `first` is the number of the first of them in its file, `note` a line about them. Raises RecordError for a hand that
    the rules do not allow, with its number, and if there is none.
    """
    shown = list(records)
    if not shown:
        raise RecordError("there is no hand to show")
    hands = []
    for number, record in enumerate(shown, first):
        try:
            hands.append(_hand(record))
        except RecordError as error:
            raise RecordError(f"hand {number}: {error}") from None
    for hand, game in zip(hands, _games(shown), strict=True):
        hand["game"] = game
    parts = resources.files("chearts_env.render") / "page"
    style, script = ((parts / name).read_text("utf-8") for name in ("replay.css", "replay.js"))
    texts = {
        "title": html.escape(title),
        "note": html.escape(note),
        "style": style,
        "style_hash": _hash(style),
        "script": script,
        "script_hash": _hash(script),
        # "<" could end the script that the data stand in, or hide its end.
        "data": json.dumps({"first": first, "hands": hands}, separators=(",", ":")).replace("<", "\\u003c"),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda mark: texts[mark[1]], (parts / "replay.html").read_text("utf-8"))


def _hash(text: str) -> str:
    """Return what a content security policy calls a text that stands in the page, so that nothing else is run."""
    return f"sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _games(records: Sequence[HandRecord]) -> list[int]:
    """Return the number of each hand's game: a hand goes on with the one that its scores and its number follow."""
    games: list[int] = []
    awaited: dict[Any, int] = {}
    for number, record in enumerate(records):
        game = repr((record.rules, record.seed, record.players))
        games.append(awaited.pop((game, record.hand_number, record.scores), number))
        if record.episode == "game":
            scores = tuple(map(sum, zip(record.scores, record.score_changes, strict=True)))
            awaited[game, record.hand_number + 1, scores] = games[-1]
    return games


def _hand(record: HandRecord) -> dict[str, Any]:
    """Return all that the page shows of a hand."""
    # As a single hand: the table stays at its end, instead of being dealt the next.
    alone = record.alone()
    positions: list[dict[str, Any]] = []
    tricks: list[dict[str, Any]] = []
    trick: list[tuple[int, int]] = []
    ended: dict[str, Any] = {}
    game: Game | None = None
    for game, number, action in alone.replay():
        values = record.values[number] if record.values else None
        positions.append(_position(game, values, action) | ended)
        ended = {}
        if game.phase == "play":
            trick.append(record.moves[number])
            if len(trick) == game.num_players:
                ended = _end_of_trick(game, trick, tricks, number + 1)
                trick = []
    assert game is not None, "a hand has decisions"
    positions.append(_position(game, None, None) | ended)
    for each in tricks:
        each["points"] = sum(positions[each["to"]]["points"]) - sum(positions[each["from"]]["points"])
    return {
        "hand_number": record.hand_number,
        "dealer": record.dealer,
        "kitty": record.kitty,
        "players": record.players,
        "scores": record.scores,
        "score_changes": record.score_changes,
        "positions": positions,
        "tricks": tricks,
        "doubts": _doubts(record),
    }


def _position(game: Game, values: Any, action: int | None) -> dict[str, Any]:
    n = game.num_players
    return {
        "phase": game.phase,
        "mover": game.mover,
        "leader": game.leader,
        "hands": [counts_to_text(game.hand(seat)) for seat in range(n)],
        "trick": [[seat, face_to_text(face)] for seat, face in game.trick],
        "pile": counts_to_text(game.pile),
        "points": game.points_seen.tolist(),
        "kitty_taker": game.kitty_taker,
        "kitty_seen": [seat for seat in range(n) if game._private["kitty_cards"][seat][0] > 0],
        "legal": [action_to_text(each) for each in game.legal_actions()],
        "action": None if action is None else action_to_text(action),
        "values": None if values is None else {action_to_text(each): value for each, value in values.items()},
    }


def _end_of_trick(game: Game, trick: list[tuple[int, int]], tricks: list[dict[str, Any]], place: int) -> dict[str, Any]:
    """Note a trick that its last card completes, not yet played in `game`; return how the next position shows it."""
    winner = int(_winner_after(game.copy()._tables, trick[-1][1]))
    cards = [face_to_text(face) for _, face in trick]
    tricks.append(
        {
            "from": place - len(trick) + 1,
            "to": place,
            "leader": trick[0][0],
            "cards": cards,
            "winner": None if winner == NOBODY else winner,
        }
    )
    outcome = "The trick is set aside." if winner == NOBODY else f"P{winner} takes the trick."
    return {"trick": [[seat, card] for (seat, _), card in zip(trick, cards, strict=True)], "outcome": outcome}


def _doubts(record: HandRecord) -> list[dict[str, Any]]:
    """Return the decisions at which a policy held another action to be worth most more, the greatest gaps first."""
    doubts: list[dict[str, Any]] = []
    for place, values in enumerate(record.values or ()):
        seat, action = record.moves[place]
        if values and action in values:
            best = max(values, key=lambda each: values[each])
            gap = values[best] - values[action]
            if gap > 0:
                names = {"action": action_to_text(action), "best": action_to_text(best)}
                doubts.append({"place": place, "seat": seat, "gap": gap} | names)
    return sorted(doubts, key=lambda doubt: doubt["gap"], reverse=True)[:_MOST_DOUBTS]


def _what_follows(hands: Iterator[HandRecord], last: int) -> str:
    """Say what the file has after its hand number `last`: the record of a game that was broken off ends there."""
    try:
        more = next(hands, None)
    except RecordError as error:
        return f"; what follows cannot be read: {error}"
    return f"; more with --first {last + 1}" if more else ", its last"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the page; return 0, 1 for a file that is damaged, 2 for one that cannot be read."""
    parser = argparse.ArgumentParser(prog="python -m chearts_env.replay", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("file", type=Path, help="a record")
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="PAGE.html")
    parser.add_argument("--first", type=int, default=1, metavar="N", help="the first hand of the file to show, from 1")
    parser.add_argument("--count", type=int, default=50, metavar="N", help="how many hands to show at most")
    asked = parser.parse_args(arguments)
    if asked.first < 1 or asked.count < 1:
        print(
            f"replay: --first {asked.first} --count {asked.count} is not allowed: both must be at least 1",
            file=sys.stderr,
        )
        return 2
    try:
        refuse_to_overwrite(asked.file, asked.out)
        hands = islice(read_records(asked.file), asked.first - 1, None)
        shown = list(islice(hands, asked.count))
        last = asked.first - 1 + len(shown)
        note = f"Shown: hands {asked.first} to {last} of {asked.file.name}{_what_follows(hands, last)}"
        page = page_of(shown, f"Cancellation Hearts: {asked.file.name}", asked.first, note)
        write_whole(asked.out, page)
    except RecordError as error:
        print(f"replay: {error}", file=sys.stderr)
        return 1
    except (OSError, ImportError) as error:
        print(f"replay: {error}", file=sys.stderr)
        return 2
    print(asked.out)
    print(note)
    return 0


if __name__ == "__main__":
    sys.exit(main())
