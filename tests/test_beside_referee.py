"""Random legal play of Game, the AEC environment and VectorTables beside the slow referee (RULES.md, all clauses).

After every step everything the contract shows is compared: phase, mover, legal actions, hands, kitty, trick, pile,
leader, trick number, hearts broken, scores, score sheet, winners, truncation, and what one seat's observation tells.
Every table size, the three presets, every single value of every option, and random combinations of options.
"""

from __future__ import annotations

import random
from itertools import product
from typing import Literal

import numpy as np
import pytest

from chearts_env import Game, IllegalActionError, Rules, VectorTables, cancellation_hearts_v0
from tests.beside import (
    OPTION_VALUES,
    PRESETS,
    SIZES,
    THINNING,
    assert_same_knowledge,
    assert_same_table,
    begin_hand_of,
    list_faces,
    mask_of,
    random_options,
    step_both,
)
from tests.deals import Options, choose_any, choose_no_pairs, choose_pairs
from tests.referee import Referee

SHORT: Options = {"target_score": 100, "max_hands": 2}
NUM_ACTIONS = 54
STEPS_BETWEEN_HANDS = 5
Episode = Literal["game", "hand"]
Reward = Literal["points", "relative", "win"]

SINGLE_OPTIONS = [{option: value} for option, values in OPTION_VALUES.items() for value in values]
SIZED_OPTIONS = list(product(SIZES, SINGLE_OPTIONS))


def name_options(options: Options | int) -> str:
    """Name a test case by its options; a table size is its own name."""
    if isinstance(options, int):
        return str(options)
    return "_".join(f"{option}={value}".replace(" ", "") for option, value in options.items()) or "defaults"


def make_referee(options: Options, game: Game) -> Referee:
    """Seat a referee at the first hand of a Game."""
    referee = Referee(options)
    begin_hand_of(game, referee)
    return referee


def assert_refuses_all_but(game: Game, referee: Referee) -> None:
    """Try every action the referee calls illegal: each is refused and leaves no trace."""
    before = game.to_bytes()
    for action in sorted(set(range(NUM_ACTIONS)) - set(referee.legal_actions())):
        with pytest.raises(IllegalActionError):
            game.step(action)
    assert game.to_bytes() == before


def play_game(options: Options, seed: int) -> None:
    """Play one whole Game beside the Referee, in one of three manners of play, trying illegal actions now and then."""
    rng = random.Random(seed)
    choose = rng.choice([choose_any, choose_no_pairs, choose_pairs])
    game = Game(Rules(**options), seed=seed)
    referee = make_referee(options, game)
    assert_same_table(game, referee)
    while not referee.is_over:
        if rng.random() < 0.02:
            assert_refuses_all_but(game, referee)
        step_both(game, referee, choose(referee, rng))
        assert_same_table(game, referee)
        assert_same_knowledge(game, referee, viewer=rng.randrange(referee.num_players))
    assert_refuses_all_but(game, referee)


@pytest.mark.parametrize(("num_players", "preset"), list(product(SIZES, PRESETS)))
def test_game_agrees_with_referee_under_presets(num_players: int, preset: str) -> None:
    """The three presets are the options RULES.md says they are, played to a target of 100 (R1 to R25)."""
    options = {"num_players": num_players, **PRESETS[preset]}
    assert getattr(Rules, preset)(num_players) == Rules(**options)
    play_game({**options, "target_score": 100}, seed=1000 + num_players)


@pytest.mark.parametrize(("num_players", "option"), SIZED_OPTIONS, ids=name_options)
def test_game_agrees_with_referee_for_each_option_value(num_players: int, option: Options) -> None:
    """Each value of each option, at each table size, in short games (RULES.md, options)."""
    play_game({"num_players": num_players, **SHORT, **option}, seed=2000 + num_players)


@pytest.mark.parametrize(("num_players", "seed"), list(product(SIZES, range(3000, 3012))))
def test_game_agrees_with_referee_under_random_combinations(num_players: int, seed: int) -> None:
    """Options drawn together at random do not disturb one another (RULES.md, options)."""
    options = random_options(num_players, random.Random(seed))
    play_game({**options, "max_hands": min(options["max_hands"] or 2, 2)}, seed)


def expected_rewards(referee: Referee, num_hands_before: int, reward: Reward) -> list[float]:
    """Say what a step must pay each seat: nothing unless it scored a hand (DESIGN.md, reward)."""
    nothing = [0.0] * referee.num_players
    if len(referee.score_sheet) == num_hands_before:
        return nothing
    changes = referee.score_sheet[-1]
    if reward == "points":
        return [-float(change) for change in changes]
    if reward == "relative":
        return [sum(changes) / referee.num_players - change for change in changes]
    if not referee.is_over:
        return nothing
    return [1 / len(referee.winners) if seat in referee.winners else 0.0 for seat in range(referee.num_players)]


@pytest.mark.parametrize(
    ("num_players", "reward", "seed"),
    list(product(SIZES, ["points", "relative", "win"], [4001, 4002, 4003])),
)
def test_aec_environment_agrees_with_referee(num_players: int, reward: Reward, seed: int) -> None:
    """Agent to act, masks, rewards, ends and the Game underneath, in whole games of random options (R1 to R25)."""
    rng = random.Random(seed)
    options = {**random_options(num_players, rng), "target_score": 100, "max_hands": 2}
    env = cancellation_hearts_v0.raw_env(rules=Rules(**options), reward=reward)
    env.reset(seed=seed)
    referee = make_referee(options, env.unwrapped.game)
    while not referee.is_over:
        agent = env.agent_selection
        assert agent == f"player_{referee.mover}"
        assert np.array_equal(env.observe(agent)["action_mask"], mask_of(referee.legal_actions()))
        other = rng.randrange(num_players)
        if other != referee.mover:
            assert not env.observe(f"player_{other}")["action_mask"].any()
        num_hands = len(referee.score_sheet)
        action = choose_any(referee, rng)
        env.step(action)
        referee.step(action)
        if referee.phase == "deal":
            begin_hand_of(env.unwrapped.game, referee)
        assert_same_table(env.unwrapped.game, referee)
        paid = [env.rewards[f"player_{seat}"] for seat in range(num_players)]
        assert paid == pytest.approx(expected_rewards(referee, num_hands, reward))
        assert set(env.truncations.values()) == {referee.is_truncated}
        assert set(env.terminations.values()) == {referee.is_over and not referee.is_truncated}


class Follower:
    """The referee's side of one slot of VectorTables: it learns each deal from the hidden hands, nothing else.

    The direction of a pass cannot be seen in a deal. So where it is drawn (episode "hand") there is one referee for
    every direction it may be, and those the slot contradicts are dropped.
    """

    def __init__(self, options: Options, episode: Episode, reward: Reward) -> None:
        """Follow a slot with these options."""
        self.options = options
        self.episode = episode
        self.reward = reward
        self.num_players: int = options["num_players"]
        self.referees: list[Referee] = []

    @property
    def referee(self) -> Referee:
        """Any referee that is not contradicted yet."""
        return self.referees[0]

    def begin_episode(self, mover: int, hands_from_mover: np.ndarray) -> None:
        """Seat new referees at the first hand of an episode."""
        offsets: tuple[int | None, ...] = (None,)
        if self.episode == "hand":
            offsets = tuple(set(self.options.get("pass_cycle", (1, -1))))
        self.referees = [Referee(self.options) for _ in offsets]
        for referee, offset in zip(self.referees, offsets, strict=True):
            self.begin_hand(referee, (mover - 1) % self.num_players, 0, mover, hands_from_mover, offset)

    def begin_hand(
        self, referee: Referee, dealer: int, number: int, mover: int, hands_from_mover: np.ndarray, offset: int | None
    ) -> None:
        """Read the deal off the hidden hands; what they lack of two packs is the kitty."""
        hands = self.list_hands(mover, hands_from_mover)
        referee.begin_hand(hands, list_faces(2 - hands_from_mover.sum(axis=0)), dealer, number, offset)

    def begin_next_hand(self, mover: int, hands_from_mover: np.ndarray) -> None:
        """Go on with the next hand of a game (R6, R8)."""
        referee = self.referee
        assert referee.dealer is not None
        assert referee.hand_number is not None
        self.referees = [referee]
        dealer = referee.left_of(referee.dealer)
        self.begin_hand(referee, dealer, referee.hand_number + 1, mover, hands_from_mover, None)

    def drop_contradicted(self, mover: int, mask: np.ndarray) -> None:
        """Keep the referees that agree with the slot in mover and mask; there must be one."""
        legal = np.flatnonzero(mask).tolist()
        agreeing = [each for each in self.referees if (each.mover, each.legal_actions()) == (mover, legal)]
        assert agreeing, f"slot shows P{mover} {legal}\nunder {self.options}\n{self.referee}"
        self.referees = agreeing

    def drop_contradicted_by_hands(self, mover: int, hands_from_mover: np.ndarray) -> None:
        """Keep the referees that agree with the slot in all hands; there must be one."""
        hands = self.list_hands(mover, hands_from_mover)
        agreeing = [each for each in self.referees if each.hands == hands]
        assert agreeing, f"slot holds {hands}\nunder {self.options}\n{self.referee}"
        self.referees = agreeing

    def list_hands(self, mover: int, hands_from_mover: np.ndarray) -> list[list[int]]:
        """Number the hands of a slot as the referee does."""
        return [list_faces(hands_from_mover[(seat - mover) % self.num_players]) for seat in range(self.num_players)]

    def step(self, action: int) -> tuple[list[float], bool, bool]:
        """Take the action in every referee left; give the pay, and whether the episode is terminated or truncated."""
        num_hands = len(self.referee.score_sheet)
        for referee in self.referees:
            referee.step(action)
        referee = self.referee
        paid = expected_rewards(referee, num_hands, self.reward)
        hand_ended = len(referee.score_sheet) > num_hands
        is_terminated = (referee.is_over and not referee.is_truncated) or (self.episode == "hand" and hand_ended)
        return paid, is_terminated, referee.is_truncated and not is_terminated


def follow_tables(tables: VectorTables, followers: list[Follower], num_steps: int, rng: random.Random) -> int:
    """Play a batch beside one follower per slot; give the number of episodes that ended."""
    num_episodes = 0

    def hands_of(slot: int) -> np.ndarray:
        return tables.hidden_hands()[slot, : followers[slot].num_players]

    for slot, follower in enumerate(followers):
        follower.begin_episode(int(tables.movers[slot]), hands_of(slot))
    for number in range(num_steps):
        hidden_hands = tables.hidden_hands() if number % STEPS_BETWEEN_HANDS == 0 else None  # (B, 11, 52)
        for slot, follower in enumerate(followers):
            follower.drop_contradicted(int(tables.movers[slot]), tables.action_masks[slot])
            if hidden_hands is not None:
                hands = hidden_hands[slot, : follower.num_players]
                follower.drop_contradicted_by_hands(int(tables.movers[slot]), hands)
        actions = [choose_any(follower.referee, rng) for follower in followers]
        tables.step(np.array(actions))
        for slot, (follower, action) in enumerate(zip(followers, actions, strict=True)):
            paid, is_terminated, is_truncated = follower.step(action)
            mover, num_players, referee = int(tables.movers[slot]), follower.num_players, follower.referee
            assert tables.rewards[slot].tolist() == pytest.approx(paid + [0.0] * (11 - num_players), abs=1e-5)
            assert (bool(tables.terminations[slot]), bool(tables.truncations[slot])) == (is_terminated, is_truncated)
            if is_terminated or is_truncated:
                assert tables.final_scores[slot, :num_players].tolist() == referee.scores
                follower.begin_episode(mover, hands_of(slot))
                num_episodes += 1
            elif referee.phase == "deal":
                follower.begin_next_hand(mover, hands_of(slot))
    return num_episodes


def follow_options(options: list[Options], episode: Episode, reward: Reward, num_steps: int, seed: int) -> int:
    """Play a batch of one table for each set of options beside the referee; give the number of episodes that ended."""
    rules = [Rules(**each) for each in options]
    tables = VectorTables(rules, num_tables=len(rules), seed=seed, episode=episode, reward=reward)
    followers = [Follower(each, episode, reward) for each in options]
    return follow_tables(tables, followers, num_steps, random.Random(seed))


def test_vector_tables_agree_with_referee_in_games() -> None:
    """A batch of all sizes and every second option value, game after game by auto-reset (R1 to R25)."""
    options = [{"num_players": size, **SHORT, **option} for size, option in SIZED_OPTIONS[:: 2 * THINNING]]
    assert follow_options(options, "game", "points", num_steps=330, seed=51) > len(options) / 2


@pytest.mark.parametrize("reward", ["relative", "win"])
def test_vector_tables_pay_what_the_referee_says(reward: Reward) -> None:
    """The other two rewards, in short games by auto-reset (R20 to R25)."""
    options = [{"num_players": size, **SHORT, **preset} for size in SIZES for preset in PRESETS.values()][::THINNING]
    assert follow_options(options, "game", reward, num_steps=600, seed=53) > len(options)


def test_vector_tables_agree_with_referee_in_single_hands() -> None:
    """A batch of all sizes and every other option value, hand after hand, the pass drawn from its cycle (R8)."""
    options = [{"num_players": size, **option} for size, option in SIZED_OPTIONS[1 :: 2 * THINNING]]
    assert follow_options(options, "hand", "points", num_steps=300, seed=61) > len(options)


def test_vector_tables_agree_with_referee_under_random_combinations() -> None:
    """A batch of 40 tables of random sizes and options, game after game (RULES.md, options)."""
    rng = random.Random(71)
    options = [{**random_options(rng.choice(SIZES), rng), "target_score": 100} for _ in range(40)][::THINNING]
    assert follow_options(options, "game", "points", num_steps=500, seed=72) > len(options)
