"""Search with a network: legal, by its seed alone, no memory, blind to hidden cards; and its names."""

from __future__ import annotations

import numpy as np
import pytest

from baselines.careful import Careful
from chearts_env import Game, Rules, VectorTables
from chearts_env.arena import play_match
from chearts_env.policy import ValuingPolicy
from training.checkpoint import SELF_PLAY, save_checkpoint
from training.config import Config, NetworkConfig
from training.fit import new_network
from training.names import policy_named, settled_name
from training.network_search import NetworkSearch
from training.policy import ValuePolicy

RULES = [preset(size) for preset in (Rules.card_page, Rules.classic) for size in (6, 11)]


def careful_network() -> ValuePolicy:
    """A network that plays as `careful` does: it counts the cost of a card and nothing else."""
    network = new_network(NetworkConfig(8, 1, careful=True), 0, 0)
    for weight in network.parameters():
        weight.data.zero_()
    network.card_path.bias.data[5] = -1.0
    return ValuePolicy(network)


def test_search_takes_allowed_actions_by_its_seed_alone():
    """The same rows and seed, the same answer, whatever else was asked before."""
    tables, search = VectorTables(RULES, 8, seed=2), NetworkSearch(careful_network(), 3)
    for step in range(60):
        seen, masks = tables.observations, tables.action_masks
        actions = search.act(seen, masks, np.random.default_rng(step))
        if step % 10 == 0:
            again = NetworkSearch(careful_network(), 3).act(seen.copy(), masks.copy(), np.random.default_rng(step))
            np.testing.assert_array_equal(actions, again)
        tables.step(actions)  # refuses what is not allowed


def test_search_knows_no_more_than_its_observation():
    """Other hidden cards, the same view: the same choice."""
    search = NetworkSearch(careful_network(), 4)
    rng = np.random.default_rng(0)
    game = Game(Rules(8), seed=4, episode="hand")
    for step in range(70):
        mover = game.mover
        assert mover is not None
        seen, mask = game.observation(mover)[None], game.action_mask()[None]
        chosen = search.act(seen, mask, np.random.default_rng(step))
        other = game.redeal(mover, rng)
        assert search.act(other.observation(mover)[None], mask, np.random.default_rng(step)) == chosen
        game.step(int(Careful().act(seen, mask, rng)[0]))


@pytest.mark.slow
def test_search_is_no_worse_than_the_player_that_its_network_is():
    """Six seats, among `careful`: what a few deals can tell; a sign turned round somewhere would cost points a hand."""
    match = play_match(NetworkSearch(careful_network(), 8), Careful(), Rules.card_page(6), 16, seed=3)
    assert match.interval95[1] > 0


def test_row_that_allows_nothing_is_refused():
    """As by every policy of a network."""
    tables = VectorTables(RULES, 4, seed=2)
    masks = tables.action_masks.copy()
    masks[2] = 0
    with pytest.raises(ValueError, match="row 2 allows no action"):
        NetworkSearch(careful_network(), 3).act(tables.observations, masks, np.random.default_rng(0))


def test_network_from_self_play_has_no_points_to_search_or_hint_with(tmp_path):
    """It puts out preferences; whoever asks for points is told, and gets none."""
    shape = NetworkConfig(8, 1)
    for what, step in (("fitted", 1), (SELF_PLAY, 2)):
        save_checkpoint(tmp_path, new_network(shape, 0, 0), Config(network=shape), step, what=what)
    fitted, played = tmp_path / "00000001", tmp_path / "00000002"
    assert isinstance(policy_named(str(fitted)), ValuingPolicy)
    assert not isinstance(policy_named(str(played)), ValuingPolicy)
    assert isinstance(policy_named(f"{fitted}+search:2"), NetworkSearch)
    with pytest.raises(ValueError, match="comes from self-play, so that it puts out preferences; search needs points"):
        policy_named(f"{played}+search:2")


def test_names_with_search_stand_for_it(tmp_path):
    """`RUN+search:K`, settled on the newest checkpoint; what stands for nothing is refused."""
    shape = NetworkConfig(8, 1)
    save_checkpoint(tmp_path / "checkpoints", new_network(shape, 0, 0), Config(network=shape), 3)
    name = f"{tmp_path}+search:4"
    assert isinstance(policy_named(name), NetworkSearch)
    assert settled_name(name) == f"{tmp_path / 'checkpoints' / '00000003'}+search:4"
    assert settled_name("search:4") == "search:4"
    for wrong in ("nothing+search:4", f"{tmp_path}+search:0", f"{tmp_path}+search"):
        with pytest.raises(ValueError, match=r"nothing|search"):
            policy_named(wrong)
