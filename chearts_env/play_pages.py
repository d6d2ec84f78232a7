"""What a person at the table can look up: how a hand ended, the score sheet, the pile, what happened, and help."""

from __future__ import annotations

from chearts_env.cards import faces_of_counts, faces_to_text
from chearts_env.play_screen import shortened
from chearts_env.play_table import View, points_in_words, trick_in_words
from chearts_env.rules import Rules
from chearts_env.table import SUBTRACT_MOON


def result_lines(view: View) -> list[str]:
    """Return how the newest hand that has ended was scored; after the last one, how the game ended."""
    result = view.last_result
    if result is None:
        return ["No hand has ended yet."]
    lines = []
    if view.is_over:
        names = " and ".join(view.name_of(seat) for seat in view.winners)
        lines.append(f"THE GAME IS OVER after hand {result.number}, won by {names}. The lowest score wins.")
    lines.append(f"Last trick: {trick_in_words(result.last_trick)}.")
    if result.moon is not None:
        seat, action = result.moon
        way = "subtracts" if action == SUBTRACT_MOON else "adds to the others"
        lines.append(f"{view.name_of(seat)} took all 52 points, shot the moon, and {way} {view.rules.moon_points}.")
    lines.append(f"{'':<5}{'seat':<30} hand {result.number:<5} score")
    for seat, change in enumerate(result.changes):
        won = " won" if seat in view.winners else ""
        lines.append(
            f"{'':<5}{shortened(view.name_of(seat), 30):<30} {_signed(change):>5}{'':<6}{result.scores[seat]:>5}{won}"
        )
    if result.kitty is not None:
        taker, points = result.kitty
        lines.append(f"The kitty, which P{taker} took, held {points_in_words(points)}.")
    if result.untaken:
        lines.append(f"Nobody took the cards of {points_in_words(result.untaken)}.")
    return lines


def _signed(points: int) -> str:
    return f"{points:+d}" if points else "0"


def score_lines(view: View) -> list[str]:
    """Return the score sheet, the newest hand first."""
    columns = [[f"P{seat}", f"{total}"] for seat, total in enumerate(view.scores)]
    for row in reversed(view.sheet):
        for column, points in zip(columns, row, strict=True):
            column.append(_signed(points))
    width = max(5, *(len(text) + 1 for column in columns for text in column))
    heads = ["", "score", *(f"{number}" for number in range(len(view.sheet), 0, -1))]
    rows = [
        f"{head:>6} " + "".join(f"{column[place]:>{width}}" for column in columns) for place, head in enumerate(heads)
    ]
    end = f"The game ends once a hand leaves any score at {view.rules.target_score} or above; the lowest score wins."
    if view.rules.max_hands is not None:
        end = f"{end[:-1]}; after {view.rules.max_hands} hands it ends, too."
    return [*rows, "", end, *(view.name_of(seat) for seat in range(len(view.names)))]


def pile_lines(view: View) -> list[str]:
    """Return the cards that were set aside and wait for the next seat to win a trick."""
    faces = faces_of_counts(view.knowledge.pile)
    if not faces:
        return ["The pile is empty: no trick waits for the next winner."]
    suits = [[face for face in faces if face // 13 == suit] for suit in range(4)]
    points = points_in_words(view.knowledge.pile_points)
    heading = f"The pile: {len(faces)} cards, {points}, for the next seat that wins a trick."
    return [heading, *(faces_to_text(suit) for suit in suits if suit)]


def said_lines(view: View) -> list[str]:
    """Return what has happened, the newest first."""
    return ["What has happened, newest first:", *reversed(view.said)]


def help_lines(rules: Rules, adviser: str | None, record: str | None) -> list[str]:
    """Return what a newcomer has to know."""
    hints = f" by {adviser}" if adviser else ": nobody here can give any; start with --hints NAME"
    return [
        "KEYS",
        "left/right   move among the cards that you may choose; [QS] is where you are",
        "enter        play that card, or give the three marked; nothing can be taken back",
        "space        when passing: mark the card <QS>, or take it back",
        f"h            hints{hints}",
        "s  l  p  r   scores, log of what happened, pile, result of a hand; esc: back",
        "up/down      scroll what is shown; also page up, page down",
        "q  ctrl+c    quit: q asks once more, ctrl+c does not",
        "",
        "THE SCREEN",
        "Before a seat:  > is to act   L leads the trick   D dealt   K took the kitty",
        "(QS)  is cancelled. Play goes on to the left: from P3 to P4.",
        "",
        "THE GAME",
        *_game_lines(rules),
        "",
        f"Record: {record}" if record else "Nothing is recorded; start with --record FILE to keep the hands.",
    ]


def _game_lines(rules: Rules) -> list[str]:
    """Return the rules in a few words, as the options have them; `RULES.md` has them all."""
    aside = {
        "two_pairs": "if it holds two such pairs, or if no other card of the suit led is left",
        "no_live_card": "if no other card of the suit led is left",
    }[rules.set_aside]
    breaks = {
        "heart_or_queen": "only once a heart or a queen of spades was played, unless you hold nothing else",
        "heart": "only once a heart was played, unless you hold nothing else",
        "always": "from the second trick on",
    }[rules.hearts_break]
    lines = [
        f"{rules.num_players} seats, two packs. A heart costs 1 point, a queen of spades 13; few points are good.",
        "Follow the suit led if you can. The highest card of it takes the trick, and its seat leads next.",
        f"Two identical cards in a trick cancel each other: neither wins. The trick is set aside {aside}; "
        "the next winner takes it as well.",
    ]
    if rules.opening_lead == "no_points":
        lines.append("The first trick is led with no heart and no queen of spades.")
    if rules.first_trick_discard == "no_points":
        lines.append("Nor may one be thrown into it, unless you hold nothing else.")
    lines.append(f"Hearts are led {breaks}.")
    if rules.kitty_size:
        which = {"first_winner": "first", "last_winner": "last"}[rules.kitty_to]
        who = {"nobody": "nobody sees it", "winner": "that seat sees it", "everyone": "all see it then"}
        lines.append(
            f"{rules.kitty_size} cards are left over, the kitty: who wins the {which} trick that anyone wins takes it; "
            f"{who[rules.kitty_view]}."
        )
    moon = {
        "choose": f"its score falls by {rules.moon_points}, or all others rise by as much, as it likes",
        "subtract": f"its score falls by {rules.moon_points} instead",
        "add": f"all other scores rise by {rules.moon_points} instead",
    }
    if rules.moon != "off":
        lines.append(f"A seat that takes all 52 points shoots the moon: {moon[rules.moon]}.")
    lines.append(f"The game ends once a hand leaves a score at {rules.target_score} or above. The lowest score wins.")
    return lines
