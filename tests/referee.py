"""The slow referee: Cancellation Hearts written a second time, from RULES.md alone.

It exists to disagree. It is plain Python over lists of faces, shares no code and no idea with the engine, and plays one
whole game when it is told the deals. Each clause of RULES.md is one small method that cites it. It must never import
anything of the package but card text, and never be made fast at the price of being obvious.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chearts_env.cards import face_to_text, faces_to_text

HEARTS = 3
BLACK_MARIA = 36
ALL_POINTS = 52
MOON_SUBTRACT = 52
MOON_ADD = 53


@dataclass(frozen=True)
class Options:
    """The table at the end of RULES.md, with its defaults."""

    num_players: int = 6
    target_score: int = 150
    max_hands: int | None = None
    first_dealer: int | str = "random"
    pass_cycle: tuple[int, ...] = (1, -1)
    opening_lead: str = "no_points"
    first_trick_discard: str = "any"
    hearts_break: str = "heart_or_queen"
    set_aside: str = "two_pairs"
    set_aside_leader: str = "same"
    kitty_to: str = "first_winner"
    kitty_view: str = "nobody"
    last_trick_set_aside: str = "nobody"
    moon: str = "choose"
    moon_points: int = 26


def suit_of(face: int) -> int:
    """Give the suit 0…3 of a face (DESIGN.md, numbers everyone shares)."""
    return face // 13


def rank_of(face: int) -> int:
    """Give the rank 0…12 of a face, ace high (R3)."""
    return face % 13


def points_of(face: int) -> int:
    """Give the penalty points of one card (R4)."""
    if face == BLACK_MARIA:
        return 13
    return 1 if suit_of(face) == HEARTS else 0


def sum_points(faces: Sequence[int]) -> int:
    """Add up the penalty points of some cards (R4)."""
    return sum(points_of(face) for face in faces)


class Referee:
    """One game. `begin_hand` hands it a deal; `step` plays; between two hands its phase is "deal".

    Attributes:
        phase: "deal", "pass", "play", "moon" or "over".
        mover: the seat that must act, None in the phases "deal" and "over".
        hands: the cards each seat holds, one list per seat.
        trick: (seat, face) of each card played to the trick under way.
        pile: the cards set aside; after the last trick, the cards played that nobody took.
        taken: the cards each seat took face up in this hand, the kitty not among them.
        trick_winners: the winner of each completed trick of this hand, None where it was set aside.
        hand_points: points each seat took in the last hand that was played out, kitty included.
        points_nobody_took: what was missing from 52 in that hand.
    """

    def __init__(self, options: Mapping[str, Any] | None = None, scores: Sequence[int] | None = None) -> None:
        """Seat the players; `scores` are those of a game under way, zero unless given."""
        self.options = Options(**(options or {}))
        self.num_players = self.options.num_players
        self.scores = list(scores) if scores is not None else [0] * self.num_players
        self.score_sheet: list[list[int]] = []
        self.phase = "deal"
        self.mover: int | None = None
        self.is_truncated = False
        self.winners: list[int] = []
        self.hand_points: list[int] = []
        self.points_nobody_took = 0
        self.dealer: int | None = None
        self.hand_number: int | None = None

    @property
    def is_over(self) -> bool:
        """Tell whether the game has ended or was cut short."""
        return self.phase == "over"

    def left_of(self, seat: int) -> int:
        """Give the next higher seat, wrapping (R1)."""
        return (seat + 1) % self.num_players

    # The deal

    def begin_hand(
        self,
        hands: Sequence[Sequence[int]],
        kitty: Sequence[int],
        dealer: int,
        hand_number: int,
        pass_offset: int | None = None,
    ) -> None:
        """Lay out a dealt hand and call the first seat; ValueError where the deal itself breaks a rule."""
        if self.phase != "deal":
            raise ValueError(f"a hand is dealt in phase {self.phase}")
        self._check_cards(hands, kitty)
        self._check_dealer(dealer, hand_number)
        self.hands = [sorted(hand) for hand in hands]
        self.kitty = sorted(kitty)
        self.kitty_taker: int | None = None
        self.dealer = dealer
        self.hand_number = hand_number
        self.pass_offset = self.pass_offset_of(hand_number) if pass_offset is None else pass_offset
        self.gifts: list[list[int]] = [[] for _ in range(self.num_players)]
        self.taken: list[list[int]] = [[] for _ in range(self.num_players)]
        self.trick: list[tuple[int, int]] = []
        self.pile: list[int] = []
        self.trick_number = 0
        self.hearts_broken = False
        self.trick_winners: list[int | None] = []
        self.last_to_win: int | None = None
        self.leader = self.left_of(dealer)  # R10
        self.mover = self.left_of(dealer)  # R9 and R10
        self.phase = "play" if self.pass_offset == 0 else "pass"  # R8

    def _check_cards(self, hands: Sequence[Sequence[int]], kitty: Sequence[int]) -> None:
        """Two packs (R2), `104 // n` cards to each seat, the rest in the kitty (R5)."""
        counts = Counter(kitty)
        for hand in hands:
            counts.update(hand)
        if sorted(counts) != list(range(52)) or set(counts.values()) != {2}:
            raise ValueError("the deal is not two packs of cards")
        if len(hands) != self.num_players or {len(hand) for hand in hands} != {104 // self.num_players}:
            raise ValueError("the hands have the wrong size")

    def _check_dealer(self, dealer: int, hand_number: int) -> None:
        """The deal moves one seat left each hand (R6)."""
        if self.dealer is not None and self.hand_number is not None:
            if dealer != self.left_of(self.dealer) or hand_number != self.hand_number + 1:
                raise ValueError(f"hand {hand_number} of dealer {dealer} follows {self.hand_number} of {self.dealer}")
        elif hand_number == 0 and self.options.first_dealer not in ("random", dealer):
            raise ValueError(f"seat {dealer} deals first")

    def pass_offset_of(self, hand_number: int) -> int:
        """The direction goes round the cycle, one step a hand (R8)."""
        return self.options.pass_cycle[hand_number % len(self.options.pass_cycle)]

    # What may be done

    def legal_actions(self) -> list[int]:
        """List the legal actions of the mover, ascending; empty when nobody is to act."""
        if self.mover is None:
            return []
        if self.phase == "moon":
            return [MOON_SUBTRACT, MOON_ADD]  # R21
        hand = self.hands[self.mover]
        if self.phase == "pass":
            return sorted(set(hand))  # R7
        if self.trick:
            return sorted(set(self._legal_follows(hand)))
        if self.trick_number == 0:
            return sorted(set(self._legal_opening_leads(hand)))
        return sorted(set(self._legal_leads(hand)))

    def _legal_opening_leads(self, hand: list[int]) -> list[int]:
        """The first lead of a hand is no point card, unless nothing else is held (R10, `opening_lead`)."""
        if self.options.opening_lead == "any":
            return hand
        return [face for face in hand if points_of(face) == 0] or hand

    def _legal_leads(self, hand: list[int]) -> list[int]:
        """Lead no heart before they are broken, except from a hand of nothing else (R12, `hearts_break`)."""
        if self.hearts_broken or self.options.hearts_break == "always":
            return hand
        return [face for face in hand if suit_of(face) != HEARTS] or hand

    def _legal_follows(self, hand: list[int]) -> list[int]:
        """Follow the suit led if able (R11)."""
        return [face for face in hand if suit_of(face) == self._suit_led()] or self._legal_discards(hand)

    def _legal_discards(self, hand: list[int]) -> list[int]:
        """Any card, in the first trick too, unless `first_trick_discard` forbids points there (R11)."""
        if self.trick_number == 0 and self.options.first_trick_discard == "no_points":
            return [face for face in hand if points_of(face) == 0] or hand
        return hand

    def _suit_led(self) -> int:
        return suit_of(self.trick[0][1])

    # What happens

    def step(self, action: int) -> None:
        """Carry out one action of the mover; ValueError for an illegal one."""
        if self.mover is None or action not in self.legal_actions():
            raise ValueError(f"seat {self.mover} may not do {action} in phase {self.phase}")
        if self.phase == "pass":
            self._give(self.mover, action)
        elif self.phase == "play":
            self._play(self.mover, action)
        else:
            self._settle_moon(self.mover, action)

    def _give(self, seat: int, face: int) -> None:
        """Three cards from each seat, one at a time, seat by seat from the dealer's left (R7, R9)."""
        self.hands[seat].remove(face)
        self.gifts[seat].append(face)
        if len(self.gifts[seat]) < 3:
            return
        if seat != self.dealer:
            self.mover = self.left_of(seat)
            return
        self._exchange()
        self.phase = "play"
        self.mover = self.leader

    def _exchange(self) -> None:
        """All cards change hands at once, after the last seat's third card (R8, R9)."""
        for seat, cards in enumerate(self.gifts):
            receiver = (seat + self.pass_offset) % self.num_players
            self.hands[receiver] = sorted(self.hands[receiver] + cards)

    def _play(self, seat: int, face: int) -> None:
        self.hands[seat].remove(face)
        self.trick.append((seat, face))
        self._break_hearts(face)
        if len(self.trick) < self.num_players:
            self.mover = self.left_of(seat)
        else:
            self._finish_trick()

    def _break_hearts(self, face: int) -> None:
        """A heart or a Black Maria played to any trick, in any manner, breaks hearts (R12, `hearts_break`)."""
        breaking_queen = face == BLACK_MARIA and self.options.hearts_break != "heart"
        if suit_of(face) == HEARTS or breaking_queen:
            self.hearts_broken = True

    def _finish_trick(self) -> None:
        winner = self.trick_winner()
        trick_leader = self.leader
        self.trick_winners.append(winner)
        self.pile += [face for _, face in self.trick]
        self.trick = []
        self.trick_number += 1
        if winner is None:
            self.leader = self._leader_after_set_aside(trick_leader)
        else:
            self._win(winner)
            self.leader = winner  # R14
        self.mover = self.leader
        if self.trick_number == 104 // self.num_players:
            if winner is None:
                self._leave_last_trick(trick_leader)
            self._finish_hand()

    def trick_winner(self) -> int | None:
        """Give the seat of the highest uncancelled card of the suit led (R14), None if the trick is set aside (R15)."""
        counts = Counter(face for _, face in self.trick)
        num_pairs = sum(count == 2 for count in counts.values())  # R13
        if num_pairs >= 2 and self.options.set_aside == "two_pairs":
            return None
        led = self._suit_led()
        live = [(rank_of(face), seat) for seat, face in self.trick if counts[face] == 1 and suit_of(face) == led]
        return max(live)[1] if live else None

    def _leader_after_set_aside(self, trick_leader: int) -> int:
        """The same seat leads again, or with `set_aside_leader="left"` the seat on its left (R17)."""
        return trick_leader if self.options.set_aside_leader == "same" else self.left_of(trick_leader)

    def _win(self, seat: int) -> None:
        """The winner takes the trick and all that was set aside (R16), and perhaps the kitty (R18)."""
        self.taken[seat] += self.pile
        self.pile = []
        self.last_to_win = seat
        if self.options.kitty_to == "first_winner" and self.kitty_taker is None:
            self._take_kitty(seat)

    def _take_kitty(self, seat: int) -> None:
        """The kitty goes to a seat face down (R18); with 8 seats there is none to take (R5)."""
        if self.kitty:
            self.kitty_taker = seat

    def _leave_last_trick(self, trick_leader: int) -> None:
        """Nobody takes a last trick set aside, nor the pile, nor the kitty (R19, `last_trick_set_aside`)."""
        if self.options.last_trick_set_aside == "leader":
            self._win(trick_leader)

    def kitty_seen_by(self, seat: int) -> bool:
        """Tell whether a seat has been shown the kitty (R18, `kitty_view`)."""
        if self.kitty_taker is None or self.options.kitty_view == "nobody":
            return False
        return self.options.kitty_view == "everyone" or seat == self.kitty_taker

    @property
    def points_seen(self) -> list[int]:
        """Points each seat has taken face up in this hand, one number per seat (R18: not the kitty's)."""
        return [sum_points(cards) for cards in self.taken]

    # The score

    def _finish_hand(self) -> None:
        if self.options.kitty_to == "last_winner" and self.last_to_win is not None:
            self._take_kitty(self.last_to_win)  # R18
        self.hand_points = self._count_points()
        self.points_nobody_took = ALL_POINTS - sum(self.hand_points)  # R20
        shooter = self._moon_seat()
        if shooter is None:
            self._score_hand(self.hand_points)
        elif self.options.moon == "choose":
            self.phase = "moon"
            self.mover = shooter
        else:
            self._settle_moon(shooter, MOON_SUBTRACT if self.options.moon == "subtract" else MOON_ADD)

    def _count_points(self) -> list[int]:
        """Each seat adds the points in the cards it took, the kitty now among them (R20, R18)."""
        points = self.points_seen
        if self.kitty_taker is not None:
            points[self.kitty_taker] += sum_points(self.kitty)
        return points

    def _moon_seat(self) -> int | None:
        """Give the seat that took all 52 points, if any and if moons count (R21, `moon`)."""
        if self.options.moon == "off" or ALL_POINTS not in self.hand_points:
            return None
        return self.hand_points.index(ALL_POINTS)

    def _settle_moon(self, shooter: int, action: int) -> None:
        """Subtract from the shooter's score or add to every other seat's (R21, `moon_points`)."""
        if action == MOON_SUBTRACT:
            changes = [0] * self.num_players
            changes[shooter] = -self.options.moon_points
        else:
            changes = [self.options.moon_points] * self.num_players
            changes[shooter] = 0
        self._score_hand(changes)

    def _score_hand(self, changes: Sequence[int]) -> None:
        """Add the hand to the scores, below zero too (R20, R22), and see whether the game ends."""
        self.score_sheet.append(list(changes))
        self.scores = [score + change for score, change in zip(self.scores, changes, strict=True)]
        self.mover = None
        self.phase = "deal"
        if self._reached_target():
            self._end_game()
        elif self._reached_cap():
            self.is_truncated = True
            self._end_game()

    def _reached_target(self) -> bool:
        """A score at or above the target ends the game (R23)."""
        return max(self.scores) >= self.options.target_score

    def _reached_cap(self) -> bool:
        """A game that has not ended after `max_hands` hands is truncated (R25)."""
        assert self.hand_number is not None
        return self.options.max_hands is not None and self.hand_number + 1 >= self.options.max_hands

    def _end_game(self) -> None:
        """The lowest score wins; seats that tie for lowest share the win (R24)."""
        self.phase = "over"
        self.winners = [seat for seat, score in enumerate(self.scores) if score == min(self.scores)]

    def __str__(self) -> str:
        """Show the table in text, for the message of a failed comparison."""
        trick = " ".join(f"P{seat}:{face_to_text(face)}" for seat, face in self.trick)
        lines = [
            f"{self.phase}, P{self.mover} to act, dealer P{self.dealer}, leader P{self.leader}, "
            f"trick {self.trick_number} [{trick}], pile [{faces_to_text(self.pile)}], "
            f"hearts broken: {self.hearts_broken}, kitty [{faces_to_text(self.kitty)}] -> {self.kitty_taker}",
            *(f"P{seat} {faces_to_text(hand)}" for seat, hand in enumerate(self.hands)),
        ]
        return "\n".join(lines)
