"""Playing the package beside the slow referee: what the tests that do so share.

Options stand here as plain dictionaries, because both sides are built from the same one: `Rules(**options)` for the
package and `Referee(options)` for the referee.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from chearts_env import Game, Rules
from chearts_env.cards import faces_to_text
from chearts_env.observation import decode
from tests.deals import Chooser, Deal, Options
from tests.referee import Referee

NO_PASS: Options = {"pass_cycle": (0,)}
SIZES = (6, 7, 8, 9, 10, 11)

#: Where kernels run interpreted, a hundred times slower, a batch holds only every 13th of its tables.
THINNING = 13 if numba.config.DISABLE_JIT else 1

#: Every value of every option of RULES.md's table but `num_players`; of the open-ended ones, some.
OPTION_VALUES: dict[str, tuple[Any, ...]] = {
    "target_score": (150, 100),
    "max_hands": (None, 1, 3),
    "first_dealer": ("random", 0, 5),
    "pass_cycle": ((1, -1), (0,), (1, -1, 0), (2,), (-3, 5), (-5, 4)),
    "opening_lead": ("no_points", "any"),
    "first_trick_discard": ("any", "no_points"),
    "hearts_break": ("heart_or_queen", "heart", "always"),
    "set_aside": ("two_pairs", "no_live_card"),
    "set_aside_leader": ("same", "left"),
    "kitty_to": ("first_winner", "last_winner"),
    "kitty_view": ("nobody", "winner", "everyone"),
    "last_trick_set_aside": ("nobody", "leader"),
    "moon": ("choose", "subtract", "add", "off"),
    "moon_points": (26, 1, 52),
}

PRESETS: dict[str, Options] = {
    "card_page": {},
    "classic": {"set_aside": "no_live_card"},
    "bicycle": {"set_aside": "no_live_card", "pass_cycle": (0,), "first_trick_discard": "no_points"},
}


def list_faces(counts: npt.ArrayLike) -> list[int]:
    """Write 52 counts as an ascending list of faces."""
    faces: list[int] = np.repeat(np.arange(52), np.asarray(counts)).tolist()
    return faces


def random_options(num_players: int, rng: random.Random) -> Options:
    """Draw a value for every option."""
    drawn = {option: rng.choice(values) for option, values in OPTION_VALUES.items()}
    return {"num_players": num_players, **drawn}


def begin_both(
    options: Options, deal: Deal, hand_number: int = 0, scores: Sequence[int] | None = None
) -> tuple[Game, Referee]:
    """Start a Game and a Referee from one deal."""
    game = Game.from_hands(
        Rules(**options),
        hands=[faces_to_text(hand) for hand in deal.hands],
        kitty=faces_to_text(deal.kitty),
        dealer=deal.dealer,
        hand_number=hand_number,
        scores=scores,
    )
    referee = Referee(options, scores)
    referee.begin_hand(*deal, hand_number)
    return game, referee


def begin_hand_of(game: Game, referee: Referee) -> None:
    """Give the referee the hand that the game has just dealt."""
    hands = [list_faces(game.hand(seat)) for seat in range(referee.num_players)]
    referee.begin_hand(hands, list_faces(game.kitty), game.dealer, game.hand_number)


def step_both(game: Game, referee: Referee, action: int) -> None:
    """Take one step on both sides and, if that ended the hand, show the referee the next one."""
    game.step(action)
    referee.step(action)
    if referee.phase == "deal":
        begin_hand_of(game, referee)


def mask_of(actions: Iterable[int]) -> npt.NDArray[np.int8]:
    """Write legal actions as a mask, shape (54,) int8."""
    mask = np.zeros(54, np.int8)
    mask[list(actions)] = 1
    return mask


def describe_game(game: Game, num_players: int) -> dict[str, Any]:
    """Collect all that the contract lets one see of a Game, in plain Python values."""
    return {
        "phase": game.phase,
        "mover": game.mover,
        "legal": game.legal_actions(),
        "hands": [list_faces(game.hand(seat)) for seat in range(num_players)],
        "kitty": list_faces(game.kitty),
        "trick": [(int(seat), int(face)) for seat, face in game.trick],
        "pile": list_faces(game.pile),
        "leader": game.leader,
        "dealer": game.dealer,
        "hand_number": game.hand_number,
        "trick_number": game.trick_number,
        "hearts_broken": game.hearts_broken,
        "pass_offset": game.pass_offset,
        "scores": [int(score) for score in game.scores],
        "score_sheet": np.asarray(game.score_sheet).tolist(),
        "winners": list(game.winners) if game.phase == "over" else [],
        "is_truncated": game.is_truncated,
    }


def describe_referee(referee: Referee) -> dict[str, Any]:
    """Collect the same of a Referee."""
    return {
        "phase": referee.phase,
        "mover": referee.mover,
        "legal": referee.legal_actions(),
        "hands": [sorted(hand) for hand in referee.hands],
        "kitty": referee.kitty,
        "trick": referee.trick,
        "pile": sorted(referee.pile),
        "leader": referee.leader,
        "dealer": referee.dealer,
        "hand_number": referee.hand_number,
        "trick_number": referee.trick_number,
        "hearts_broken": referee.hearts_broken,
        "pass_offset": referee.pass_offset,
        "scores": referee.scores,
        "score_sheet": referee.score_sheet,
        "winners": referee.winners,
        "is_truncated": referee.is_truncated,
    }


def describe_knowledge(game: Game, viewer: int, num_players: int) -> dict[str, Any]:
    """Collect what a seat's observation says of the hand, with seats numbered as everyone numbers them."""
    seen = decode(game.observation(viewer))

    def seat_of(relative: int | None) -> int | None:
        return None if relative is None else (viewer + relative) % num_players

    def turned(of_relative: Iterable[int]) -> list[int]:
        values = [int(value) for value in of_relative]
        return [values[(seat - viewer) % num_players] for seat in range(num_players)]

    return {
        "phase": seen.phase,
        "mover": seat_of(seen.mover),
        "leader": seat_of(seen.leader),
        "dealer": seat_of(seen.dealer),
        "hand": list_faces(seen.hand),
        "trick": [(seat_of(relative), face) for relative, face in seen.trick],
        "pile": list_faces(seen.pile),
        "points_seen": turned(seen.points_seen),
        "cards_left": turned(seen.cards_left),
        "kitty_size": seen.kitty_size,
        "kitty_taker": seat_of(seen.kitty_taker),
        "kitty_cards": sorted(seen.kitty_cards),
        "trick_number": seen.trick_number,
        "hearts_broken": seen.hearts_broken,
        "pass_offset": seen.pass_offset,
    }


def expect_knowledge(referee: Referee, viewer: int) -> dict[str, Any]:
    """Collect what a seat must know of the hand by the rules (R16, R18)."""
    return {
        "phase": referee.phase,
        "mover": referee.mover,
        "leader": referee.leader,
        "dealer": referee.dealer,
        "hand": sorted(referee.hands[viewer]),
        "trick": referee.trick,
        "pile": sorted(referee.pile),
        "points_seen": referee.points_seen,
        "cards_left": [len(hand) for hand in referee.hands],
        "kitty_size": len(referee.kitty),
        "kitty_taker": referee.kitty_taker,
        "kitty_cards": referee.kitty if referee.kitty_seen_by(viewer) else [],
        "trick_number": referee.trick_number,
        "hearts_broken": referee.hearts_broken,
        "pass_offset": referee.pass_offset,
    }


def assert_same_knowledge(game: Game, referee: Referee, viewer: int) -> None:
    """Compare what a seat's observation tells with what the Referee says it must know."""
    shown, expected = describe_knowledge(game, viewer, referee.num_players), expect_knowledge(referee, viewer)
    different = {name: (shown[name], value) for name, value in expected.items() if shown[name] != value}
    assert not different, f"(observed by P{viewer}, referee) differ in {different}\nunder {referee.options}\n{referee}"


def assert_same_table(game: Game, referee: Referee) -> None:
    """Compare a Game with the Referee in everything that the contract shows."""
    shown, expected = describe_game(game, referee.num_players), describe_referee(referee)
    different = {name: (shown[name], value) for name, value in expected.items() if shown[name] != value}
    assert not different, f"(game, referee) differ in {different}\nunder {referee.options}\n{referee}"
    if referee.mover is not None:
        assert np.array_equal(game.action_mask(), mask_of(expected["legal"])), f"mask\n{referee}"


def play_hand(
    options: Options, deal: Deal, choose: Chooser, seed: int, scores: list[int] | None = None
) -> tuple[Game, Referee]:
    """Play one hand on both sides, comparing at every step; stop before the moon is settled or when the hand is scored.

    Both come back as the hand left them: a hand that ends within a game is followed by the next deal.
    """
    rng = random.Random(seed)
    game, referee = begin_both(options, deal, scores=scores)
    assert_same_table(game, referee)
    while referee.phase in ("pass", "play") and not referee.score_sheet:
        step_both(game, referee, choose(referee, rng))
        assert_same_table(game, referee)
    return game, referee


def replay_hand(options: Options, deal: Deal, actions: list[int]) -> tuple[Game, Referee]:
    """Replay searched actions on both sides, comparing at every step.

    The referee that comes back has not been shown the next deal: its attributes are those of the hand just ended.
    """
    game, referee = begin_both(options, deal)
    for action in actions:
        assert_same_table(game, referee)
        game.step(action)
        referee.step(action)
    assert np.asarray(game.score_sheet).tolist() == referee.score_sheet
    return game, referee
