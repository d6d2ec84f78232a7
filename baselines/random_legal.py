"""The opponent that takes any allowed action, each equally likely: the library's own, which has it as a default."""

from __future__ import annotations

from chearts_env.policy import RandomLegal

__all__ = ["RandomLegal"]
