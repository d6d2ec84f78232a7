"""The JSON Schema of a record's lines, for readers in other languages."""

from __future__ import annotations

from typing import Any

from chearts_env.game import EPISODES
from chearts_env.record_format import FORMAT, FORMAT_VERSION
from chearts_env.rules import MAX_PLAYERS, MIN_PLAYERS


def _strings(what: str) -> dict[str, Any]:
    return {"type": "array", "items": {"type": "string"}, "minItems": MIN_PLAYERS, "maxItems": MAX_PLAYERS,
            "description": what}  # fmt: skip


def _points(what: str) -> dict[str, Any]:
    return _strings(what) | {"items": {"type": "integer"}}


def _seat_and_text(what: str) -> dict[str, Any]:
    seat = {"type": "integer", "minimum": 0, "maximum": MAX_PLAYERS - 1}
    return {"type": "array", "prefixItems": [seat, {"type": "string"}], "minItems": 2, "maxItems": 2,
            "items": False, "description": what}  # fmt: skip


def _check_sum(what: str) -> dict[str, Any]:
    return {"type": "string", "pattern": "^[0-9a-f]{8}$", "description": what}


def _object(title: str, properties: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an object that has all of these keys and no others."""
    return {"title": title, "type": "object", "properties": properties, "required": list(properties),
            "additionalProperties": False}  # fmt: skip


def schema() -> dict[str, Any]:
    """Return the JSON Schema of a line: of a hand, or of the last one, which counts and sums up those before it."""
    whole = {"type": "integer", "minimum": 0}
    maybe = [{"type": "null"}]
    properties: dict[str, Any] = {
        "format": {"const": FORMAT},
        "version": {"const": FORMAT_VERSION},
        "rules": {"type": "object", "description": "every option of Rules by its name"},
        "episode": {"enum": list(EPISODES)},
        "seed": {"anyOf": [whole, *maybe], "description": "of the episode; null if it began from a given deal"},
        "hand_number": whole,
        "dealer": whole,
        "hands": _strings("by seat, as dealt: cards as rank and suit, such as QS, separated by spaces"),
        "kitty": {"type": "string"},
        "passes": {"type": "array", "items": _seat_and_text("seat, and the three cards it gives, in order (R7)")},
        "tricks": {"type": "array", "items": _seat_and_text("leader, and the cards clockwise from it (R11)")},
        "moon": {"anyOf": [_seat_and_text("seat, and subtract or add (R21)"), *maybe]},
        "scores": _points("by seat, before this hand"),
        "score_changes": _points("by seat (R20 to R22)"),
        "players": {"anyOf": [_strings("names by seat"), *maybe]},
        "values": {
            "anyOf": [{"type": "array", "items": {"anyOf": [{"type": "object"}, *maybe]}}, *maybe],
            "description": "of each decision in order: actions as text, and points that they were held worth",
        },
        "check": _check_sum("CRC-32 of the line without this key"),
    }
    last: dict[str, Any] = {
        "format": properties["format"],
        "version": properties["version"],
        "end": whole | {"description": "how many lines, one for each hand, stand before this one"},
        "chain": _check_sum("CRC-32 of all lines before this one, their ends included"),
        "check": properties["check"],
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A line of a record of Cancellation Hearts",
        "oneOf": [_object("One hand", properties), _object("The last line", last)],
    }
