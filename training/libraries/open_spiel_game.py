"""Cancellation Hearts as an OpenSpiel game, `pyspiel.load_game("python_cancellation_hearts(players=6)")`.

One hand. Cards are dealt by chance nodes, one each, then the dealer and the pass direction are drawn; every rule is the
engine's. Returns are points below the table's mean, so they sum to zero. Information-set search works: states can be
resampled from what a player knows. `python -m training.libraries.open_spiel_game` has ISMCTS play at 6 seats.
"""

# ruff: noqa: T201 - printing is this command's job

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyspiel
from open_spiel.python.algorithms import ismcts, mcts

from chearts_env import Game, Rules
from chearts_env.cards import face_to_text
from chearts_env.game import action_to_text
from chearts_env.observation import OBSERVATION_SIZE
from chearts_env.policy import loaded_policy
from chearts_env.rules import MAX_PLAYERS, MIN_PLAYERS

NAME = "python_cancellation_hearts"
_TYPE = pyspiel.GameType(
    short_name=NAME, long_name="Python Cancellation Hearts", dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
    chance_mode=pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC,
    information=pyspiel.GameType.Information.IMPERFECT_INFORMATION, utility=pyspiel.GameType.Utility.ZERO_SUM,
    reward_model=pyspiel.GameType.RewardModel.TERMINAL, max_num_players=MAX_PLAYERS, min_num_players=MIN_PLAYERS,
    provides_information_state_string=True, provides_information_state_tensor=False,
    provides_observation_string=True, provides_observation_tensor=True,
    parameter_specification={"players": 6, "set_aside": "two_pairs"},
)  # fmt: skip


class CancellationHeartsGame(pyspiel.Game):
    """The game: number of players and the reading of R15."""

    def __init__(self, params: Any = None) -> None:
        params = params or {}
        self.rules = Rules(int(params.get("players", 6)), set_aside=params.get("set_aside", "two_pairs"))
        n = self.rules.num_players
        info = pyspiel.GameInfo(
            num_distinct_actions=54, max_chance_outcomes=52, num_players=n, min_utility=-52.0 * (n - 1) / n,
            max_utility=26.0 * (n - 1) / n, utility_sum=0.0, max_game_length=3 * n + n * self.rules.hand_size + 1,
        )  # fmt: skip
        super().__init__(_TYPE, info, params)

    def new_initial_state(self, state: Any = None) -> CancellationHeartsState:
        """Return a state with nothing dealt."""
        return CancellationHeartsState(self)

    def make_py_observer(self, iig_obs_type: Any = None, params: Any = None) -> Observer:
        """Return an observer of the vector."""
        return Observer()


class CancellationHeartsState(pyspiel.State):
    """A hand: first dealt card by card, then played by `Game`."""

    def __init__(self, game: CancellationHeartsGame) -> None:
        super().__init__(game)
        self.rules = game.rules
        self.dealt: list[int] = []  # faces, seat by seat; then the dealer, and the place in the pass cycle
        self.game: Game | None = None
        self.told = ""  # what all have seen

    def current_player(self) -> int:
        """Return who acts."""
        if self.game is None:
            return int(pyspiel.PlayerId.CHANCE)
        return int(pyspiel.PlayerId.TERMINAL) if self.game.mover is None else self.game.mover

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """Return what may be dealt, each with its probability."""
        if len(self.dealt) < self.rules.num_players * self.rules.hand_size:
            left = np.full(52, 2)
            np.subtract.at(left, self.dealt, 1)
            return [(int(face), float(left[face] / left.sum())) for face in np.flatnonzero(left)]
        drawn = len(self.dealt) == self.rules.num_players * self.rules.hand_size
        count = self.rules.num_players if drawn else len(self.rules.pass_cycle)
        return [(number, 1 / count) for number in range(count)]

    def _legal_actions(self, player: int) -> list[int]:
        return self.game.legal_actions() if self.game is not None else []

    def _apply_action(self, action: int) -> None:
        if self.game is None:
            self.dealt.append(action)
            n, size = self.rules.num_players, self.rules.hand_size
            if len(self.dealt) == n * size + 2:
                hands = np.zeros((n, 52), np.int8)
                for place, face in enumerate(self.dealt[: n * size]):
                    hands[place // size, face] += 1
                dealer, number = self.dealt[n * size :]
                self.game = Game.from_hands(self.rules, hands, None, dealer, number, episode="hand")
            return
        if self.game.phase != "pass":
            self.told += f" {self.game.mover}:{action_to_text(action)}"
        self.game.step(action)

    def _action_to_string(self, player: int, action: int) -> str:
        if player != pyspiel.PlayerId.CHANCE:
            return action_to_text(action)
        return face_to_text(action) if len(self.dealt) < self.rules.num_players * self.rules.hand_size else str(action)

    def is_terminal(self) -> bool:
        """Say whether the hand is scored."""
        return self.game is not None and self.game.is_over

    def returns(self) -> list[float]:
        """Return points below the table's mean."""
        if self.game is None or not self.game.is_over:
            return [0.0] * self.rules.num_players
        points = self.game.scores
        return list((points.mean() - points).astype(float))

    def information_state_string(self, player: int | None = None) -> str:
        """Return all that a player has seen, in order."""
        seat = self.current_player() if player is None else player
        if self.game is None:
            return f"{seat}: being dealt"
        return f"{seat}: {self.game.observation(seat).tobytes().hex()}{self.told}"

    def observation_string(self, player: int | None = None) -> str:
        """Return what a player sees now."""
        seat = self.current_player() if player is None else player
        return f"{seat}: being dealt" if self.game is None else self.game.observation(seat).tobytes().hex()

    def resample_from_infostate(self, player: int, sampler: Any) -> CancellationHeartsState:
        """Return a state that the player cannot rule out, unseen cards dealt again."""
        other = self.clone()
        assert self.game is not None
        other.game = self.game.redeal(player, np.random.default_rng(int(sampler() * 2**53)))
        return other  # type: ignore[no-any-return]

    def __str__(self) -> str:
        """Return the whole state."""
        return f"{self.dealt}{self.told} {self.game!r}"


class Observer:
    """The vector of `chearts_env.observation` as floats."""

    def __init__(self) -> None:
        self.tensor = np.zeros(OBSERVATION_SIZE, np.float32)
        self.dict = {"observation": self.tensor}

    def set_from(self, state: CancellationHeartsState, player: int) -> None:
        """Write what a player sees."""
        self.tensor[:] = 0 if state.game is None else state.game.observation(player)

    def string_from(self, state: CancellationHeartsState, player: int) -> str:
        """Return it as text."""
        return state.observation_string(player)


pyspiel.register_game(_TYPE, CancellationHeartsGame)


def main(arguments: Sequence[str] | None = None) -> None:
    """Have information-set MCTS play hands among other players, and say what it saves."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seats", type=int, default=6)
    parser.add_argument("--simulations", type=int, default=30)
    parser.add_argument("--opponents", default="chearts_env.policy:RandomLegal")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(arguments)
    rng, draws = np.random.RandomState(asked.seed), np.random.default_rng(asked.seed)
    others = loaded_policy(asked.opponents)
    game = pyspiel.load_game(f"{NAME}(players={asked.seats})")
    evaluator = mcts.RandomRolloutEvaluator(1, rng)
    bot = ismcts.ISMCTSBot(
        game=game, evaluator=evaluator, uct_c=20.0, max_simulations=asked.simulations, random_state=rng,
        max_world_samples=ismcts.UNLIMITED_NUM_WORLD_SAMPLES,
    )  # fmt: skip
    saved: list[float] = []
    end = time.perf_counter() + asked.seconds
    while time.perf_counter() < end:
        state = game.new_initial_state()
        while not state.is_terminal():
            if state.is_chance_node():
                actions, chances = zip(*state.chance_outcomes(), strict=True)
                state.apply_action(rng.choice(actions, p=chances))
            elif state.current_player() == 0:
                state.apply_action(bot.step(state))
            else:
                seen = state.game.observation(state.current_player())[None]
                state.apply_action(int(others.act(seen, state.game.action_mask()[None], draws)[0]))
        saved.append(state.returns()[0])
        error = np.std(saved, ddof=1) / len(saved) ** 0.5 if len(saved) > 1 else np.inf
        print(f"{len(saved)} hands, points below the mean: {np.mean(saved):+.2f} ± {1.96 * error:.2f}", flush=True)


if __name__ == "__main__":
    main()
