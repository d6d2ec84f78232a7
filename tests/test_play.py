"""A person at a table with policies: what happens, what is shown, what hints say. `test_play_terminal.py` types."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from chearts_env import Game, IllegalActionError, Rules
from chearts_env.cards import faces_to_text
from chearts_env.play import main, rules_of
from chearts_env.play_choice import Choice
from chearts_env.play_hints import adviser_named, hint_lines
from chearts_env.play_table import PlayTable
from chearts_env.policy import RandomLegal, loaded_policy
from chearts_env.record import HandRecord
from tests.play_tables import Explaining, play_on, table_of, to_persons_turn
from tests.sizes import random_rules

pytestmark = pytest.mark.slow


class Valuing(RandomLegal):
    """Plays at random, and holds the highest action to be worth most."""

    def points(self, observations: Any, action_masks: Any) -> Any:
        return np.where(action_masks, np.arange(54.0), -np.inf)


class Drawing(RandomLegal):
    """Plays at random, and draws what it holds actions to be worth."""

    def values(self, observation: Any, action_mask: Any, rng: np.random.Generator) -> Any:
        return np.where(action_mask, rng.random(54), -np.inf)


# The table


@pytest.mark.parametrize("num_players", [6, 11])
def test_person_plays_a_game_to_its_end(num_players):
    """What is said never names a card that another seat gives away; every hand is recorded."""
    records: list[HandRecord] = []
    table = table_of(Rules(num_players, max_hands=2), seat=2, seed=3, write=records.append)
    rng = random.Random(0)
    while not table.game.is_over:
        play_on(table, rng)
    assert [len(list(record.replay())) for record in records] == [len(record.moves) for record in records]
    assert len(records) == 2
    assert records[0].players is not None
    assert records[0].players[2] == "you"
    given = [line for line in table.said if " gives " in line and not line.startswith("P2 ")]
    assert len(given) == 2 * 3 * (num_players - 1)
    assert all(line.endswith("gives a card") for line in given)
    assert table.said[-1].startswith("The game is over; won by P")


def test_same_seed_plays_the_same_whether_hints_are_asked_for_or_not():
    """Policies draw from the seed; hints draw elsewhere, and say the same when asked again."""
    games = []
    for asks in (False, True):
        table = table_of(Rules(6), episode="hand", adviser=("drawing", Drawing()))
        while not table.game.is_over:
            if table.is_persons_turn:
                if asks:
                    assert table.hints() == table.hints()
                table.choose(table.game.legal_actions()[-1])
            else:
                table.step()
        games.append(table.said)
    assert games[0] == games[1]


def test_illegal_choice_changes_nothing():
    """Neither the game nor what was said."""
    table = to_persons_turn(table_of(Rules(6)))
    before, said = table.game.to_bytes(), list(table.said)
    for action in (53, -1, 54, next(face for face in range(52) if not table.game.hand(0)[face])):
        with pytest.raises(IllegalActionError):
            table.choose(action)
    assert (table.game.to_bytes(), table.said) == (before, said)


def test_seats_are_dealt_out_to_the_opponents_from_the_left():
    """The person is named too."""
    table = PlayTable(Game(Rules(6), 1), 2, [("a", RandomLegal()), ("b", RandomLegal())], person="Ada")
    assert table.names == ["b", "a", "Ada", "a", "b", "a"]


@pytest.mark.parametrize("num_players", [6, 11])
def test_last_trick_and_result_are_those_of_the_engine(num_players):
    """Who took it by who leads next, its points by what was seen taken; a hand's result by the score sheet."""
    rng, num_set_aside = random.Random(num_players), 0
    for seed in range(6):
        table = table_of(random_rules(num_players, rng, max_hands=2), seed=seed, seat=3)
        game, trick = table.game, list[Any]()
        while not game.is_over:
            phase, taken = game.phase, game.points_seen
            seat, action = game.mover, rng.choice(game.legal_actions())
            table.take(action)
            trick += [(seat, action)] if phase == "play" else []
            if len(trick) == num_players:
                shown = table.view().last_trick
                assert shown is not None
                assert shown.cards == trick
                trick.clear()
                if table.result is None and game.phase == "play":
                    assert shown.points == int((game.points_seen - taken).sum())
                    assert (shown.taker is None) == game.pile.any()
                    assert shown.taker in (None, game.leader)
                    num_set_aside += shown.taker is None
            if table.result is not None:
                assert table.result.changes == game.score_sheet[-1].tolist()
                assert table.result.scores == game.scores.tolist()
                assert 0 <= table.result.untaken <= 52
                assert table.view().knowledge.phase == "over"
                table.go_on()
    assert num_set_aside


# Hints


def test_hints_say_what_each_allowed_action_is_held_to_be_worth():
    """Costs and words from a policy that explains, values from any other; the best first."""
    table = to_persons_turn(table_of(Rules(6)))
    legal = table.game.legal_actions()
    table.adviser = ("wise", Explaining())
    first, *lines = table.hints()
    assert first == "wise, best first:"
    assert lines == [f"{faces_to_text([face])}  cost {face:+.1f} points: because" for face in legal]
    table.adviser = ("net", Valuing())
    best, *others = reversed(legal)
    assert table.hints()[1] == f"{faces_to_text([best])}  best"
    assert (
        table.hints()[2]
        == f"{faces_to_text(others[:1])}  {best - others[0]:.1f} points worse than {faces_to_text([best])}"
    )
    assert len(table.hints()) == 1 + len(legal)
    table.adviser = None
    assert "--hints" in table.hints()[0]


def test_hints_while_passing_look_beyond_the_cards_marked():
    """The card that is marked is no longer among those weighed, and nothing has been given."""
    table = to_persons_turn(table_of(Rules(6), adviser=("wise", Explaining())))
    face = next(face for face in table.game.legal_actions() if table.game.hand(0)[face] == 1)
    before = table.game.to_bytes()
    assert len(table.hints([face])) == len(table.hints()) - 1
    assert not any(line.startswith(faces_to_text([face])) for line in table.hints([face]))
    assert table.game.to_bytes() == before


def test_hint_that_is_none_is_refused():
    """Wrong shapes and numbers that are none; the one allowed action needs no opinion."""
    game = Game(Rules(6), 1)
    seen, mask, rng = game.observation(game.mover or 0), game.action_mask(), np.random.default_rng(0)
    for worths in (np.zeros(3), np.full((1, 54), np.nan)):
        policy = Valuing()
        policy.points = lambda *given, worths=worths: worths  # type: ignore[method-assign]
        with pytest.raises(ValueError, match="odd gave no number of points for each allowed action"):
            hint_lines(("odd", policy), seen, mask, rng)
    only = np.zeros(54, np.int8)
    only[36] = 1
    assert hint_lines(("odd", Valuing()), seen, only, rng) == ["QS is all that is allowed."]


def test_adviser_is_named_or_the_first_opponent_that_can():
    """One that can give no hint is refused. Which are installed, `tests/baselines` says."""
    plain, valuing = ("plain", RandomLegal()), ("net", Valuing())
    assert adviser_named(None, [plain, valuing]) == valuing
    assert adviser_named("net", [plain, valuing]) == valuing
    with pytest.raises(ValueError, match=r"'random_legal' can give no hints: .* of the installed policies these can: "):
        adviser_named("random_legal", [plain])
    with pytest.raises(ValueError, match="unknown policy 'nobody'"):
        adviser_named("nobody", [plain])


# Choosing


def test_cards_to_give_may_be_taken_back_until_they_are_given():
    """Both copies of a face may go; a fourth is refused; nothing is chosen before there are three."""
    table = to_persons_turn(table_of(Rules(6), seed=1))
    choice = Choice(table.view())
    twin = next(place for place in range(16) if choice.items[place] == choice.items[place + 1])
    choice.move(twin)
    for _ in range(2):
        assert choice.toggle() == ""
        choice.move(1)
    assert choice.given == [choice.items[twin]] * 2
    assert choice.actions() == []
    choice.toggle()
    third = choice.items[choice.place]
    choice.move(1)
    assert "take one back" in choice.toggle()
    assert choice.actions() == [choice.items[twin]] * 2 + [third]
    choice.move(-2)
    choice.toggle()
    assert choice.given == [choice.items[twin], third]
    assert table.game.given(0).sum() == 0


def test_cursor_goes_over_what_is_allowed_alone():
    """Once over each allowed face, from the last on to the first."""
    table = to_persons_turn(table_of(Rules(6)), "play")
    choice, seen = Choice(table.view()), []
    for _ in table.game.legal_actions():
        seen += choice.actions()
        choice.move(1)
    assert seen == table.game.legal_actions()
    assert choice.actions() == seen[:1]
    assert "for the pass alone" in choice.toggle()


# The command


def test_what_cannot_be_is_said_in_a_line(capsys, tmp_path):
    """Seats, names, hints, rules, places; no file is left."""
    record = tmp_path / "mine.jsonl"
    for words, error in (
        (["--seats", "5"], "num_players=5"),
        (["--seat", "9"], "seat=9 is not allowed: it must be 0 … 5"),
        (["--against", "nobody", "--record", str(record)], "unknown policy 'nobody': installed names are"),
        (["--hints", "random_legal"], "'random_legal' can give no hints"),
        (["--rule", "moon=maybe"], "moon='maybe' is not allowed"),
        (["--rule", "moon"], "--rule 'moon' is not allowed: it must be NAME=VALUE"),
        (["--rule", "num_players=8"], "--rule num_players=8 is not allowed: --seats says how many play"),
        (["--rule", "moon=off", "--rule", "moon=add"], "--rule moon=add is not allowed: moon is given twice"),
        (["--rule", "moon=off", "--rule", "target_score=x"], "target_score='x' is not allowed"),
        (["--delay", "nan"], "--delay nan is not allowed"),
        (["--record", str(record)], "this needs a terminal"),
        (["--seat", "9", "--record", str(record)], "seat=9"),
    ):
        assert main(words) == 2
        assert error in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_records_of_before_are_not_overwritten(capsys, tmp_path):
    """A whole one nor one that was broken off."""
    for name in ("mine.jsonl", "mine.jsonl.unfinished"):
        before = tmp_path / name
        before.write_text("precious")
        assert main(["--record", str(tmp_path / "mine.jsonl")]) == 2
        assert str(before) in capsys.readouterr().err
        assert before.read_text() == "precious"
        before.unlink()


def test_rules_are_a_preset_with_options():
    """Numbers, words and a cycle."""
    rules = rules_of("bicycle", 8, ["target_score=120", "kitty_view=winner", "pass_cycle=1,-1,0"])
    assert rules == Rules.bicycle(8, target_score=120, kitty_view="winner", pass_cycle=(1, -1, 0))
    assert rules_of("card_page", 6, ["pass_cycle=0"]) == Rules(6, pass_cycle=(0,))


def test_short_names_are_those_that_packages_announce():
    """`random_legal` is the library's own; a number behind a name is handed to what it stands for."""
    assert isinstance(loaded_policy("random_legal"), RandomLegal)
    with pytest.raises(ValueError, match=r"'random_legal:3' cannot be made: .*takes"):
        loaded_policy("random_legal:3")
    with pytest.raises(ValueError, match="'nobody:3' cannot be loaded"):
        loaded_policy("nobody:3")
