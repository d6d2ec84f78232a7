"""`Rules`: every option of the game, validated, with the three presets. `RULES.md` says what each one means.

The values of the options that are words stand once, in `CHOICES`, default first; kernels see a word as its place there.
"""

from __future__ import annotations

import functools
import inspect
import operator
import warnings
from collections.abc import Mapping, Set
from dataclasses import KW_ONLY, asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

MIN_PLAYERS: Final = 6
MAX_PLAYERS: Final = 11
CARDS_PASSED: Final = 3
MAX_PASS_OFFSET: Final = 5
#: Longest `pass_cycle`; a table is one record of a fixed size.
MAX_PASS_CYCLE: Final = 64
#: Bounds that keep every score within 32 bits.
LARGEST_TARGET: Final = 1_000_000_000
LARGEST_MOON: Final = 1_000_000
LARGEST_CAP: Final = 2**31 - 1
SENSIBLE_TARGET: Final = 100  # R23

CHOICES: Final[dict[str, tuple[str, ...]]] = {
    "opening_lead": ("no_points", "any"),
    "first_trick_discard": ("any", "no_points"),
    "hearts_break": ("heart_or_queen", "heart", "always"),
    "set_aside": ("two_pairs", "no_live_card"),
    "set_aside_leader": ("same", "left"),
    "kitty_to": ("first_winner", "last_winner"),
    "kitty_view": ("nobody", "winner", "everyone"),
    "last_trick_set_aside": ("nobody", "leader"),
    "moon": ("choose", "subtract", "add", "off"),
}


_Class = TypeVar("_Class", bound=type)


def _refusing_unknown_options(cls: _Class) -> _Class:
    """Have a dataclass answer an option it does not know with a ValueError that names those it does."""
    made_by_dataclass = cls.__init__  # type: ignore[misc] # no subclass is involved

    @functools.wraps(made_by_dataclass)
    def init(self: Any, *values: Any, **options: Any) -> None:
        known = [field.name for field in fields(cls)]
        for option, value in options.items():
            if option not in known:
                raise ValueError(f"unknown option {option}={value!r}; the options of Rules are {', '.join(known)}")
        made_by_dataclass(self, *values, **options)

    cls.__init__ = init  # type: ignore[misc]
    return cls


@_refusing_unknown_options
@dataclass(frozen=True)
class Rules:
    """The options of one game; defaults are the card page's. Raises ValueError for a value that is not allowed.

    `first_dealer` is a seat or `"random"`; `pass_cycle` holds signed seat offsets, 1 = to the left, 0 = no pass;
    `target_score` and `moon_points` are points; `max_hands` is hands, None for no cap.
    """

    num_players: int = 6  # R1
    _: KW_ONLY
    target_score: int = 150  # R23
    max_hands: int | None = None  # R25
    first_dealer: int | Literal["random"] = "random"  # R6
    pass_cycle: tuple[int, ...] = (1, -1)  # R8
    opening_lead: Literal["no_points", "any"] = "no_points"  # R10
    first_trick_discard: Literal["any", "no_points"] = "any"  # R11
    hearts_break: Literal["heart_or_queen", "heart", "always"] = "heart_or_queen"  # R12
    set_aside: Literal["two_pairs", "no_live_card"] = "two_pairs"  # R15
    set_aside_leader: Literal["same", "left"] = "same"  # R17
    kitty_to: Literal["first_winner", "last_winner"] = "first_winner"  # R18
    kitty_view: Literal["nobody", "winner", "everyone"] = "nobody"  # R18
    last_trick_set_aside: Literal["nobody", "leader"] = "nobody"  # R19
    moon: Literal["choose", "subtract", "add", "off"] = "choose"  # R21
    moon_points: int = 26  # R21

    def __post_init__(self) -> None:
        """Check every option and settle numbers into plain ints."""
        settle = object.__setattr__
        settle(self, "num_players", _whole(self.num_players, "num_players", MIN_PLAYERS, MAX_PLAYERS))
        settle(self, "target_score", _whole(self.target_score, "target_score", 1, LARGEST_TARGET))
        settle(self, "moon_points", _whole(self.moon_points, "moon_points", 1, LARGEST_MOON))
        if self.max_hands is not None:
            settle(self, "max_hands", _whole(self.max_hands, "max_hands", 1, LARGEST_CAP, "None or "))
        if not (isinstance(self.first_dealer, str) and self.first_dealer == "random"):
            last = self.num_players - 1
            settle(self, "first_dealer", _whole(self.first_dealer, "first_dealer", 0, last, "'random' or "))
        settle(self, "pass_cycle", _checked_pass_cycle(self.pass_cycle, self.num_players))
        for option, allowed in CHOICES.items():
            value = getattr(self, option)
            if not isinstance(value, str) or value not in allowed:
                raise ValueError(
                    f"{option}={value!r} is not allowed: it must be one of {', '.join(map(repr, allowed))}"
                )
        if self.target_score < SENSIBLE_TARGET:
            warnings.warn(
                f"target_score={self.target_score} is below {SENSIBLE_TARGET}, the sensible minimum (RULES.md R23)",
                stacklevel=_levels_to_the_caller(),
            )

    @classmethod
    def card_page(cls, num_players: int = 6, **options: Any) -> Rules:
        """Return the rules of the card page: every default; other options may be given by name."""
        return cls(num_players, **options)

    @classmethod
    def classic(cls, num_players: int = 6, **options: Any) -> Rules:
        """Return the other published reading of R15: set aside only when no live card of the suit led remains."""
        return cls(num_players, **({"set_aside": "no_live_card"} | options))

    @classmethod
    def bicycle(cls, num_players: int = 6, **options: Any) -> Rules:
        """Return the classic rules without passing and without points discarded in the first trick."""
        bicycle = {"set_aside": "no_live_card", "pass_cycle": (0,), "first_trick_discard": "no_points"}
        return cls(num_players, **(bicycle | options))

    @property
    def hand_size(self) -> int:
        """Cards dealt to each seat, which is also the number of tricks (R5)."""
        return 104 // self.num_players

    @property
    def kitty_size(self) -> int:
        """Cards left over by the deal (R5)."""
        return 104 % self.num_players

    def pass_offset(self, hand_number: int) -> int:
        """Return the seat offset of the pass in a hand, 0 = no pass; hands are numbered from 0 (R8)."""
        return self.pass_cycle[hand_number % len(self.pass_cycle)]

    def to_dict(self) -> dict[str, Any]:
        """Return the options as a dictionary that JSON can hold; `Rules.from_dict` reads it back."""
        return asdict(self) | {"pass_cycle": list(self.pass_cycle)}

    @classmethod
    def from_dict(cls, options: dict[str, Any]) -> Rules:
        """Return rules written by `to_dict`, without warning once more of what was warned of when they were made."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return cls(**options)


PRESETS: Final = ("card_page", "classic", "bicycle")


def _levels_to_the_caller() -> int:
    """Return the stack level of the line outside this package that asked for the rules; a warning points there."""
    inside = (str(Path(__file__).parent), "<string>")  # a dataclass's own __init__ stands in "<string>"
    level, frame = 1, inspect.currentframe()
    while frame is not None and frame.f_code.co_filename.startswith(inside):
        level, frame = level + 1, frame.f_back
    return level - 1


def _whole(value: object, option: str, low: int, high: int, besides: str = "") -> int:
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise ValueError(
            f"{option}={value!r} is not allowed: it must be {besides}a whole number {low} … {high}"
        ) from None
    if not low <= number <= high:
        raise ValueError(f"{option}={number} is not allowed: it must be {besides}a whole number {low} … {high}")
    return number


def _checked_pass_cycle(value: object, num_players: int) -> tuple[int, ...]:
    # Offsets go up to 5 either way, and a table of 6 makes each of them another seat than one's own (R8).
    allowed = f"a tuple of 1 … {MAX_PASS_CYCLE} whole numbers {-MAX_PASS_OFFSET} … {MAX_PASS_OFFSET}, 0 = no pass"
    if isinstance(value, str | bytes | Set | Mapping):  # no order, or no numbers
        raise ValueError(f"pass_cycle={value!r} is not allowed: it must be {allowed}")
    try:
        offsets: tuple[Any, ...] = tuple(value)  # type: ignore[arg-type]
    except TypeError:
        raise ValueError(f"pass_cycle={value!r} is not allowed: it must be {allowed}") from None
    if not 1 <= len(offsets) <= MAX_PASS_CYCLE:
        raise ValueError(f"pass_cycle={offsets!r} is not allowed: it must be {allowed}")
    reach = min(MAX_PASS_OFFSET, num_players - 1)
    return tuple(_whole(offset, f"pass_cycle[{place}]", -reach, reach) for place, offset in enumerate(offsets))
