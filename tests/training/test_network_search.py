"""Search with a network: legal, by its seed alone, no memory, blind to hidden cards; and its names."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from baselines.careful import Careful
from baselines.careful.weights import new_weights
from chearts_env import Game, Rules, VectorTables
from chearts_env.arena import play_match
from chearts_env.observation import field_values
from chearts_env.policy import ValuingPolicy
from training.checkpoint import SELF_PLAY, save_checkpoint
from training.config import Config, CriticConfig, NetworkConfig
from training.fit import new_network
from training.foresight import Foresight, load_foresight
from training.names import policy_named, settled_name
from training.network_search import NetworkSearch
from training.outcomes import new_critic
from training.policy import ValuePolicy

RULES = [preset(size) for preset in (Rules.card_page, Rules.classic) for size in (6, 11)]


def careful_network() -> ValuePolicy:
    """A network that plays as `careful` does: it counts the cost of a card and nothing else."""
    network = new_network(NetworkConfig(8, 1, careful=True), 0, 0)
    for weight in network.parameters():
        weight.data.zero_()
    network.card_path.bias.data[5] = -1.0
    return ValuePolicy(network)


def drawn_foresight(ahead: int) -> Foresight | None:
    """A critic of weights drawn at random, to which every card of every hand matters; none for 0."""
    if not ahead:
        return None
    critic = new_critic(new_network(NetworkConfig(8, 1, careful=True), 0, 0), CriticConfig(width=8), 0, 1)
    generator = torch.Generator().manual_seed(1)
    for weight in critic.parameters():
        weight.data.normal_(generator=generator)
    return Foresight(critic, new_weights(), torch.float32, ahead)


@pytest.mark.parametrize("ahead", [0, 1], ids=["played out", "with a critic"])
def test_search_takes_allowed_actions_by_its_seed_alone(ahead):
    """The same rows and seed, the same answer, whatever else was asked before."""
    tables, search = VectorTables(RULES, 8, seed=2), NetworkSearch(careful_network(), 3, drawn_foresight(ahead))
    for step in range(60):
        seen, masks = tables.observations, tables.action_masks
        actions = search.act(seen, masks, np.random.default_rng(step))
        if step % 10 == 0:
            other = NetworkSearch(careful_network(), 3, drawn_foresight(ahead))
            again = other.act(seen.copy(), masks.copy(), np.random.default_rng(step))
            np.testing.assert_array_equal(actions, again)
        tables.step(actions)  # refuses what is not allowed


@pytest.mark.parametrize("ahead", [0, 2], ids=["played out", "with a critic"])
def test_search_knows_no_more_than_its_observation(ahead):
    """Other hidden cards, the same view: the same choice; a critic sees the hands of worlds, not those at the table."""
    search = NetworkSearch(careful_network(), 4, drawn_foresight(ahead))
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


def holding_on_to(face: int) -> Foresight:
    """A critic that gives nine points to whoever still has a card."""

    class HoldingOn(Foresight):
        def points(self, observations, masks, hidden):
            return 9 * (field_values(observations, "hand")[:, face] > 0).astype(np.float32)

    drawn = drawn_foresight(1)
    assert drawn is not None
    return HoldingOn(drawn.critic, drawn.constants, torch.float32, 1)


def test_search_does_what_the_critic_likes(monkeypatch):
    """Of cards to give away that the network holds alike, one that the critic would keep stays, any other goes."""
    game = Game(Rules(8), seed=4, episode="hand")
    assert game.mover is not None
    seen, mask = game.observation(game.mover)[None], game.action_mask()[None]
    alike = careful_network()
    monkeypatch.setattr(alike, "points", lambda observations, masks: np.where(masks, 0.0, -np.inf))
    kept = [face for face in game.legal_actions() if field_values(seen, "hand")[0, face] == 1]
    assert len(kept) > 3
    for face in kept:
        chosen = NetworkSearch(alike, 8, holding_on_to(face)).act(seen, mask, np.random.default_rng(1))[0]
        assert chosen != face
    only = np.zeros_like(mask)
    only[0, kept[:2]] = 1
    for face, other in (kept[:2], kept[1::-1]):
        assert NetworkSearch(alike, 8, holding_on_to(face)).act(seen, only, np.random.default_rng(1))[0] == other


def test_critic_of_a_checkpoint_is_asked_by_search_and_one_that_is_damaged_refused(tmp_path):
    """Saved beside the weights; none there, none asked; half a file is named."""
    shape, settings = NetworkConfig(8, 1), CriticConfig(width=8)
    network = new_network(shape, 0, 0)
    critic = new_critic(network, settings, 0, 1)
    for weight in critic.parameters():
        weight.data.normal_()
    save_file(dict(critic.state_dict()), tmp_path / "critic")
    config = Config(network=shape, critic=settings)
    place = save_checkpoint(tmp_path, network, config, 1, tmp_path / "critic")
    loaded = load_foresight(place, torch.float32, 1)
    assert loaded is not None
    for one, other in zip(loaded.critic.parameters(), critic.parameters(), strict=True):
        assert torch.equal(one, other)
    assert load_foresight(save_checkpoint(tmp_path, network, config, 2), torch.float32, 1) is None
    (place / "critic.safetensors").write_bytes((place / "critic.safetensors").read_bytes()[:100])
    with pytest.raises(ValueError, match="00000001 is damaged"):
        policy_named(f"{place}+search:2")


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
