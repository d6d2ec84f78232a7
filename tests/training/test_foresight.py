"""Playouts that a critic ends, against a slow replay; what a critic is shown and learns from, against the tables."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
import torch

from baselines.low_card import LowCard
from chearts_env import Game
from chearts_env.cards import BLACK_MARIA, NUM_FACES
from chearts_env.observation import field_values
from chearts_env.table import MOON, NUM_ACTIONS, PASS
from tests.sizes import moon_history
from tests.training.decisions import ALL_RULES, decision, name_of
from training import labels, outcomes
from training.config import CriticConfig, LabelsConfig
from training.critic import Critic
from training.foresight import NUM_HIDDEN, Foresight, hidden_from_movers
from training.labels import Chunk
from training.network import Network
from training.outcomes import fit_critic, make_outcomes, new_critic, returns_of
from training.players import CAREFUL, LOW_CARD, NETWORK, RANDOM_LEGAL
from training.playouts import network_values

EVERYTHING = np.ones((1, NUM_ACTIONS), np.bool_)


def low_cards(observations: np.ndarray, masks: np.ndarray) -> np.ndarray:
    """A network that plays the low card."""
    return LowCard().act(observations, masks, np.random.default_rng(0))


def low_card_action(game: Game) -> int:
    """What it does at a game."""
    assert game.mover is not None
    return int(low_cards(game.observation(game.mover)[None], game.action_mask()[None])[0])


def slow_hidden(game: Game, players: np.ndarray) -> np.ndarray:
    """What a critic is shown at a game, card by card."""
    table = game._tables[0]
    size, mover = game.rules.num_players, game.mover
    assert mover is not None
    hands = np.zeros((11, 52), int)
    kinds = np.zeros((3, 11), int)
    for relative in range(size):
        seat = (mover + relative) % size
        if relative:
            hands[relative] += table["private"][seat]["hand"]
            for place, kind in enumerate((CAREFUL, LOW_CARD, RANDOM_LEGAL)):
                kinds[place, relative] = players[seat] == kind
        if table["public"]["phase"] == PASS:
            offset = int(table["public"]["board"]["pass_offset"])
            for card in table["private"][seat]["given"]:
                if card:
                    hands[(relative + offset) % size, card - 1] += 1
    return np.concatenate([hands.ravel(), kinds.ravel()])


class Weighing(Critic):
    """A critic that gives every hidden entry a weight, and counts what is taken."""

    def __init__(self) -> None:
        super().__init__(1, 1, 1, NUM_HIDDEN)
        self.weights = torch.from_numpy(np.random.default_rng(8).normal(size=NUM_HIDDEN).astype(np.float32))

    def forward(self, features: torch.Tensor, hidden: torch.Tensor, taken: torch.Tensor) -> torch.Tensor:
        """Return the weighted sum."""
        return hidden.float() @ self.weights + taken


def slow_worth(game: Game, action: int, ahead: int, players: np.ndarray) -> float:
    """What an action comes to: played on through `Game` to the decision that the critic judges, or to the end."""
    seat, tried = game.mover, game.copy()
    tried.step(action)
    while not tried.is_over:
        table = tried._tables[0]
        if tried.mover == seat and len(tried.legal_actions()) > 1 and table["public"]["phase"] != MOON:
            ahead -= 1
            if not ahead:
                size = game.rules.num_players
                taken = table["public"]["seats"]["points_seen"][:size].astype(float)
                seen = Weighing().weights.numpy() @ slow_hidden(tried, players)
                return float(10 * seen + taken.mean() - taken[seat])
        tried.step(low_card_action(tried))
    if game._tables["public"]["phase"][0] == MOON:
        return -float(tried.scores[seat])
    return float(tried.scores.mean() - tried.scores[seat])


def values_and_slow_ones(game: Game, ahead: int) -> tuple[np.ndarray, np.ndarray]:
    """Centred values of the allowed actions at a game whose mover and one more are the network's, by both ways."""
    size, game = game.rules.num_players, game.copy()
    game._tables["options"]["single_hand"] = 1
    players = np.full((1, 11), LOW_CARD, np.int8)
    assert game.mover is not None
    players[0, game.mover] = players[0, (game.mover + 2) % size] = NETWORK
    before = game._tables.copy()
    judge = Foresight(Weighing(), None, torch.float32, ahead)
    values = network_values(before.copy(), players, np.zeros(1, np.uint64), 1, EVERYTHING, low_cards, judge)[0]
    assert game._tables.tobytes() == before.tobytes()
    legal = game.legal_actions()
    assert np.isnan(np.delete(values, legal)).all()
    worths = np.array([slow_worth(game, action, ahead, players[0]) for action in legal])
    return values[legal], worths - worths.mean()


@pytest.mark.parametrize("rules", ALL_RULES, ids=name_of)
def test_hidden_cards_of_a_critic_are_those_of_the_table(rules):
    """At every decision of a hand: the other hands, cards on their way, who plays; with what is seen, all but kitty."""
    game = Game(rules, seed=4, episode="hand")
    players = np.random.default_rng(1).choice([CAREFUL, LOW_CARD, RANDOM_LEGAL, NETWORK], 11).astype(np.int8)
    rng = np.random.default_rng(2)
    kitty = 104 % rules.num_players
    while not game.is_over:
        hidden = hidden_from_movers(game._tables, np.array([0]), players[None])[0]
        np.testing.assert_array_equal(hidden, slow_hidden(game, players))
        assert game.mover is not None
        own = field_values(game.observation(game.mover)[None], "hand").sum()
        played = game._tables["public"]["seats"]["played"].sum()
        assert hidden[:572].sum() + own + played + kitty == 104
        game.step(int(rng.choice(game.legal_actions())))


@pytest.mark.parametrize("rules", ALL_RULES[:12], ids=name_of)
@pytest.mark.parametrize("hand_number", [0, 1])
def test_cards_on_their_way_are_shown_where_they_arrive(rules, hand_number):
    """Passed to the left and to the right: after the exchange, each is in the hand that the critic saw it in."""
    game = Game(rules, seed=6)
    while game.hand_number < hand_number or game.phase != "pass":
        game.step(game.legal_actions()[-1])
    shown = set()
    while game.phase == "pass":
        assert game.mover is not None
        hands = hidden_from_movers(game._tables, np.array([0]), np.zeros((1, 11), np.int8))[0, :572].reshape(11, 52)
        for relative in range(rules.num_players):
            seat = (game.mover + relative) % rules.num_players
            inside = game._tables["private"][0, seat]["hand"] if relative else 0
            shown |= {(seat, int(face)) for face in np.flatnonzero(hands[relative] > inside)}
        game.step(game.legal_actions()[-1])
    assert len(shown) > rules.num_players
    for seat, face in shown:
        assert game._tables["private"][0, seat]["hand"][face] > 0


@pytest.mark.parametrize("ahead", [1, 2])
@pytest.mark.parametrize("rules", ALL_RULES, ids=name_of)
def test_values_with_foresight_are_those_of_a_slow_replay_through_game(rules, ahead):
    """Every allowed action, played on to the critic or to the end, whichever comes first; then centred."""
    for seed in range(4):
        values, slow = values_and_slow_ones(decision(rules, seed), ahead)
        np.testing.assert_allclose(values, slow, atol=2e-3)


@pytest.mark.parametrize("ahead", [1, 2])
@pytest.mark.parametrize("size", range(6, 12))
def test_values_about_a_moon_are_those_of_a_slow_replay(size, ahead):
    """Up to the choice of the seat that shot it and at that choice, where its own points count (R21), no critic."""
    history = moon_history(size, random.Random(size))
    game = history.replay()
    values, slow = values_and_slow_ones(game, ahead)
    np.testing.assert_allclose(values, slow, atol=2e-3)
    assert abs(slow).max() == pytest.approx(13)
    game = history.begin()
    for action in history.actions:
        if game.mover == 1 and len(game.legal_actions()) > 1 and game.phase == "play":
            values, slow = values_and_slow_ones(game, ahead)
            np.testing.assert_allclose(values, slow, atol=2e-3)
        game.step(action)


def chunk(number: int, tables: int = 96) -> Chunk:
    """A chunk of hands of all sizes, at which low cards and worse sit."""
    settings = LabelsConfig(tables=tables, player="low_card", self_play=0.5)
    return Chunk(3, 1, number, tuple(ALL_RULES[:12]), settings)


def test_outcomes_are_what_seats_ended_with(monkeypatch):
    """Each row's points are those of its seat below the table's mean, of the hand that the row was noted in."""
    seen = []
    note = labels.note_decisions

    def noting(tables, *details, **more):
        noted, sources = note(tables, *details, **more)
        seen.append((tables.copy(), noted.copy(), sources))
        return noted, sources

    monkeypatch.setattr(outcomes, "note_decisions", noting)
    rows = make_outcomes(chunk(0), low_cards, 0.1)
    ((tables, noted, sources),) = seen
    kept = [number for number in range(len(noted)) if noted["public"]["phase"][number] != MOON]
    assert len(rows) == len(kept) > 500
    for row, number in zip(rows, kept, strict=True):
        ended, seat = tables[sources[number]], noted["public"]["mover"][number]
        size = ended["options"]["num_players"]
        changes = ended["public"]["score_changes"][:size]
        assert row["points"] == pytest.approx(changes.mean() - changes[seat], abs=1e-4)
    assert len(np.unique(sources)) == 96


def test_decisions_of_a_hand_lie_in_the_order_of_time():
    """Of every seat of the network: cards passed first, then ever fewer cards in hand; 20 decisions a hand and more."""
    rows = make_outcomes(chunk(0), low_cards, 0.0)
    left = field_values(rows["observation"], "hand").sum(axis=1)
    passes = field_values(rows["observation"], "phase")[:, PASS]
    assert len(rows) > 20 * 96
    for hand, seat in np.unique(np.stack([rows["hand"], rows["seat"]], axis=1), axis=0):
        own = (rows["hand"] == hand) & (rows["seat"] == seat)
        assert (np.diff(passes[own].astype(int)) <= 0).all()
        assert (np.diff(left[own & (passes == 0)].astype(int)) < 0).all()
        assert len(np.unique(rows["points"][own])) == 1


@pytest.mark.parametrize("trace", [0.0, 0.8, 1.0])
def test_returns_are_those_of_a_slow_sum(trace):
    """Backwards along each seat's decisions: what is paid in the end, mixed with what is foreseen on the way."""
    rows = make_outcomes(chunk(3, 12), low_cards, 0.1)
    foreseen = np.random.default_rng(1).normal(size=len(rows)).astype(np.float32)
    returns = returns_of(rows, foreseen, trace)
    following: dict[tuple[int, int], tuple[float, float]] = {}
    for number in range(len(rows) - 1, -1, -1):
        row = rows[number]
        of_whom = (int(row["hand"]), int(row["seat"]))
        if of_whom in following:
            after, later = following[of_whom]
            expected = (1 - trace) * after + trace * later
        else:
            expected = float(row["points"])
        assert returns[number] == pytest.approx(expected, abs=1e-3)
        following[of_whom] = (float(foreseen[number]), expected)


def test_outcomes_follow_from_their_chunk_alone():
    """The same chunk twice gives the same rows; the next one others."""
    assert make_outcomes(chunk(1), low_cards, 0.1).tobytes() == make_outcomes(chunk(1), low_cards, 0.1).tobytes()
    assert make_outcomes(chunk(2), low_cards, 0.1).tobytes() != make_outcomes(chunk(1), low_cards, 0.1).tobytes()


def foreseen_by(hides: bool) -> float:
    """Which share of the variance of fresh outcomes a small critic foresees, with or without what is hidden.

    The seat to the left is made to pay 20 points more for each Black Maria that it holds: too plain to be missed.
    """
    network = Network(16, 1)
    settings = CriticConfig(decisions=150_000, width=32, num_layers=1, batch_size=512, learning_rate=3e-3)
    critic = new_critic(network, settings, 1, 1)

    def shown(number: int) -> np.ndarray:
        rows = make_outcomes(chunk(number, 384), low_cards, 0.05)
        rows["points"] += 20 * rows["hidden"][:, NUM_FACES + BLACK_MARIA]
        if hides:
            rows["hidden"] = 0
        return rows

    fit_critic(critic, None, map(shown, range(100)), settings, torch.float32, np.random.default_rng(1))
    fresh = shown(1000)
    judge = Foresight(critic, None, torch.float32, 1)
    points = judge.points(fresh["observation"], fresh["mask"], fresh["hidden"])
    return float(1 - np.var(fresh["points"] - points) / np.var(fresh["points"]))


@pytest.mark.slow
def test_critic_foresees_what_seats_will_have_and_more_with_all_hands():
    """After 150,000 outcomes: a third of their variance, and much less if the hidden cards are kept away."""
    with_all = foreseen_by(hides=False)
    assert with_all > 0.3
    assert with_all > foreseen_by(hides=True) + 0.1


def test_critic_whose_time_is_over_learns_no_more():
    """Endless outcomes, a tenth of a second: it stops after some, with weights that are numbers."""
    critic = new_critic(Network(16, 1), CriticConfig(decisions=10**9, width=8), 1, 1)
    seen: list[int] = []
    rows = make_outcomes(chunk(0, 24), low_cards, 0.05)
    fit_critic(
        critic, None, itertools.repeat(rows), CriticConfig(decisions=10**9), torch.float32, np.random.default_rng(1),
        0.1, lambda count, foreseen: seen.append(count),
    )  # fmt: skip
    assert 0 < len(seen) < 1000
    assert all(torch.isfinite(weight).all() for weight in critic.parameters())


def test_critic_begins_from_its_seed_and_leaves_torch_alone():
    """Fresh weights follow from seed and round; the stream of torch is where it was."""
    network, settings = Network(16, 1), CriticConfig(width=8)
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    first, again = new_critic(network, settings, 5, 1), new_critic(network, settings, 5, 1)
    assert torch.rand(1) == expected
    for one, same in zip(first.parameters(), again.parameters(), strict=True):
        assert torch.equal(one, same)
    other = next(new_critic(network, settings, 5, 2).parameters())
    assert not torch.equal(next(first.parameters()), other)
