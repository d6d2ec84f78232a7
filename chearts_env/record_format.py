"""One hand as one line of JSON: what a record holds, how it is written, and how what is read is checked.

`record_schema.py` describes a line for other languages, `record.py` makes files of lines. Holds no rule of the game:
whether a hand could have been played like that, `HandRecord.replay` asks the engine.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final

import numpy as np

from chearts_env.cards import counts_to_text, face_to_text, faces_from_text
from chearts_env.compiled import kernel
from chearts_env.deal import begin_episode, checked_seed, deal_next_hand
from chearts_env.game import EPISODES, Episode, Game, IllegalActionError, action_to_text
from chearts_env.rules import CARDS_PASSED, Rules
from chearts_env.table import ADD_MOON, NUM_ACTIONS, SUBTRACT_MOON, new_tables

#: Raise it when a key is added, left out or given another meaning; lines of another version are refused.
FORMAT_VERSION: Final = 1
FORMAT: Final = "chearts-record"

_MOONS: Final = {SUBTRACT_MOON: "subtract", ADD_MOON: "add"}
_ACTION_OF_MOON: Final = {word: action for action, word in _MOONS.items()}
_ACTION_OF_TEXT: Final = {action_to_text(action): action for action in range(NUM_ACTIONS)}
#: Later hands of a game are not dealt again from its seed: that would take seconds.
_MOST_HANDS: Final = 1_000_000
_CHECK: Final = ',"check":"'
_CHECK_LENGTH: Final = len(_CHECK) + 8 + len('"}')


class RecordError(ValueError):
    """A record that is damaged, of another version, or that the engine disagrees with."""


@kernel
def _deal_hand(tables: Any, seed: np.uint64, hand_number: int) -> None:
    """Deal a hand of a game as its seed has it: what is played draws nothing."""
    begin_episode(tables[0], seed)
    for _ in range(hand_number):
        deal_next_hand(tables[0])


@dataclass(frozen=True)
class HandRecord:
    """One hand, from the deal to the scores. Seats are absolute; `n` is the number of players."""

    rules: Rules
    episode: Episode  # "hand", or "game": one hand of a game
    seed: int | None  # of the episode, None if it began from a deal given by hand
    hand_number: int
    dealer: int
    hands: tuple[str, ...]  # (n,) as dealt, as text
    kitty: str
    moves: tuple[tuple[int, int], ...]  # (seat, action) of every decision, in order: passes, plays, a moon's settlement
    scores: tuple[int, ...]  # (n,) points, before this hand
    score_changes: tuple[int, ...]  # (n,) points
    players: tuple[str, ...] | None = None  # (n,) who sat there
    #: Of each decision, what a policy held actions to be worth, points.
    values: tuple[Mapping[int, float] | None, ...] | None = None

    def alone(self) -> HandRecord:
        """Return the record as one of a single hand: played again, the table stays at its end."""
        return replace(self, episode="hand", seed=None)

    def replay(self) -> Iterator[tuple[Game, int, int]]:
        """Yield the game, which goes on, before each decision, with the decision's number and action.

        Raises RecordError, naming the decision, as soon as the engine disagrees; at the end the scores must agree.
        """
        game = self._dealt()
        for number, (seat, action) in enumerate(self.moves):
            if game.is_over or len(game.score_sheet):
                raise RecordError(f"decision {number}: the hand is over after {number} decisions")
            if game.mover != seat:
                raise RecordError(f"decision {number}: seat {seat} acts, and it is seat {game.mover}'s turn")
            values = self.values[number] if self.values else None
            wrong = set(values) - set(game.legal_actions()) if values else ()
            if wrong:
                raise RecordError(f"decision {number}: {action_to_text(min(wrong))} has a value and is not allowed")
            yield game, number, action
            try:
                game.step(action)
            except IllegalActionError as error:
                raise RecordError(f"decision {number}: {error}") from None
        sheet = game.score_sheet
        if not len(sheet):
            raise RecordError(f"decision {len(self.moves)} is missing: seat {game.mover} has to act")
        if tuple(sheet[-1].tolist()) != self.score_changes:
            raise RecordError(f"scores change by {list(self.score_changes)}, and by the rules by {sheet[-1].tolist()}")

    def _dealt(self) -> Game:
        n = self.rules.num_players
        for name, given, needed in (
            ("players", self.players, n), ("values", self.values, len(self.moves)), ("scores", self.scores, n),
        ):  # fmt: skip
            if given is not None and len(given) != needed:
                raise RecordError(f"{name} has {len(given)} entries; {needed} are needed")
        try:
            game = Game.from_hands(
                self.rules, self.hands, self.kitty, self.dealer, self.hand_number, self.scores, episode=self.episode
            )
            if self.seed is None:
                return game
            seeded = new_tables([self.rules], self.episode == "hand")
            later = self.hand_number if self.episode == "game" else 0
            if later > _MOST_HANDS:
                raise ValueError(f"hand_number {later}: no game with a seed is followed so far")
            _deal_hand(seeded, np.uint64(checked_seed(self.seed)), later)
        except (ValueError, TypeError) as error:
            raise RecordError(f"the deal cannot be: {error}") from None
        whose = f"hand {later} of seed {self.seed}" if later else f"seed {self.seed}"
        public = seeded[0]["public"]
        for seat in range(n):
            hand = seeded[0]["private"][seat]["hand"]
            if (hand != game.hand(seat)).any():
                raise RecordError(f"{whose} deals seat {seat} {counts_to_text(hand)}")
        if (public["dealer"], public["board"]["pass_offset"]) != (game.dealer, game.pass_offset):
            raise RecordError(f"{whose} has dealer {public['dealer']} and passes to {public['board']['pass_offset']}")
        return game

    def to_line(self) -> str:
        """Return the record as a line of JSON, its end included."""
        n, passes, tricks = self.rules.num_players, self._num_passes(), []
        plays = self.moves[passes : passes + n * self.rules.hand_size]
        for start in range(0, len(plays), n):
            trick = plays[start : start + n]
            tricks.append([trick[0][0], " ".join(face_to_text(face) for _, face in trick)])
        given = self.moves[:passes]
        moon = self.moves[passes + len(plays) :]
        content = {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "rules": self.rules.to_dict(),
            "episode": self.episode,
            "seed": self.seed,
            "hand_number": self.hand_number,
            "dealer": self.dealer,
            "hands": list(self.hands),
            "kitty": self.kitty,
            "passes": [
                [given[start][0], " ".join(face_to_text(face) for _, face in given[start : start + CARDS_PASSED])]
                for start in range(0, passes, CARDS_PASSED)
            ],
            "tricks": tricks,
            "moon": [moon[0][0], _MOONS[moon[0][1]]] if moon else None,
            "scores": list(self.scores),
            "score_changes": list(self.score_changes),
            "players": list(self.players) if self.players else None,
            "values": [_named(each) for each in self.values] if self.values else None,
        }
        return with_check(json.dumps(content, separators=(",", ":"), allow_nan=False))

    def _num_passes(self) -> int:
        offset = self.rules.pass_cycle[self.hand_number % len(self.rules.pass_cycle)]
        return CARDS_PASSED * self.rules.num_players if offset else 0

    @classmethod
    def from_line(cls, line: str) -> HandRecord:
        """Read a line; raises RecordError if it is damaged, altered or of another version."""
        content = checked_content(line)
        try:
            rules = _rules(json.dumps(content["rules"]))
            n = rules.num_players
            passes = [_moves_of(seat, text, 0, n) for seat, text in content["passes"]]
            tricks = [_moves_of(seat, text, 1, n) for seat, text in content["tricks"]]
            moon = content["moon"]
            settled = [[(moon[0], _ACTION_OF_MOON[moon[1]])]] if moon else []
            values = content["values"]
            return cls(
                rules, _one_of(content["episode"]), content["seed"], content["hand_number"], content["dealer"],
                tuple(content["hands"]), content["kitty"],
                tuple(move for moves in [*passes, *tricks, *settled] for move in moves),
                tuple(content["scores"]), tuple(content["score_changes"]),
                tuple(content["players"]) if content["players"] else None,
                tuple(_numbered(each) for each in values) if values else None,
            )  # fmt: skip
        except (KeyError, TypeError, IndexError, ValueError, AttributeError, OverflowError) as error:
            raise RecordError(f"a key is missing or wrong: {error!r}") from None


@lru_cache(maxsize=64)
def _rules(text: str) -> Rules:
    """Return the rules that a text of JSON holds: checking them takes longer than all else of a line."""
    return Rules.from_dict(json.loads(text))


def _one_of(episode: Any) -> Episode:
    if episode not in EPISODES:
        raise ValueError(f"episode {episode!r}")
    return episode  # type: ignore[no-any-return]


def _moves_of(seat: int, text: str, step: int, n: int) -> list[tuple[int, int]]:
    """Return cards as moves: all of one seat, or of seats clockwise from it."""
    return [((seat + step * place) % n, face) for place, face in enumerate(faces_from_text(text))]


def _named(values: Mapping[int, float] | None) -> dict[str, float] | None:
    return None if values is None else {action_to_text(action): float(value) for action, value in values.items()}


def _numbered(values: Mapping[str, float] | None) -> dict[int, float] | None:
    return None if values is None else {_ACTION_OF_TEXT[name]: float(value) for name, value in values.items()}


def with_check(body: str) -> str:
    """Return an object of JSON as a line that ends in the check sum of all before it."""
    return f'{body[:-1]}{_CHECK}{zlib.crc32(body.encode()):08x}"}}\n'


def checked_content(line: str) -> dict[str, Any]:
    """Return what a line holds; raises RecordError if it is cut, altered, no record, or of another version."""
    if not line.endswith("\n"):
        raise RecordError("the line is cut: it has no end")
    text = line.rstrip("\n")
    body, check = text[:-_CHECK_LENGTH] + "}", text[-_CHECK_LENGTH:]
    if not check.startswith(_CHECK):
        raise RecordError("the line is no record, or cut: it does not end in its check sum")
    if with_check(body) != line:
        raise RecordError("the line was altered: its check sum does not agree")
    try:
        content = json.loads(body, parse_constant=_no_number)
    except ValueError as error:
        raise RecordError(f"the line is no JSON: {error}") from None
    if not isinstance(content, dict):
        raise RecordError("the line is no record: it holds no object")
    if content.get("format") != FORMAT or content.get("version") != FORMAT_VERSION:
        raise RecordError(
            f"format {content.get('format')!r} version {content.get('version')!r}; {FORMAT!r} version "
            f"{FORMAT_VERSION} is needed"
        )
    return content


def _no_number(word: str) -> Any:
    raise ValueError(f"{word} is no number")
