"""One short file for each library: copy it, and be training within a minute.

Every file trains for `--seconds N`, leaves a checkpoint in `--out`, and has `latest`, which plays the newest one in
matches: `python -m training.evaluate --challenger training.libraries.cleanrl_ppo:latest ...`. The files import nothing
from one another, only `chearts_env`, the opponents of `baselines`, and their library.
"""
