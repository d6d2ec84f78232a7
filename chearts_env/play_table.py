"""A person at a table with policies: whose turn it is, what the others do, advice, and the record of it all.

Knows nothing of screens; `play` shows it in a terminal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from chearts_env.game import Episode, Game, action_to_text
from chearts_env.observation import Knowledge, decode
from chearts_env.policy import Policy, chosen_actions, next_keys, sub_keys
from chearts_env.record_format import HandRecord
from chearts_env.recording import GameRecorder
from chearts_env.rules import Rules

_PLAYER_STREAM: Final = 23
#: Lines of advice at most.
_MOST_LINES: Final = 5


class PlayTable:
    """One game between a person in `seat` and policies, dealt out to the other seats from its left on.

    `said` holds what has happened, a line each, as far as the person may know it.
    """

    def __init__(
        self,
        rules: Rules,
        seat: int,
        opponents: Sequence[tuple[str, Policy]],
        *,
        seed: int,
        episode: Episode = "game",
        write: Callable[[HandRecord], object] = lambda record: None,
        person: str = "you",
    ) -> None:
        """Deal; `opponents` are names and policies."""
        if not 0 <= seat < rules.num_players:
            raise ValueError(f"seat={seat!r} is not allowed: it must be 0 … {rules.num_players - 1}")
        self.game = Game(rules, seed, episode=episode)
        self.seat = seat
        n = rules.num_players
        places = [(other - seat - 1) % n % len(opponents) for other in range(n)]
        self.names = [person if other == seat else opponents[places[other]][0] for other in range(n)]
        self._policies = [opponents[place][1] for place in places]
        self._recorder = GameRecorder(write, self.names)
        self._keys = sub_keys(np.array([seed], np.uint64), np.array(_PLAYER_STREAM))
        self._adviser = opponents[0]
        self.said: list[str] = []

    @property
    def is_persons_turn(self) -> bool:
        """Whether the person has to choose."""
        return self.game.mover == self.seat

    def knowledge(self) -> Knowledge:
        """Return what the person may know."""
        return decode(self.game.observation(self.seat))

    def name_of(self, seat: int) -> str:
        """Return a seat with its name."""
        return f"P{seat} {self.names[seat]}"

    def step(self) -> None:
        """Have the next policy act; the game must go on, and it must not be the person's turn."""
        seat = self.game.mover
        assert seat is not None, "the game is over"
        assert seat != self.seat, "the person chooses by `choose`"
        self._keys = next_keys(self._keys)
        seen, mask = self.game.observation(seat)[None], self.game.action_mask()[None]
        chosen = chosen_actions(self._policies[seat], self.names[seat], seen, mask, np.array([seat]), self._keys)
        self._take(int(chosen[0]))

    def choose(self, action: int) -> None:
        """Act for the person; IllegalActionError for an action that is not legal, and nothing has changed."""
        self._take(action)

    def _take(self, action: int) -> None:
        game, seat, phase = self.game, self.game.mover, self.game.phase
        num_tricks, num_scored = game.trick_number, len(game.score_sheet)
        taken = game.points_seen.copy()
        self._recorder.step(game, action)
        assert seat is not None
        is_hidden = phase == "pass" and seat != self.seat
        verb = {"pass": "gives", "play": "plays", "moon": "settles the moon:"}[phase]
        self.said.append(f"{self.name_of(seat)} {verb} {'a card' if is_hidden else action_to_text(action)}")
        if len(game.score_sheet) > num_scored:
            changes = ", ".join(f"P{each} {points:+d}" for each, points in enumerate(game.score_sheet[-1]))
            self.said.append(f"Hand {len(game.score_sheet)} is scored: {changes}")
        elif game.trick_number > num_tricks:
            self.said.append(self._outcome(taken))
        if game.is_over:
            self.said.append("The game is over; won by " + " and ".join(map(self.name_of, game.winners)))

    def _outcome(self, taken: Any) -> str:
        game = self.game
        if game.pile.any():
            waits = f"; {int(game.pile.sum())} cards wait for the next winner" if game.phase == "play" else ""
            return f"The trick is set aside{waits}"
        gained = game.points_seen - taken
        taker = int(gained.argmax()) if gained.any() else game.leader
        return f"{self.name_of(taker)} takes the trick, {int(gained.sum())} points"

    def advice(self) -> list[str]:
        """Return what the first opponent's policy would do in the person's place, with reasons if it gives any."""
        name, policy = self._adviser
        seen, mask = self.game.observation(self.seat), self.game.action_mask()
        explain = getattr(policy, "explain", None)
        if callable(explain):
            reasons = list(explain(seen, mask))[:_MOST_LINES]
            return [f"{name}: {reason.card} costs {reason.cost:.1f} points; {reason.words}" for reason in reasons]
        chosen = chosen_actions(policy, name, seen[None], mask[None], np.array([self.seat]), self._keys)
        return [f"{name} would choose {action_to_text(int(chosen[0]))}"]
