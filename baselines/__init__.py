"""Opponents: policies that act on observations and masks alone, in batches, through `chearts_env.arena.Policy`.

`baselines.names.policy_of` turns a name into a policy. Nothing here imports torch or `training`.
"""
