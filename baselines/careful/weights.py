"""What `careful` weighs by: a record of constants, each with its meaning, tuned by `training/tune_careful.py`.

Chances lie in 0 … 1, prices are points. `weights_without_set_aside` makes the same player know nothing of tricks that
two pairs set aside (R15): against it the worth of that knowledge is measured.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

#: How dangerous it is to keep a card: one such set for play and one for the pass.
DANGER: Final = np.dtype(
    (
        np.record,
        [
            ("beats", "f8"),  # for the share of the suit's unseen cards that it beats, times the points of a trick
            ("beats_squared", "f8"),  # ... for the square of that share
            ("guard", "f8"),  # how far lower cards of the suit in hand take that off
            ("own_pair", "f8"),  # share added if both copies are mine: nobody can cancel it
            ("twin_out", "f8"),  # share taken off if the twin may still cancel it
            ("heart", "f8"),  # points added for a heart, times the share it beats
            ("high_spade", "f8"),  # points added for the ace or king of spades, a queen out
            ("queen", "f8"),  # points added for a Black Maria
            ("queen_guard", "f8"),  # how much one lower spade takes off the last two
            ("last_of_suit", "f8"),  # points for not being void
            ("one_of_two", "f8"),  # points for holding more than one card of the suit
        ],
    )
)

WEIGHTS: Final = np.dtype(
    (
        np.record,
        [
            ("play", DANGER),
            ("giving", DANGER),
            ("shed_discarding", "f8"),  # danger counts this much when I cannot follow
            ("shed_leading", "f8"),  # ... when I lead
            ("shed_first_trick", "f8"),  # ... when a kitty waits
            ("overtakes", "f8"),  # chance that a seat behind plays above me, times the share of cards above
            ("overtakes_high", "f8"),  # how far that follows the square of the share instead
            ("cancels", "f8"),  # chance that the holder of a twin behind me plays it
            ("pairs_following", "f8"),  # chance that the holder of a twin of the suit led lays it
            ("pairs_discarding", "f8"),  # ... of another suit, if it cannot follow
            ("set_aside", "f8"),  # price of a pot that is set aside: this much of the 1/n that comes back to me
            ("queen_drops", "f8"),  # chance that a queen falls on a spade trick with a high card
            ("queen_forced", "f8"),  # ... on another spade trick
            ("queen_discarded", "f8"),  # chance that a void seat that may hold a queen throws it
            ("heart_discarded", "f8"),  # points that a void seat throws otherwise
            ("leads_again", "f8"),  # price of having to lead after winning
            ("smoke_out", "f8"),  # gain of a low spade lead while a queen is out and I hold no high spade
            ("spade_lead", "f8"),  # price of a spade lead while I hold high spades and a queen is out
            ("rival_moon", "f8"),  # chance of a rival's moon, times the square of its share of the points
            ("rival_from", "f8"),  # points from which a rival counts
            ("rival_pile", "f8"),  # how far the pile counts as the rival's
            ("own_moon", "f8"),  # power of the share of points that gives the chance of my own moon
            ("knows_set_aside", "f8"),  # 1 = two pairs set a trick aside where the rules say so, 0 = never heard of it
        ],
    )
)

#: What the tuning script writes: the constants, and what they were measured to save.
TUNED_FILE: Final = Path(__file__).with_name("tuned.json")
#: Constants that are switches.
FIXED_WEIGHTS: Final = ("knows_set_aside",)

_OF_SET_ASIDE: Final = ("knows_set_aside", "set_aside", "rival_moon")


def tuned_weights() -> np.record:
    """Return the constants that `careful` plays by, a record of dtype `WEIGHTS`."""
    return weights_from_flat(json.loads(TUNED_FILE.read_text("utf-8"))["weights"])


def new_weights() -> npt.NDArray[np.void]:
    """Return the constants that `careful` plays by as kernels take them, (1,) of dtype `WEIGHTS`."""
    weights = np.zeros(1, WEIGHTS)
    weights[0] = tuned_weights()
    return weights


def weights_without_set_aside(weights: np.record | None = None) -> np.record:
    """Return the same constants with all that comes of set-aside tricks switched off, a rival's moon included."""
    flat = flat_weights(tuned_weights() if weights is None else weights)
    return weights_from_flat(flat | dict.fromkeys(_OF_SET_ASIDE, 0.0))


def flat_weights(weights: np.record) -> dict[str, float]:
    """Return constants by name; those of a set within the record as `play.guard`."""
    flat: dict[str, float] = {}
    for name in WEIGHTS.names or ():
        if WEIGHTS[name].names:
            flat |= {f"{name}.{inner}": float(weights[name][inner]) for inner in DANGER.names or ()}
        else:
            flat[name] = float(weights[name])
    return flat


def weights_from_flat(flat: dict[str, float]) -> np.record:
    """Return constants given by name as a record. Raises ValueError for a missing or an unknown name."""
    weights = np.zeros(1, WEIGHTS)[0]
    known = flat_weights(weights)
    if known.keys() != flat.keys():
        raise ValueError(f"not the constants of careful: {sorted(known.keys() ^ flat.keys())} unknown or missing")
    for name, value in flat.items():
        outer, _, inner = name.partition(".")
        if inner:
            weights[outer][inner] = value
        else:
            weights[outer] = value
    return weights  # type: ignore[no-any-return]
