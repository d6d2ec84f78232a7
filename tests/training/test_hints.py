"""Hints of the network that comes with the project."""

from __future__ import annotations

import numpy as np

from chearts_env import Game, Rules
from chearts_env.cards import face_from_text
from chearts_env.play_hints import adviser_named
from chearts_env.play_table import PlayTable
from chearts_env.policy import RandomLegal
from training.names import PRETRAINED, policy_named


def test_pretrained_gives_each_allowed_card_its_value():
    """By its short name; the card that it would play first, and each card once."""
    adviser = adviser_named(PRETRAINED, [])
    table = PlayTable(Game(Rules(6), 2), 0, [("random", RandomLegal())], adviser=adviser)
    while not table.is_persons_turn:
        table.step()
    first, *lines = table.hints()
    assert first == "pretrained, best first:"
    assert sorted(face_from_text(line[:2]) for line in lines) == table.game.legal_actions()
    seen, mask = table.game.observation(0)[None], table.game.action_mask()[None]
    chosen = policy_named(PRETRAINED).act(seen, mask, np.random.default_rng(0))[0]
    assert face_from_text(lines[0][:2]) == chosen
    points = policy_named(PRETRAINED).points(seen, mask)[0]  # type: ignore[attr-defined]
    worst = points[chosen] - points[table.game.legal_actions()].min()
    assert lines[-1].endswith(f"  {worst:.1f} points worse than {lines[0][:2]}")
