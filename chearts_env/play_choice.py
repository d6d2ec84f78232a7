"""A person's choice in the making: where the cursor stands, and which cards are laid out to be given away.

Nothing here is final: a choice becomes one when its `actions` are taken.
"""

from __future__ import annotations

from chearts_env.cards import faces_of_counts
from chearts_env.play_table import View
from chearts_env.rules import CARDS_PASSED


class Choice:
    """What the person may choose from: the cards in hand in their order, or the two ways to settle a moon."""

    def __init__(self, view: View) -> None:
        """Begin at the first thing that is allowed; it must be the person's turn."""
        assert view.legal, "it is not the person's turn"
        self.phase = view.knowledge.phase
        self.items = view.legal if self.phase == "moon" else faces_of_counts(view.knowledge.hand)
        # Copies of a face are given one by one; for play one is as good as the other.
        self._places = [
            place
            for place, item in enumerate(self.items)
            if item in view.legal and (self.phase == "pass" or item not in self.items[:place])
        ]
        self._number = 0
        self.marked: list[int] = []  # places, in the order they were laid out

    @property
    def place(self) -> int:
        """Where the cursor stands among the items."""
        return self._places[self._number]

    def move(self, step: int) -> None:
        """Move the cursor over what is allowed, from the end to the beginning."""
        self._number = (self._number + step) % len(self._places)

    def toggle(self) -> str:
        """Lay the card at the cursor out to be given, or take it back; return why not, empty if it is done."""
        if self.phase != "pass":
            return "Cards are marked for the pass alone: enter plays the one in brackets."
        if self.place in self.marked:
            self.marked.remove(self.place)
        elif len(self.marked) == CARDS_PASSED:
            return f"{CARDS_PASSED} cards are marked: take one back first, with space on it."
        else:
            self.marked.append(self.place)
        return ""

    @property
    def given(self) -> list[int]:
        """The faces laid out."""
        return [self.items[place] for place in self.marked]

    def actions(self) -> list[int]:
        """Return what is chosen; nothing as long as cards to give are missing."""
        if self.phase != "pass":
            return [self.items[self.place]]
        return self.given if len(self.marked) == CARDS_PASSED else []
