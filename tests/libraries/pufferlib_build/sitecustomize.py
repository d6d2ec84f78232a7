"""Read by Python as it starts while PufferLib is installed, and at no other time: what lets its release build.

With NO_OCEAN=1 it leaves out its games, and with them what it fetches from GitHub; but then it uses a name that it has
not set. Where there is an `nvcc` it compiles for CUDA, whatever torch is.
"""

from __future__ import annotations

import builtins
import shutil
from typing import Any

vars(builtins)["c_extension_paths"] = []
_found = shutil.which


def _which(name: str, *args: Any, **kwargs: Any) -> str | None:
    return None if name == "nvcc" else _found(name, *args, **kwargs)


vars(shutil)["which"] = _which
