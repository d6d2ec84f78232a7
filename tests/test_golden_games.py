"""Golden games: the transcripts in `golden/` are replayed and rendered again, and must come out the same line by line.

`golden/README.md` explains the format. Game and the slow referee both play each transcript. Neither renders anything
itself: one renderer reads off either what it shows, so that a transcript fails for exactly the side that left it.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from chearts_env import Game, Rules
from chearts_env.cards import face_from_text, face_to_text, faces_from_text, faces_to_text
from tests.beside import OPTION_VALUES, SIZES, describe_game, describe_knowledge, describe_referee
from tests.referee import MOON_ADD, MOON_SUBTRACT, Referee, suit_of, sum_points

GOLDEN = Path(__file__).parent / "golden"
OPEN_ENDED = {"target_score", "max_hands", "first_dealer", "pass_cycle", "moon_points"}
MOON_WORDS = {"subtracts": MOON_SUBTRACT, "adds": MOON_ADD}
PASS_WORDS = {1: "pass left", -1: "pass right", 0: "no pass"}


class Transcript(NamedTuple):
    """What a transcript says was dealt and done; all else in it is outcome."""

    options: dict[str, Any]
    hand_number: int
    dealer: int
    scores: list[int]
    hands: list[str]
    kitty: str
    gifts: list[list[int]]  # the three cards each seat gives, none where there is no pass
    tricks: list[list[int]]  # the faces of each trick in the order played
    moon: int | None


class Side(NamedTuple):
    """One of the two that play a transcript: how to look at its table, who has and saw the kitty, how to step."""

    look: Callable[[], dict[str, Any]]
    find_kitty: Callable[[], tuple[int | None, list[int]]]
    step: Callable[[int], None]


# Reading


def split_golden(text: str) -> tuple[list[str], list[str]]:
    """Split a golden file into its comment and its transcript."""
    lines = text.splitlines()
    comment = [line for line in lines if line.startswith("#")]
    return comment, [line for line in lines if line and not line.startswith("#")]


def read_options(text: str) -> dict[str, Any]:
    """Read `option=value` pairs as Python reads the arguments of a call."""
    call = ast.parse(f"Rules({text})", mode="eval").body
    assert isinstance(call, ast.Call)
    return {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}


def find_line(lines: Sequence[str], word: str) -> str | None:
    """Give what follows the first word of the line that starts with it."""
    return next((line.split(maxsplit=1)[1] for line in lines if line.split()[0] == word), None)


def read_transcript(lines: Sequence[str]) -> Transcript:
    """Read what was dealt and done, and no outcome."""
    options = read_options(find_line(lines, "rules") or "")
    num_players = options["num_players"]
    hand_number, dealer = re.findall(r"\d+", find_line(lines, "hand") or "")[:2]
    seats = [(find_line(lines, f"P{seat}") or "").partition(" gives ") for seat in range(num_players)]
    moon = find_line(lines, "moon")
    return Transcript(
        options=options,
        hand_number=int(hand_number) - 1,
        dealer=int(dealer),
        scores=[int(score) for score in (find_line(lines, "before") or "0 " * num_players).split()],
        hands=[hand for hand, _, _ in seats],
        kitty=(find_line(lines, "kitty") or "").replace("none", ""),
        gifts=[faces_from_text(gifts) for _, _, gifts in seats],
        tricks=[read_trick(line) for line in lines if line.startswith("trick ")],
        moon=MOON_WORDS[moon.split()[1]] if moon else None,
    )


def read_trick(line: str) -> list[int]:
    """Read the cards of a line such as `trick 3   P2 leads 4C[9] 9C QS[12] … -> …`."""
    cards = line.partition(" leads ")[2].partition(" -> ")[0]
    return [face_from_text(card[:2]) for card in cards.split()]


# Rendering


def render(transcript: Transcript, side: Side) -> list[str]:
    """Play a transcript on one side and write down what that side shows."""
    lines = render_deal(transcript, side.look())
    num_players = len(transcript.hands)
    for seat in [(transcript.dealer + 1 + turn) % num_players for turn in range(num_players)]:
        for face in transcript.gifts[seat]:
            side.step(face)
    for number, faces in enumerate(transcript.tricks, start=1):
        lines.append(f"trick {number:<3}" + render_trick(faces, side))
    if transcript.moon is not None:
        shown = side.look()
        assert shown["phase"] == "moon"
        lines.append(f"moon     P{shown['mover']} " + ("adds" if transcript.moon == MOON_ADD else "subtracts"))
        side.step(transcript.moon)
    return lines + render_score(side.look())


def render_deal(transcript: Transcript, shown: dict[str, Any]) -> list[str]:
    """Write the rules, the hand, the scores before it if any, the cards dealt and those given."""
    options = ", ".join(f"{option}={value!r}" for option, value in transcript.options.items()).replace("'", '"')
    offset = shown["pass_offset"]
    lines = [
        f"rules    {options}",
        f"hand     {shown['hand_number'] + 1}, dealer P{shown['dealer']}, {name_pass(offset)}",
    ]
    if any(shown["scores"]):
        lines.append("before   " + " ".join(map(str, shown["scores"])))
    for seat, (hand, gifts) in enumerate(zip(shown["hands"], transcript.gifts, strict=True)):
        gives = f" gives {faces_to_text(gifts)}" if gifts else ""
        lines.append(f"P{seat:<8}{faces_to_text(hand)}{gives}")
    return [*lines, f"kitty    {faces_to_text(shown['kitty']) or 'none'}"]


def name_pass(offset: int) -> str:
    """Put the direction of a pass in words."""
    return PASS_WORDS.get(offset, f"pass {abs(offset)} seats {'left' if offset > 0 else 'right'}")


def render_trick(faces: Sequence[int], side: Side) -> str:
    """Play one trick; after each lead and discard stands in brackets how many different cards were legal."""
    before, (taker_before, _) = side.look(), side.find_kitty()
    words: list[str] = []
    for face in faces:
        num_legal = f"[{len(side.look()['legal'])}]"
        is_following = bool(words) and suit_of(face) == suit_of(faces[0])
        words.append(face_to_text(face) + ("" if is_following else num_legal))
        side.step(face)
    after, (taker, viewers) = side.look(), side.find_kitty()
    outcome = render_outcome(before, after, faces)
    if taker is not None and taker_before is None:
        outcome += f"; kitty to P{taker}, seen by {name_viewers(viewers, len(faces))}"
    if after["hearts_broken"] and not before["hearts_broken"]:
        outcome += "; hearts broken"
    return f"P{before['mover']} leads {' '.join(words)} -> {outcome}"


def render_outcome(before: dict[str, Any], after: dict[str, Any], faces: Sequence[int]) -> str:
    """Say where a trick went; a hand that another follows is no longer there to be looked at."""
    if after["hand_number"] != before["hand_number"]:
        return "the hand is over"
    cards = [*before["pile"], *faces]
    if after["pile"]:
        return f"set aside; pile {count(cards, 'card')}, {count_points(cards)}"
    return f"P{after['leader']} takes {count(cards, 'card')}, {count_points(cards)}"


def name_viewers(seats: Sequence[int], num_players: int) -> str:
    """Write who has been shown the kitty."""
    if len(seats) == num_players:
        return "everyone"
    return " and ".join(f"P{seat}" for seat in seats) or "nobody"


def count(things: Sequence[int], name: str) -> str:
    """Write `1 card` or `12 cards`."""
    return f"{len(things)} {name}" + ("" if len(things) == 1 else "s")


def count_points(cards: Sequence[int]) -> str:
    """Write `1 point` or `12 points`."""
    return count(range(sum_points(cards)), "point")


def render_score(shown: dict[str, Any]) -> list[str]:
    """Write the changes of the scores, the scores, and whether and how the game goes on."""
    lines = [
        "change   " + " ".join(f"{change:+d}" for change in shown["score_sheet"][-1]),
        "scores   " + " ".join(map(str, shown["scores"])),
    ]
    if shown["phase"] == "over":
        reason = "cap reached" if shown["is_truncated"] else "target reached"
        winners = " and ".join(f"P{seat}" for seat in shown["winners"])
        return [*lines, f"over     {reason}, won by {winners}"]
    next_hand = f"{shown['hand_number'] + 1}, dealer P{shown['dealer']}, {name_pass(shown['pass_offset'])}"
    return [*lines, f"next     hand {next_hand}"]


# The two sides


def play_game_side(transcript: Transcript) -> Side:
    """Let Game play a transcript."""
    game = Game.from_hands(
        Rules(**transcript.options),
        hands=transcript.hands,
        kitty=transcript.kitty,
        dealer=transcript.dealer,
        hand_number=transcript.hand_number,
        scores=transcript.scores,
    )
    num_players = len(transcript.hands)

    def find_kitty() -> tuple[int | None, list[int]]:
        knowledge = [describe_knowledge(game, viewer, num_players) for viewer in range(num_players)]
        return knowledge[0]["kitty_taker"], [seat for seat in range(num_players) if knowledge[seat]["kitty_cards"]]

    return Side(lambda: describe_game(game, num_players), find_kitty, game.step)


def play_referee_side(transcript: Transcript) -> Side:
    """Let the referee play a transcript."""
    referee = Referee(transcript.options, transcript.scores)
    hands = [faces_from_text(hand) for hand in transcript.hands]
    referee.begin_hand(hands, faces_from_text(transcript.kitty), transcript.dealer, transcript.hand_number)

    def look() -> dict[str, Any]:
        shown = describe_referee(referee)
        if referee.phase == "deal":  # The referee waits for the deal that Game makes by itself.
            number = shown["hand_number"] + 1
            announced = {"dealer": referee.left_of(shown["dealer"]), "pass_offset": referee.pass_offset_of(number)}
            shown |= {"hand_number": number, **announced}
        return shown

    def find_kitty() -> tuple[int | None, list[int]]:
        if referee.phase == "deal":
            return None, []
        return referee.kitty_taker, [seat for seat in range(referee.num_players) if referee.kitty_seen_by(seat)]

    return Side(look, find_kitty, referee.step)


FILES = sorted(GOLDEN.glob("*.txt"))
each_file = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)


@each_file
@pytest.mark.parametrize("play_side", [play_game_side, play_referee_side])
def test_golden_game_is_rendered_as_written(play_side: Callable[[Transcript], Side], path: Path) -> None:
    """Replaying a transcript gives it back, line by line (R1 to R25)."""
    _, written = split_golden(path.read_text(encoding="utf-8"))
    transcript = read_transcript(written)
    rendered = render(transcript, play_side(transcript))
    assert rendered == written, "\n".join(difflib.unified_diff(written, rendered, "written", "rendered", lineterm=""))


@each_file
def test_golden_game_says_what_it_shows_and_how_it_is_scored(path: Path) -> None:
    """A golden file is short and starts with a comment that adds up the points by hand (R20)."""
    comment, transcript = split_golden(path.read_text(encoding="utf-8"))
    assert len(comment) >= 2
    assert any("By hand:" in line for line in comment)
    assert len(comment) + len(transcript) <= 60


@pytest.mark.parametrize("seed", range(10))
def test_golden_first_dealer_is_the_one_a_game_begins_with(seed: int) -> None:
    """A dealer named by `first_dealer` deals the first hand whatever the seed (R6)."""
    _, written = split_golden((GOLDEN / "first_dealer_3.txt").read_text(encoding="utf-8"))
    transcript = read_transcript(written)
    assert Game(Rules(**transcript.options), seed=seed).dealer == transcript.dealer


def test_golden_games_cover_every_option_value() -> None:
    """Each table size and each value of each closed option stands in some rules line (RULES.md, options)."""
    transcripts = [split_golden(path.read_text(encoding="utf-8"))[1] for path in FILES]
    written = [read_options(find_line(transcript, "rules") or "") for transcript in transcripts]
    sizes = {options["num_players"] for options in written}
    assert sizes == set(SIZES)
    for option, values in OPTION_VALUES.items():
        shown = {options[option] for options in written if option in options}
        if option in OPEN_ENDED:
            assert shown, option
        else:
            assert shown == set(values), option
