"""The reinforcement-learning environment for Cancellation Hearts, 6 to 11 players with two packs.

`Rules` names every option, `Game` is one table, `VectorTables` thousands at once, `cancellation_hearts_v0` the
PettingZoo environment, `SingleSeatEnv` and `SingleSeatVectorEnv` those of Gymnasium. Names are loaded when first used,
so that importing the package costs almost nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from chearts_env import cancellation_hearts_v0 as cancellation_hearts_v0
    from chearts_env.game import Game as Game
    from chearts_env.game import IllegalActionError as IllegalActionError
    from chearts_env.rules import Rules as Rules
    from chearts_env.single_seat import SingleSeatEnv as SingleSeatEnv
    from chearts_env.single_seat import SingleSeatVectorEnv as SingleSeatVectorEnv
    from chearts_env.state import StateError as StateError
    from chearts_env.vector import VectorTables as VectorTables

__version__ = "0.1.0"

_ROOM_OF = {
    "Game": "game",
    "IllegalActionError": "game",
    "Rules": "rules",
    "SingleSeatEnv": "single_seat",
    "SingleSeatVectorEnv": "single_seat",
    "StateError": "state",
    "VectorTables": "vector",
}
__all__ = [
    "Game", "IllegalActionError", "Rules", "SingleSeatEnv", "SingleSeatVectorEnv", "StateError", "VectorTables",
    "cancellation_hearts_v0",
]  # fmt: skip


def _register_with_pettingzoo() -> None:
    # The registry came with PettingZoo 1.27.
    import pettingzoo

    name = "chearts_env/cancellation_hearts_v0"
    if hasattr(pettingzoo, "register") and "chearts_env/cancellation_hearts-v0" not in pettingzoo.aec_registry:
        pettingzoo.register("aec", name, entry_point="chearts_env.cancellation_hearts_v0:env")


def _register_with_gymnasium() -> None:
    import gymnasium

    name = "chearts_env/CancellationHearts-v0"
    if name not in gymnasium.registry:
        room = "chearts_env.single_seat"
        gymnasium.register(name, f"{room}:SingleSeatEnv", vector_entry_point=f"{room}:SingleSeatVectorEnv")


_register_with_pettingzoo()
_register_with_gymnasium()


def __getattr__(name: str) -> Any:
    if name == "cancellation_hearts_v0":
        return import_module("chearts_env.cancellation_hearts_v0")
    if name in _ROOM_OF:
        value = getattr(import_module(f"chearts_env.{_ROOM_OF[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
