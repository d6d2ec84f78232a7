"""Settings of the tests that need torch."""

from __future__ import annotations

import torch

# As in `training.train`: threads that wait for each other on a busy machine make seconds of milliseconds.
torch.set_num_threads(1)
