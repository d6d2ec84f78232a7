"""The 294 hands of `data/hands.jsonl`, from an independent implementation, are reproduced step by step (R1 to R22).

Each line of the file gives the rules, the direction of the pass, the dealer, the hands and the kitty before the pass,
and every decision as [seat, number of legal actions, card or moon choice], forced ones too; then the points taken, the
points nobody took, and the change of the scores.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from chearts_env import Game, Rules, VectorTables, cancellation_hearts_v0
from chearts_env.cards import face_from_text, faces_from_text
from tests.beside import THINNING
from tests.referee import MOON_ADD, MOON_SUBTRACT, Referee

NUM_HANDS = 294
MOON_CHOICES = {"subtract": MOON_SUBTRACT, "add": MOON_ADD}


class Step(NamedTuple):
    """One decision of a recorded hand."""

    seat: int
    num_legal: int
    action: int


class RecordedHand(NamedTuple):
    """One line of the file."""

    rules: dict[str, Any]
    pass_offset: int
    dealer: int
    hands: list[str]
    kitty: str
    steps: list[Step]
    points_taken: list[int]
    points_nobody_took: int
    score_changes: list[int]

    def new_game(self) -> Game:
        """Deal the hand to a Game, as the first hand of a game that passes in the recorded direction."""
        rules = Rules(**self.rules, pass_cycle=(self.pass_offset,))
        return Game.from_hands(
            rules, hands=self.hands, kitty=self.kitty, dealer=self.dealer, hand_number=0, scores=None
        )

    def new_referee(self) -> Referee:
        """Deal the hand to a Referee."""
        referee = Referee(self.rules)
        hands = [faces_from_text(hand) for hand in self.hands]
        referee.begin_hand(hands, faces_from_text(self.kitty), self.dealer, 0, self.pass_offset)
        return referee


def read_hand(line: str) -> RecordedHand:
    """Read one line of the file, cards and choices as action numbers."""
    fields = json.loads(line)
    steps = [
        Step(seat, num_legal, MOON_CHOICES[name] if name in MOON_CHOICES else face_from_text(name))
        for seat, num_legal, name in fields.pop("steps")
    ]
    return RecordedHand(steps=steps, **fields)


def read_hands() -> list[RecordedHand]:
    """Read all recorded hands."""
    text = (Path(__file__).parent / "data" / "hands.jsonl").read_text(encoding="utf-8")
    return [read_hand(line) for line in text.splitlines()]


HANDS = read_hands()
each_hand = pytest.mark.parametrize("hand", HANDS, ids=[f"line_{number}" for number in range(1, len(HANDS) + 1)])


def test_recorded_hands_are_all_there() -> None:
    """The file keeps its 294 hands, every table size, and at least one moon of each kind (R1, R21)."""
    assert len(HANDS) == NUM_HANDS
    assert {hand.rules["num_players"] for hand in HANDS} == {6, 7, 8, 9, 10, 11}
    assert {hand.steps[-1].action for hand in HANDS} >= {MOON_SUBTRACT, MOON_ADD}


@each_hand
def test_referee_reproduces_recorded_hand(hand: RecordedHand) -> None:
    """The slow referee agrees with the independent implementation in mover, choices, points and scores (R7 to R22)."""
    referee = hand.new_referee()
    for number, step in enumerate(hand.steps):
        assert (referee.mover, len(referee.legal_actions())) == (step.seat, step.num_legal), f"step {number}"
        referee.step(step.action)
    assert referee.phase == "deal"
    assert referee.hand_points == hand.points_taken
    assert referee.points_nobody_took == hand.points_nobody_took
    assert referee.score_sheet == [hand.score_changes]


@each_hand
def test_game_reproduces_recorded_hand(hand: RecordedHand) -> None:
    """Game agrees with the independent implementation in mover, choices and scores (R7 to R22)."""
    game = hand.new_game()
    assert game.pass_offset == hand.pass_offset
    for number, step in enumerate(hand.steps):
        assert (game.mover, len(game.legal_actions())) == (step.seat, step.num_legal), f"step {number}"
        assert np.flatnonzero(game.action_mask()).tolist() == game.legal_actions(), f"step {number}"
        assert len(game.score_sheet) == 0, f"step {number}"
        game.step(step.action)
    assert np.asarray(game.score_sheet).tolist() == [hand.score_changes]
    assert [int(score) for score in game.scores] == hand.score_changes
    assert (game.hand_number, game.dealer) == (1, (hand.dealer + 1) % hand.rules["num_players"])


@each_hand
def test_aec_environment_reproduces_recorded_hand(hand: RecordedHand) -> None:
    """The AEC environment agrees in the agent to act, its mask, and pays the hand at its last step (R7 to R22)."""
    env = cancellation_hearts_v0.raw_env(rules=hand.new_game().rules, reward="points")
    env.reset(seed=0, options={"game": hand.new_game()})
    for number, step in enumerate(hand.steps):
        assert env.agent_selection == f"player_{step.seat}", f"step {number}"
        mask = env.observe(env.agent_selection)["action_mask"]
        assert (mask.sum(), mask[step.action]) == (step.num_legal, 1), f"step {number}"
        assert not any(env.rewards.values()), f"step {number}"
        env.step(step.action)
    assert list(env.rewards) == [f"player_{seat}" for seat in range(hand.rules["num_players"])]
    assert list(env.rewards.values()) == [-change for change in hand.score_changes]


def test_vector_tables_reproduce_recorded_hands_all_at_once() -> None:
    """One batch of all 294 hands, of every size and many options, agrees at every step of every table (R7 to R22)."""
    hands = HANDS[::THINNING]
    tables = VectorTables.from_games([hand.new_game() for hand in hands], reward="points")
    rng = np.random.default_rng(294)
    assert tables.num_players.tolist() == [hand.rules["num_players"] for hand in hands]
    for number in range(max(len(hand.steps) for hand in hands)):
        actions = np.zeros(len(hands), np.int64)
        paid = np.zeros((len(hands), 11), np.float32)  # (B, 11)
        for slot, hand in enumerate(hands):
            if number >= len(hand.steps):  # This table is in its next hand, of which nothing is recorded.
                actions[slot] = rng.choice(np.flatnonzero(tables.action_masks[slot]))
                continue
            step = hand.steps[number]
            mask = tables.action_masks[slot]
            assert (int(tables.movers[slot]), int(mask.sum())) == (step.seat, step.num_legal), (
                f"slot {slot}, step {number}"
            )
            assert mask[step.action] == 1, f"slot {slot}, step {number}"
            actions[slot] = step.action
            if number == len(hand.steps) - 1:
                paid[slot, : hand.rules["num_players"]] = [-change for change in hand.score_changes]
        tables.step(actions)
        under_way = [slot for slot, hand in enumerate(hands) if number < len(hand.steps)]
        assert np.array_equal(tables.rewards[under_way], paid[under_way]), f"step {number}"
        assert not tables.terminations[under_way].any(), f"step {number}"
        assert not tables.truncations[under_way].any(), f"step {number}"
