"""Pictures: what is drawn is what a seat may see, looks as it did, and needs no display."""

from __future__ import annotations

import copy
import pickle
import random
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from chearts_env import Game, Rules, SingleSeatEnv, cancellation_hearts_v0
from chearts_env.cards import counts_to_text
from chearts_env.observation import decode
from tests.blocks import ALIKE, greatest_difference
from tests.sizes import SIZES, moon_history

pytest.importorskip("PIL", reason="Pillow, of the extra `render`, is not installed")
pytest.importorskip("pygame", reason="pygame, of the extra `render`, is not installed")
from chearts_env.render.everything import everything_of
from chearts_env.render.picture import HEIGHT, WIDTH, table_as_picture

pytestmark = pytest.mark.slow
PICTURES = Path(__file__).parent / "pictures"
Picture = npt.NDArray[np.uint8]


def game_at(num_players: int, num_steps: int, **options: Any) -> Game:
    """A game some steps into its first hand."""
    game, rng = Game(Rules(num_players, **options), seed=5), random.Random(num_players)
    for _ in range(num_steps):
        game.step(rng.choice(game.legal_actions()))
    return game


def drawn(game: Game, seat: int, shows_all: bool = False) -> Picture:
    """The picture of a seat's view."""
    knowledge, hands = everything_of(game, seat) if shows_all else (decode(game.observation(seat)), None)
    return table_as_picture(knowledge, seat, hands)


@pytest.fixture(autouse=True)
def _without_display(monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")


STORED = pytest.mark.parametrize(
    ("name", "num_players", "num_steps", "shows_all"),
    [("pass_6", 6, 4, False), ("trick_8", 8, 79, False), ("trick_11", 11, 54, False), ("all_9", 9, 60, True)],
)


def stored_picture(name: str) -> Picture:
    """A picture that a person has looked at."""
    from PIL import Image

    return np.asarray(Image.open(PICTURES / f"{name}.png").convert("RGB"), np.uint8)


@STORED
def test_picture_looks_as_it_did(name, num_players, num_steps, shows_all):
    """In every block; another version of Pillow may round a few edges differently."""
    from PIL import Image

    game = game_at(num_players, num_steps)
    picture = drawn(game, game.mover or 0, shows_all)
    path = PICTURES / f"{name}.png"
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        Image.fromarray(picture).save(path, optimize=True)
        pytest.fail(f"{path} was not there: look at it, and commit it")
    assert picture.shape == (HEIGHT, WIDTH, 3)
    assert greatest_difference(picture, stored_picture(name)) < ALIKE


@STORED
def test_one_wrong_card_is_seen(name, num_players, num_steps, shows_all):
    """Of a hand, the smallest cards drawn included, or of the trick: another rank of the same suit."""
    game = game_at(num_players, num_steps)
    seat = game.mover or 0
    knows, hands = everything_of(game, seat) if shows_all else (decode(game.observation(seat)), None)
    stored = stored_picture(name)
    for held in np.flatnonzero(knows.hand).tolist():
        wrong = table_as_picture(replace(knows, hand=swapped(knows.hand, held)), seat, hands)
        assert greatest_difference(wrong, stored) > ALIKE
    for relative, hand in enumerate(hands or ()):
        first = int(np.flatnonzero(hand)[0])
        wrong_hands = [swapped(cards, first) if place == relative else cards for place, cards in enumerate(hands or ())]
        if relative:
            assert greatest_difference(table_as_picture(knows, seat, wrong_hands), stored) > ALIKE
    for place, (who, face) in enumerate(knows.trick):
        trick = [*knows.trick[:place], (who, neighbour(face)), *knows.trick[place + 1 :]]
        assert greatest_difference(table_as_picture(replace(knows, trick=trick), seat, hands), stored) > ALIKE


def neighbour(face: int) -> int:
    """The next rank of the suit, or the one before the ace."""
    return face - 1 if face % 13 == 12 else face + 1


def swapped(hand: npt.NDArray[np.int8], face: int) -> npt.NDArray[np.int8]:
    """A hand with one copy of a card become the next rank."""
    other = hand.copy()
    other[face] -= 1
    other[neighbour(face)] += 1
    return other


@pytest.mark.parametrize("num_players", SIZES)
def test_picture_does_not_depend_on_what_the_seat_cannot_know(num_players):
    """Unseen cards dealt again: the same picture; laid open they differ."""
    for num_steps in (7, 60):  # the first while cards are passed
        game = game_at(num_players, num_steps)
        for seat in (0, num_players - 1):
            world = game.redeal(seat, np.random.default_rng(seat))
            assert (drawn(world, seat) == drawn(game, seat)).all()
            assert (drawn(world, seat, True) != drawn(game, seat, True)).any()


def test_picture_changes_with_every_decision():
    """Of a hand with a moon, from the deal to the end; text and picture of each phase can be drawn."""
    history = moon_history(11, random.Random(3))
    game, before = history.begin(), None
    for action in [*history.actions, 52]:
        picture = drawn(game, 1)
        assert before is None or (picture != before).any()
        before = picture
        game.step(action)


def test_environment_draws_the_seat_to_move_unless_told_otherwise():
    """`render_view`: the mover, one seat, or everybody's cards."""
    frames: dict[Any, Any] = {}
    view: Any
    for view in ("mover", 2, "all"):
        env = cancellation_hearts_v0.raw_env(num_players=7, render_mode="rgb_array", render_view=view)
        env.reset(seed=3)
        frames[view] = env.render()
        assert frames[view].dtype == np.uint8
        assert frames[view].shape == (HEIGHT, WIDTH, 3)
    game = env.game
    mover = game.mover
    assert mover not in (2, None)
    assert (frames["mover"] == drawn(game, mover)).all()
    assert (frames[2] == drawn(game, 2)).all()
    assert (frames["all"] == drawn(game, mover, True)).all()


def test_text_shows_all_hands_only_when_asked():
    """`render_view="all"` in the mode `"ansi"`."""
    texts: list[Any] = []
    for view in ("mover", "all"):
        env = cancellation_hearts_v0.raw_env(render_mode="ansi", render_view=view)
        env.reset(seed=3)
        texts.append(env.render())
    seen, everything = (text.splitlines() for text in texts)
    kitty = f"Kitty  {counts_to_text(env.game.kitty)}, not taken yet"
    assert [line for line in seen if "face down" not in line] == [line for line in everything if line in seen]
    assert kitty in everything
    assert kitty not in seen
    assert len(everything) == len(seen) + 5


@pytest.mark.parametrize("make", [cancellation_hearts_v0.env, cancellation_hearts_v0.raw_env])
def test_pettingzoos_render_test_passes(make):
    """All modes, the window on SDL's dummy display."""
    from pettingzoo.test import render_test

    render_test(lambda render_mode: make(render_mode=render_mode, episode="hand"))
    assert make().metadata["render_modes"] == ["human", "rgb_array", "ansi"]


def test_environment_with_a_window_can_be_copied_and_closed():
    """A copy has no window until it shows something; closing twice does no harm."""
    env = cancellation_hearts_v0.env(render_mode="human", episode="hand")
    env.unwrapped.metadata = {**env.unwrapped.metadata}
    env.reset(seed=1)
    for other in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        assert other.unwrapped._window._screen is None
        assert other.unwrapped.game.mover == env.unwrapped.game.mover
    env.close()
    env.close()


def test_single_seat_draws_what_its_learner_sees():
    """Also when the hand is over."""
    env = SingleSeatEnv(render_mode="rgb_array", seat=2)
    env.reset(seed=1)
    frame = env.render()
    assert isinstance(frame, np.ndarray)
    assert (frame == table_as_picture(decode(env._tables.observations[0]), 2)).all()
    terminated = False
    while not terminated:
        _, _, terminated, _, _ = env.step(int(env.action_masks().argmax()))
    assert isinstance(env.render(), np.ndarray)


@pytest.mark.parametrize("view", [7, -1, True, "everyone", 1.0])
def test_unknown_view_is_refused(view):
    """With what is allowed."""
    with pytest.raises(ValueError, match=r"render_view=.* is not allowed: it must be 'mover', 'all' or a seat 0 … 5"):
        cancellation_hearts_v0.env(render_view=view)


@pytest.mark.parametrize(("mode", "missing"), [("rgb_array", "PIL"), ("human", "pygame")])
def test_missing_library_is_named_with_what_to_install(mode, missing, monkeypatch):
    """Only when a picture is wanted."""
    monkeypatch.setitem(sys.modules, missing, None)
    env = cancellation_hearts_v0.env(render_mode=mode)

    def draw() -> None:
        env.reset(seed=1)  # a window is shown from here on
        env.render()

    with pytest.raises(ImportError, match=r"pip install 'chearts-env\[render\]'"):
        draw()
