"""Counting and drawing the ways in which unseen cards can lie in boxes, some of which may not hold some classes.

Only classes of cards matter to the constraints (`engine.CARD_CLASS`), so ways are counted class by class: `ways[l, r]`
is the number of ways to fill what is left to fill from layer l on, when r cards of each class are left. Classes that no
box tells apart are merged, boxes that take the same classes are filled together, and those that take anything last. A
layer is one class of one group; how many cards the group still takes follows from r, so r alone is the state.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from chearts_env.cards import NUM_CARDS, NUM_FACES
from chearts_env.compiled import kernel
from chearts_env.deal import draw_below, next_word, shuffle
from chearts_env.engine import ALL_CARDS, CARD_CLASS, NUM_CLASSES


def _binomials() -> npt.NDArray[np.float64]:
    table = np.zeros((NUM_CARDS + 1, NUM_CARDS + 1))
    table[:, 0] = 1
    for row in range(1, NUM_CARDS + 1):
        table[row, 1:] = table[row - 1, 1:] + table[row - 1, :-1]
    return table


_CHOOSE: Final = _binomials()
_TWO_TO_53: Final = 9007199254740992.0


@kernel
def _draw_unit(stream: Any) -> float:
    """Draw a double from [0, 1), each multiple of 2**-53 alike."""
    high = next_word(stream) >> np.uint64(5)
    low = next_word(stream) >> np.uint64(6)
    return (high * np.uint64(67108864) + low) / _TWO_TO_53


@kernel
def note_constraints(unseen: Any, room: Any, allowed: Any) -> Any:
    """Group boxes by what they may take, and merge classes that no group tells apart.

    Returns the merged class of each class (5,), the group of each box (boxes,), the room of each group, and for each
    group and merged class whether it may take it (groups, classes). The last group takes anything and may have no
    room.
    """
    num_boxes = room.shape[0]
    groups = np.zeros(num_boxes, np.int64)
    sets = np.zeros(num_boxes + 1, np.int64)
    num_groups = 0
    for box in range(num_boxes):
        groups[box] = -1
        if room[box] == 0 or allowed[box] == ALL_CARDS:
            continue
        for group in range(num_groups):
            if sets[group] == allowed[box]:
                groups[box] = group
        if groups[box] == -1:
            sets[num_groups] = allowed[box]
            groups[box] = num_groups
            num_groups += 1
    sets[num_groups] = ALL_CARDS
    group_room = np.zeros(num_groups + 1, np.int64)
    for box in range(num_boxes):
        if groups[box] == -1:
            groups[box] = num_groups
        group_room[groups[box]] += room[box]
    classes, num_classes = _merged_classes(sets, num_groups)
    group_allows = np.zeros((num_groups + 1, num_classes), np.int64)
    for group in range(num_groups + 1):
        for kind in range(NUM_CLASSES):
            group_allows[group, classes[kind]] = (sets[group] >> kind) & 1
    return classes, groups, group_room, group_allows


@kernel
def _merged_classes(sets: Any, num_groups: int) -> Any:
    classes = np.zeros(NUM_CLASSES, np.int64)
    num_classes = 0
    for kind in range(NUM_CLASSES):
        classes[kind] = -1
        for other in range(kind):
            is_same = True
            for group in range(num_groups):
                if (sets[group] >> kind) & 1 != (sets[group] >> other) & 1:
                    is_same = False
            if is_same:
                classes[kind] = classes[other]
                break
        if classes[kind] == -1:
            classes[kind] = num_classes
            num_classes += 1
    return classes, num_classes


@kernel
def _class_counts(unseen: Any, classes: Any, num_classes: int) -> Any:
    counts = np.zeros(num_classes, np.int64)
    for face in range(NUM_FACES):
        counts[classes[CARD_CLASS[face]]] += unseen[face]
    return counts


@kernel
def count_ways(unseen: Any, classes: Any, group_room: Any, group_allows: Any) -> Any:
    """Return `ways`, shape (layers + 1, states) float64; a state r has the index `sum(r[k] * stride[k])`."""
    num_groups = group_room.shape[0] - 1
    num_classes = group_allows.shape[1]
    counts = _class_counts(unseen, classes, num_classes)
    num_states = 1
    for kind in range(num_classes):
        num_states *= counts[kind] + 1
    ways = np.zeros((num_groups * num_classes + 1, num_states))
    ways[num_groups * num_classes, :] = 1.0
    end = counts.sum()
    for group in range(num_groups):
        end -= group_room[group]
    left_after = end
    for group in range(num_groups - 1, -1, -1):
        for kind in range(num_classes - 1, -1, -1):
            stride = 1
            for lower in range(kind):
                stride *= counts[lower] + 1
            _fill_layer(
                ways,
                group * num_classes + kind,
                counts,
                kind,
                stride,
                group_allows[group, kind],
                left_after,
                group_room[group],
                kind == num_classes - 1,
            )
        left_after += group_room[group]
    return ways


@kernel
def _fill_layer(
    ways: Any,
    layer: int,
    counts: Any,
    kind: int,
    stride: int,
    is_allowed: int,
    left_after: int,
    room: int,
    is_last: bool,
) -> None:
    # `left_after` cards must be left once the group is full; the state says how many it has taken so far.
    for state in range(ways.shape[1]):
        left = _cards_in(state, counts)
        to_take = left - left_after
        if to_take < 0 or to_take > room:
            continue
        have = (state // stride) % (counts[kind] + 1)
        total = 0.0
        for taken in range(min(have, to_take) + 1 if is_allowed else 1):
            if is_last and taken != to_take:
                continue
            total += _CHOOSE[have, taken] * ways[layer + 1, state - taken * stride]
        ways[layer, state] = total


@kernel
def _cards_in(state: int, counts: Any) -> int:
    total = 0
    for kind in range(counts.shape[0]):
        total += state % (counts[kind] + 1)
        state //= counts[kind] + 1
    return total


@kernel
def draw_cards(
    stream: Any, unseen: Any, classes: Any, groups: Any, room: Any, group_room: Any, group_allows: Any, ways: Any
) -> Any:
    """Draw where the unseen cards lie; return their faces box after box, each box's `room` of them."""
    num_groups = group_room.shape[0] - 1
    num_classes = group_allows.shape[1]
    counts = _class_counts(unseen, classes, num_classes)
    num_cards = counts.sum()
    shuffled, first = _shuffled_by_class(stream, unseen, classes, counts)
    by_group = np.zeros(num_cards, np.int64)
    group_start = np.zeros(num_groups + 2, np.int64)
    state = ways.shape[1] - 1
    place = 0
    for group in range(num_groups + 1):
        group_start[group] = place
        to_take = group_room[group]
        stride = 1
        for kind in range(num_classes):
            have = (state // stride) % (counts[kind] + 1)
            taken = have
            if group < num_groups:
                layer = group * num_classes + kind
                taken = _draw_taken(
                    stream,
                    ways,
                    layer,
                    state,
                    stride,
                    have,
                    to_take,
                    group_allows[group, kind],
                    kind == num_classes - 1,
                )
            for _ in range(taken):
                by_group[place] = shuffled[first[kind]]
                first[kind] += 1
                place += 1
            to_take -= taken
            state -= taken * stride
            stride *= counts[kind] + 1
        shuffle(stream, by_group[group_start[group] : place], place - group_start[group])
    cards = np.zeros(num_cards, np.int64)
    place = 0
    for box in range(room.shape[0]):
        for _ in range(room[box]):
            cards[place] = by_group[group_start[groups[box]]]
            group_start[groups[box]] += 1
            place += 1
    return cards


@kernel
def _shuffled_by_class(stream: Any, unseen: Any, classes: Any, counts: Any) -> Any:
    """Return the unseen faces class after class, each class shuffled, and where each class begins."""
    first = np.zeros(counts.shape[0], np.int64)
    for kind in range(1, counts.shape[0]):
        first[kind] = first[kind - 1] + counts[kind - 1]
    faces = np.zeros(counts.sum(), np.int64)
    filled = first.copy()
    for face in range(NUM_FACES):
        kind = classes[CARD_CLASS[face]]
        for _ in range(unseen[face]):
            faces[filled[kind]] = face
            filled[kind] += 1
    for kind in range(counts.shape[0]):
        shuffle(stream, faces[first[kind] : filled[kind]], counts[kind])
    return faces, first


@kernel
def _draw_taken(
    stream: Any, ways: Any, layer: int, state: int, stride: int, have: int, to_take: int, is_allowed: int, is_last: bool
) -> int:
    """Draw how many cards of a class a group takes, in proportion to the ways that are left then."""
    if not is_allowed:
        return 0
    if is_last:
        return to_take
    threshold = _draw_unit(stream) * ways[layer, state]
    possible = 0
    for taken in range(min(have, to_take) + 1):
        weight = _CHOOSE[have, taken] * ways[layer + 1, state - taken * stride]
        if weight > 0.0:
            possible = taken  # rounding may leave a rest; it goes to the last count that is possible
            threshold -= weight
            if threshold < 0.0:
                break
    return possible


@kernel
def draw_subset(stream: Any, holding: Any, cards: Any) -> None:
    """Fill `cards` with 1 + face of cards drawn from `holding`, (52,) counts, every choice alike, ascending."""
    left = holding.sum()
    place = 0
    for face in range(NUM_FACES):
        for _ in range(holding[face]):
            if draw_below(stream, left) < cards.shape[0] - place:
                cards[place] = face + 1
                place += 1
            left -= 1
