"""Learning to play: the only place that imports torch.

`python -m training.train configs/quick.yaml` trains a policy and plays it; `python -m training.evaluate` plays matches.
"""
