"""Tests of the opponents; they need `baselines`, which is in the checkout only."""
