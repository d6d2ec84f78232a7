"""What a seat has not seen leaves no trace in what it is shown: the same history over other cards looks the same.

Other hidden cards come from two sources: from `Game.redeal`, and from swaps made here, which know nothing of it:
exchange cards that lie out of a seat's sight in the original deal, or choose other cards to pass, and take the same
public actions again. Whatever the rules let pass is a world the seat cannot rule out.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest

from chearts_env import Game, Rules, cancellation_hearts_v0
from chearts_env.cards import FACE_POINTS, faces_of_counts
from chearts_env.game import IllegalActionError
from chearts_env.observation import decode
from chearts_env.render.text import table_as_text
from tests.sizes import SIZES, History, fewer, moon_history, play, random_history, random_rules

NUM_PASSED = 3
KITTY_VIEWS = ("nobody", "winner", "everyone")


def text_seen_by(game: Game, viewer: int) -> str:
    """Draw the table as a seat sees it."""
    return table_as_text(decode(game.observation(viewer)), viewer)


def assert_looks_the_same(game: Game, other: Game, viewer: int) -> None:
    """Compare, bit for bit, all that a seat is shown of two games."""
    assert game.observation(viewer).tobytes() == other.observation(viewer).tobytes(), f"seat {viewer} of {game}"
    assert text_seen_by(game, viewer) == text_seen_by(other, viewer)
    assert (game.phase, game.mover) == (other.phase, other.mover)
    if game.mover == viewer:
        assert game.action_mask().tobytes() == other.action_mask().tobytes()
    assert np.array_equal(game.scores, other.scores)
    assert np.array_equal(game.points_seen, other.points_seen)


def sees_kitty(game: Game, viewer: int) -> bool:
    """Say whether a seat has seen the kitty by now (R18)."""
    view = game.rules.kitty_view
    return game.kitty_taker is not None and (view == "everyone" or (view == "winner" and viewer == game.kitty_taker))


def swapped(history: History, viewer: int, kitty_is_seen: bool, rng: random.Random) -> History:
    """Exchange two cards of the original deal that both lay outside a seat's hand."""
    hands, kitty = history.hands.copy(), history.kitty.copy()
    places = [hands[seat] for seat in range(len(hands)) if seat != viewer]
    if kitty.any() and not kitty_is_seen:
        places += [kitty, kitty]
    one, other = rng.sample(range(len(places)), 2)
    give, take = rng.choice(faces_of_counts(places[one])), rng.choice(faces_of_counts(places[other]))
    for place, face, change in ((one, give, -1), (other, give, 1), (other, take, -1), (one, take, 1)):
        places[place][face] += change
    return history._replace(hands=hands, kitty=kitty)


def worlds_beside(history: History, viewer: int, rng: random.Random, num_tries: int) -> Iterator[Game]:
    """Play the same actions over other hidden cards, several swaps deep, and yield where the rules allow them all."""
    game = history.replay()
    kitty_is_seen = sees_kitty(game, viewer)
    world = history
    for _ in range(num_tries):
        tried = swapped(world, viewer, kitty_is_seen, rng)
        try:
            other = tried.replay()
        except IllegalActionError:
            continue
        if other.hand_number == game.hand_number:
            world = tried
            yield other


def with_other_gifts(history: History, giver: int) -> History | None:
    """Let a seat give another card, dealt to its receiver before, so that the receiver ends with the same hand."""
    first = (history.dealer + 1) % len(history.hands)
    place = NUM_PASSED * ((giver - first) % len(history.hands))
    receiver = (giver + history.rules.pass_offset(0)) % len(history.hands)
    start = NUM_PASSED * ((receiver - first) % len(history.hands))
    gift = history.actions[place]
    kept = history.hands[receiver].copy()
    np.subtract.at(kept, history.actions[start : start + NUM_PASSED], 1)
    instead = next((face for face in faces_of_counts(kept) if face != gift), None)
    if instead is None:
        return None
    hands, actions = history.hands.copy(), history.actions.copy()
    for seat, face, change in ((giver, gift, -1), (giver, instead, 1), (receiver, instead, -1), (receiver, gift, 1)):
        hands[seat, face] += change
    actions[place] = instead
    return history._replace(hands=hands, actions=actions)


def turned(history: History, places: int) -> History:
    """Seat everybody that many places further to the left."""
    num_players = len(history.hands)
    return history._replace(
        hands=np.roll(history.hands, places, axis=0), dealer=(history.dealer + places) % num_players
    )


# Redealt


@pytest.mark.parametrize("num_players", SIZES)
def test_redeal_changes_nothing_the_viewer_is_shown_at_random_moments(num_players: int) -> None:
    """R7, R18: observation, mask and text are bit for bit the same over redealt cards, in the pass and in play."""
    rng, numpy_rng = random.Random(num_players), np.random.default_rng(num_players)
    num_changed = 0
    for _ in range(fewer(5, 1)):
        game = Game(random_rules(num_players, rng, max_hands=2), seed=rng.randrange(2**64))
        for moment in play(game, rng):
            if rng.random() > fewer(50, 10) / 100:
                continue
            viewer = rng.randrange(num_players)
            other = moment.redeal(viewer, numpy_rng)
            assert_looks_the_same(moment, other, viewer)
            num_changed += any((moment.hand(seat) != other.hand(seat)).any() for seat in range(num_players))
    assert num_changed > 10  # the test would be empty if nothing were ever dealt anew


@pytest.mark.parametrize("kitty_view", KITTY_VIEWS)
@pytest.mark.parametrize("num_players", SIZES)
def test_redeal_changes_nothing_the_viewer_is_shown_when_a_moon_is_chosen_or_over(
    num_players: int, kitty_view: str
) -> None:
    """R21: the same in the two phases that random play seldom or only once comes to."""
    rng, numpy_rng = random.Random(num_players), np.random.default_rng(num_players)
    game = moon_history(num_players, rng, kitty_view=kitty_view, max_hands=1).replay()
    for phase in ("moon", "over"):
        assert game.phase == phase
        for viewer in range(num_players):
            assert_looks_the_same(game, game.redeal(viewer, numpy_rng), viewer)
        if phase == "moon":
            game.step(53)


# Swapped by hand


@pytest.mark.parametrize("kitty_view", KITTY_VIEWS)
@pytest.mark.parametrize("num_players", SIZES)
def test_hidden_cards_leave_no_trace_when_the_same_actions_are_taken_over_others(
    num_players: int, kitty_view: str
) -> None:
    """R7, R18: the same public history over exchanged hidden cards shows a seat the same, bit for bit."""
    rng = random.Random(300 + num_players)
    num_worlds = {"pass": 0, "play": 0}
    for number in range(fewer(60, 2)):
        passes = number % 2 == 0
        rules = random_rules(num_players, rng, kitty_view=kitty_view, pass_cycle=(rng.choice((1, -1, 3)),))
        num_steps = rng.randrange(3 * num_players) if passes else 3 * num_players + rng.randrange(5 * num_players)
        history = random_history(rules, rng, num_steps)
        game = history.replay()
        viewer = rng.randrange(num_players) if rng.random() < 0.5 else game.mover
        assert viewer is not None
        for other in worlds_beside(history, viewer, rng, fewer(15, 5)):
            num_worlds[game.phase] += 1
            assert_looks_the_same(game, other, viewer)
    assert min(num_worlds.values()) >= fewer(100, 1), num_worlds


@pytest.mark.parametrize("offset", [1, -1, 2])
@pytest.mark.parametrize("num_players", SIZES)
def test_cards_that_others_passed_leave_no_trace_when_play_is_the_same_to_the_end(
    num_players: int, offset: int
) -> None:
    """R7: who gave what is known to giver and receiver alone, in every phase up to `over`."""
    rng = random.Random(400 + num_players)
    rules = Rules(num_players, max_hands=1, pass_cycle=(offset,))
    histories = [random_history(rules, rng) for _ in range(fewer(4, 0))]
    histories.append(moon_history(num_players, rng, pass_cycle=(offset,), max_hands=1))
    for history in histories:
        giver = rng.randrange(num_players)
        changed = with_other_gifts(history, giver)
        assert changed is not None
        others = [seat for seat in range(num_players) if seat not in (giver, (giver + offset) % num_players)]
        game, other = history.begin(), changed.begin()
        for action, changed_action in zip(history.actions, changed.actions, strict=True):
            for viewer in others:
                assert game.observation(viewer).tobytes() == other.observation(viewer).tobytes()
            game.step(action)
            other.step(changed_action)
        assert game.phase in ("moon", "over")
        for viewer in others:
            assert_looks_the_same(game, other, viewer)


def test_received_cards_are_not_shown_before_everyone_has_chosen() -> None:
    """R7: what one is given does not stand in one's observation, text or hand until the exchange."""
    rng = random.Random(5)
    history = random_history(Rules(7), rng, 3 * 7 - 1)
    game = history.replay()
    assert game.phase == "pass"
    for seat in range(7):
        known = decode(game.observation(seat))
        assert not known.received.any()
        assert "Got" not in text_seen_by(game, seat)
        assert (known.hand + known.given == history.hands[seat]).all()
    game.step(game.legal_actions()[0])
    for seat in range(7):
        assert np.array_equal(decode(game.observation(seat)).received, game.given((seat - 1) % 7))
        assert "Got" in text_seen_by(game, seat)


# The kitty


class KittyPair(NamedTuple):
    """Two games with the same actions but for the last, which plays in one what lies in the other's kitty."""

    one: History
    other: History
    holder: int  # of the card that differs


@cache
def kitty_pair(num_players: int, kitty_to: Any) -> KittyPair:
    """Search for a hand whose last card can change places with a card of the kitty that is worth other points."""
    rng = random.Random(500 + num_players)
    rules = Rules(num_players, max_hands=1, moon="off", pass_cycle=(0,), kitty_to=kitty_to)
    while True:
        history = random_history(rules, rng)
        last = history.actions[-1]
        holder = history._replace(actions=history.actions[:-1]).replay().mover
        assert holder is not None
        for hidden in faces_of_counts(history.kitty):
            if FACE_POINTS[hidden] == FACE_POINTS[last]:
                continue
            hands, kitty = history.hands.copy(), history.kitty.copy()
            np.add.at(hands[holder], [last, hidden], [-1, 1])
            np.add.at(kitty, [last, hidden], [1, -1])
            other = history._replace(hands=hands, kitty=kitty, actions=[*history.actions[:-1], hidden])
            try:
                other.replay()
            except IllegalActionError:
                continue
            return KittyPair(history, other, holder)


@pytest.mark.parametrize("reward", ["points", "relative", "win"])
@pytest.mark.parametrize("kitty_to", ["first_winner", "last_winner"])
@pytest.mark.parametrize("num_players", [size for size in SIZES if 104 % size])
def test_kitty_is_not_told_before_the_hand_is_scored_when_nobody_may_see_it(
    num_players: int, kitty_to: str, reward: Any
) -> None:
    """R18: rewards, scores, points seen, observations and text are the same whatever the kitty holds."""
    pair = kitty_pair(num_players, kitty_to)
    envs = [cancellation_hearts_v0.raw_env(rules=pair.one.rules, reward=reward, render_mode="ansi") for _ in "ab"]
    for env, history in zip(envs, pair[:2], strict=True):
        env.reset(options={"game": history.begin()})
    one, other = envs
    for action in pair.one.actions[:-1]:
        assert one.rewards == other.rewards == dict.fromkeys(one.possible_agents, 0.0)
        assert one._cumulative_rewards == other._cumulative_rewards == one.rewards
        if one.game.mover != pair.holder:
            assert one.render() == other.render()
        for viewer in {(pair.holder + 1) % num_players, one.game.mover or 0} - {pair.holder}:
            assert_looks_the_same(one.game, other.game, viewer)
        for env in envs:
            env.step(action)
    one.step(pair.one.actions[-1])
    other.step(pair.other.actions[-1])
    assert one.game.phase == other.game.phase == "over"


@pytest.mark.parametrize("kitty_view", KITTY_VIEWS)
@pytest.mark.parametrize("num_players", SIZES)
def test_kitty_is_shown_to_whom_kitty_view_says_when_it_is_taken(num_players: int, kitty_view: str) -> None:
    """R18: nobody, its taker or everyone sees the kitty's cards, from the moment it is taken and not before."""
    rng = random.Random(600 + num_players)
    for _ in range(fewer(4, 1)):
        rules = random_rules(num_players, rng, kitty_view=kitty_view, max_hands=1)
        for game in play(Game(rules, seed=rng.randrange(2**64)), rng):
            for viewer in {rng.randrange(num_players), game.kitty_taker or 0}:
                shown = decode(game.observation(viewer)).kitty_cards
                assert shown == (faces_of_counts(game.kitty) if sees_kitty(game, viewer) else [])


# Masks, rotations


@pytest.mark.parametrize("num_players", SIZES)
def test_masks_of_seats_that_are_not_to_move_are_zero_at_every_step(num_players: int) -> None:
    """Contract, mask: it shows a hand, so it belongs to the mover alone; all one once the episode is over."""
    rng = random.Random(700 + num_players)
    env = cancellation_hearts_v0.raw_env(
        rules=random_rules(num_players, rng), episode="hand", observation_dtype=np.int8
    )
    env.reset(seed=num_players)
    while not env.game.is_over:
        legal = env.game.legal_actions()
        for agent in env.possible_agents:
            mask = env.observe(agent)["action_mask"]
            expected = legal if agent == env.agent_selection else []
            assert np.flatnonzero(mask).tolist() == expected
            assert set(mask.tolist()) <= {0, 1}
        env.step(rng.choice(legal))
    for agent in env.possible_agents:
        assert env.observe(agent)["action_mask"].all()


@pytest.mark.parametrize("num_players", SIZES)
def test_rotation_of_the_seats_changes_nothing_but_who_is_who(num_players: int) -> None:
    """Contract, observation: seats are relative to the viewer, so turned tables show the turned seats the same."""
    rng = random.Random(800 + num_players)
    histories = [random_history(random_rules(num_players, rng, max_hands=1), rng) for _ in range(fewer(3, 0))]
    histories.append(moon_history(num_players, rng, max_hands=1))
    for history in histories:
        places = rng.randrange(1, num_players)
        game, other = history.begin(), turned(history, places).begin()
        for action in [*history.actions, None]:
            assert np.array_equal(np.roll(game.scores, places), other.scores)
            assert game.action_mask().tobytes() == other.action_mask().tobytes()
            for seat in range(num_players):
                seen = other.observation((seat + places) % num_players)
                assert game.observation(seat).tobytes() == seen.tobytes(), f"seat {seat} of {game}"
            if action is not None:
                game.step(action)
                other.step(action)
