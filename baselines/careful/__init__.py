"""`careful`: the rule player. It weighs, for each legal card, what the trick would cost and what keeping it would.

`choose.py` decides, `play.py` and `passing.py` price each situation, from the `facts.py` of an observation, the
`chances.py` of a trick, the `danger.py` of cards and the `moons.py`; `weights.py` holds the constants.
"""

from baselines.careful.player import Careful

__all__ = ["Careful"]
