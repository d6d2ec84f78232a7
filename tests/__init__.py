"""Tests. A package, so that `tests.referee` is this folder's whatever else is installed."""
