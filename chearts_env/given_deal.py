"""A deal given by hand, as text or counts: checked card by card, then laid on a table before the pass."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from chearts_env.cards import NUM_COPIES, NUM_FACES, face_from_text, face_to_text
from chearts_env.compiled import kernel
from chearts_env.deal import clear_hand, give_card, open_hand, seed_stream
from chearts_env.engine import write_score_percents
from chearts_env.rules import LARGEST_CAP, Rules

Counts = npt.NDArray[np.int8]

_LOWEST_SCORE = -1_000_000_000


def set_table(
    tables: npt.NDArray[np.record],
    rules: Rules,
    hands: Sequence[Any] | npt.NDArray[Any],
    kitty: Any,
    dealer: int,
    hand_number: int,
    scores: Sequence[int] | None,
    seed: int,
) -> None:
    """Lay a given deal on the one table of `tables`; see `Game.from_hands`. Raises ValueError before it changes any."""
    counts = _checked_hands(rules, hands)
    kitty_counts = _checked_kitty(rules, kitty, counts)
    _refuse_third_copies(counts, kitty_counts)
    points = _checked_scores(rules, scores)
    dealer_seat = _whole(dealer, "dealer", 0, rules.num_players - 1)
    # In a single hand the number is but a place in the pass cycle, and no cap applies.
    is_single_hand = tables[0]["options"]["single_hand"]
    last_hand = LARGEST_CAP if rules.max_hands is None or is_single_hand else rules.max_hands - 1
    number = _whole(hand_number, "hand_number", 0, last_hand)
    table = tables[0]
    table["public"]["dealer"] = dealer_seat
    table["public"]["hand_number"] = number
    table["public"]["scores"][: rules.num_players] = points
    table["hidden"]["seed"] = seed
    _lay_cards(tables, counts, kitty_counts, np.uint64(seed))


@kernel
def _lay_cards(tables: Any, hands: Any, kitty: Any, seed: np.uint64) -> None:
    table = tables[0]
    clear_hand(table)
    for seat in range(table.options.num_players):
        for face in range(NUM_FACES):
            for _ in range(hands[seat, face]):
                give_card(table, seat, face)
    for face in range(NUM_FACES):
        table.hidden.kitty[face] = kitty[face]
    seed_stream(table.hidden.stream, seed)
    write_score_percents(table.options, table.public)
    open_hand(table)


def _counts_of(cards: Any, whose: str) -> Counts:
    """Return cards given as text, or as 52 counts, as counts."""
    counts = np.zeros(NUM_FACES, np.int64)
    if isinstance(cards, str):
        for word in cards.replace(",", " ").split():
            try:
                counts[face_from_text(word)] += 1
            except ValueError as error:
                raise ValueError(f"{whose}: {error}") from None
    else:
        given = np.asarray(cards)
        if given.shape != (NUM_FACES,) or given.dtype.kind not in "iub":
            raise ValueError(
                f"{whose} must be text such as 'QS 2C' or 52 whole counts, not {given.dtype} of shape {given.shape}"
            )
        counts[:] = given
        if counts.min() < 0:
            raise ValueError(f"{whose} has a negative count of {face_to_text(int(counts.argmin()))}")
    if counts.max() > NUM_COPIES:
        face = int(counts.argmax())
        raise ValueError(
            f"{whose} has {counts[face]} copies of {face_to_text(face)}, and there are only {NUM_COPIES} (RULES.md R2)"
        )
    return counts.astype(np.int8)


def _checked_hands(rules: Rules, hands: Sequence[Any] | npt.NDArray[Any]) -> Counts:
    has_hands = hasattr(hands, "__len__") and not isinstance(hands, str)
    if not has_hands or len(hands) != rules.num_players:
        given = f"{len(hands)} hands" if has_hands else "one text" if isinstance(hands, str) else f"{hands!r}"
        raise ValueError(f"{given} for {rules.num_players} seats: a list with one hand for each seat is needed")
    counts = np.stack([_counts_of(hand, f"the hand of seat {seat}") for seat, hand in enumerate(hands)])
    for seat, size in enumerate(counts.sum(axis=1)):
        if size != rules.hand_size:
            raise ValueError(
                f"the hand of seat {seat} has {size} cards; with {rules.num_players} seats each has "
                f"{rules.hand_size} (RULES.md R5)"
            )
    return counts


def _checked_kitty(rules: Rules, kitty: Any, hands: Counts) -> Counts:
    if kitty is None:
        remaining = NUM_COPIES - hands.sum(axis=0)
        _refuse_third_copies(hands, np.zeros(NUM_FACES, np.int8))
        return np.asarray(remaining, np.int8)
    counts = _counts_of(kitty, "the kitty")
    if counts.sum() != rules.kitty_size:
        raise ValueError(
            f"the kitty has {counts.sum()} cards; with {rules.num_players} seats it has {rules.kitty_size} "
            "(RULES.md R5)"
        )
    return counts


def _refuse_third_copies(hands: Counts, kitty: Counts) -> None:
    total = hands.sum(axis=0) + kitty
    if total.max() <= NUM_COPIES:
        return
    face = int(total.argmax())
    places = [f"seat {seat}" for seat in range(len(hands)) for _ in range(hands[seat, face])]
    places += ["the kitty"] * int(kitty[face])
    raise ValueError(
        f"{total[face]} copies of {face_to_text(face)} ({', '.join(places)}), and there are only {NUM_COPIES} "
        "(RULES.md R2)"
    )


def _checked_scores(rules: Rules, scores: Sequence[int] | None) -> npt.NDArray[np.int64]:
    if scores is None:
        return np.zeros(rules.num_players, np.int64)
    if len(scores) != rules.num_players:
        raise ValueError(f"{len(scores)} scores for {rules.num_players} seats: one score for each seat is needed")
    points = [
        _whole(score, f"the score of seat {seat}", _LOWEST_SCORE, rules.target_score - 1)
        for seat, score in enumerate(scores)
    ]
    return np.array(points, np.int64)


def _whole(value: object, name: str, low: int, high: int) -> int:
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise ValueError(f"{name} is {value!r}; it must be a whole number {low} … {high}") from None
    if not low <= number <= high:
        raise ValueError(f"{name} is {number}; it must be a whole number {low} … {high}")
    return number
