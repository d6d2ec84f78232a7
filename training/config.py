"""What a run is made of: typed settings, read from YAML and the command line.

A key that is not here is refused, and the nearest right one named.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from omegaconf import DictConfig, OmegaConf

from chearts_env.rules import MAX_PLAYERS, MIN_PLAYERS, PRESETS, Rules

_LEAST: Final = {
    "network.width": 1,
    "network.num_layers": 1,
    "labels.tables": 1,
    "labels.passes": 0,
    "labels.playouts": 1,
    "labels.crowded_weight": 1,
    "fit.epochs": 1,
    "fit.epochs_between": 1,
    "fit.batch_size": 1,
    "fit.weight_decay": 0,
    "fit.rounds": 0,
    "critic.decisions": 0,
    "critic.tables": 1,
    "critic.ahead": 1,
    "critic.width": 1,
    "critic.num_layers": 1,
    "critic.batch_size": 1,
    "ppo.iterations": 0,
    "ppo.hands": 1,
    "ppo.pieces": 1,
    "ppo.epochs": 1,
    "ppo.batch_size": 1,
    "ppo.last_learning_rate": 0,
    "ppo.entropy": 0,
    "ppo.last_entropy": 0,
    "ppo.anchor": 0,
    "ppo.critic_width": 1,
    "ppo.warm_up": 0,
    "ppo.num_snapshots": 1,
    "evaluation.deals": 2,  # an interval needs two
    "evaluation.early_deals": 2,
    "evaluation.seed": 0,
    "evaluation.early_seed": 0,
}
_ABOVE_ZERO: Final = (
    "labels.plays", "fit.learning_rate", "fit.clip", "fit.points_per_unit", "critic.learning_rate",
    "ppo.learning_rate", "ppo.clip", "ppo.logit_scale", "ppo.seconds",
)  # fmt: skip


@dataclass
class NetworkConfig:
    """The shape of the network, and what it is told beside the observation."""

    width: int = 256
    num_layers: int = 3
    careful: bool = False  # what the rule player `careful` makes of each card goes in
    card_features: bool = True  # what a player would ask of each card goes in: would it win, does it cancel, ...


@dataclass
class LabelsConfig:
    """How decisions are found and their actions played out; one round for each entry of `counts`.

    The decisions of the first round come from compiled players, those of later rounds from tables at which the network
    of the round before plays.
    """

    counts: list[int] = field(default_factory=lambda: [200_000])  # labelled decisions a round makes
    tables: int = 192  # hands dealt for one chunk of labels
    plays: float = 4.0  # labelled decisions a hand: cards played
    passes: float = 0.8  # ... and cards passed
    moons: float = 0.0  # chance at least that a choice is labelled where one seat alone has all points, 13 or more
    player: str = "careful"  # the compiled player of the first round, and of playouts: or low_card, random_legal
    tried: str = "all"  # actions played out: all, or the "promising" ones as far as `careful` can tell, and a few more
    mixed: float = 1.0  # share of tables with seats that play worse than `player`, as many as chance has it
    playouts: int = 1  # of each action by compiled players, more only if they play by chance; a network: once
    explore: float = 0.12  # share of actions replaced by random ones on the way to a decision
    self_play: float = 0.4  # later rounds: share of tables with the network in all seats, not in some
    network_playouts: float = 0.0  # later rounds: share of decisions played out by the network instead
    crowded_weight: int = 2  # tables of 9 and more seats under `two_pairs` are dealt this many times as often


@dataclass
class CriticConfig:
    """The critic that ends a network's playouts early, fitted anew before each later round. It sees all hands.

    It learns from hands that the network of the round before has played, at tables like those of the labels.
    """

    decisions: int = 0  # it learns from in a round, in full chunks; 0 = there is none, and playouts go to their end
    tables: int = 768  # hands dealt for one chunk of them; one takes a tenth of a megabyte
    ahead: int = 1  # it is asked at the so many-th next decision of the seat
    explore: float = 0.03  # share of actions replaced by random ones in the hands it learns from
    trace: float = 0.8  # lambda of what it learns: 1 = points in the end, less = more of what it says of next decisions
    width: int = 256
    num_layers: int = 2
    batch_size: int = 2048
    learning_rate: float = 1e-3  # at the start; falls to 0


@dataclass
class FitConfig:
    """How the network is fitted to the labels of the rounds so far."""

    rounds: int = 0  # the latest so many rounds, whose labels are fitted; 0 = all
    goes_on: bool = False  # later rounds go on from the weights of the round before, not from fresh ones
    epochs: int = 4  # after the last round; more than 4 over-fit
    epochs_between: int = 2  # after the others
    batch_size: int = 2048
    learning_rate: float = 1e-3  # at the start of each round; falls to 0
    weight_decay: float = 0.1
    clip: float = 15.0  # points: centred labels are cut at this either way
    points_per_unit: float = 3.0  # points that make 1 in the network's output


@dataclass
class PpoConfig:
    """Self-play after the last round of labels, by proximal policy optimisation."""

    iterations: int = 0  # 0 = this stage is left out
    seconds: float = 3600.0  # iterations are cut to keep to it
    hands: int = 768  # dealt for one iteration
    pieces: int = 1  # in which they are played: more than one by the workers, each with chance of its own
    epochs: int = 1
    batch_size: int = 2048
    learning_rate: float = 4e-4  # at the start
    last_learning_rate: float = 2e-5
    clip: float = 0.2
    entropy: float = 0.01  # price of a nat less, at the start
    last_entropy: float = 0.001
    anchor: float = 0.02  # price of a nat away from a slow average of the weights
    anchor_decay: float = 0.99
    trace: float = 0.95  # lambda of the advantages
    warm_up: int = 5  # iterations at the start in which the critic alone learns
    logit_scale: float = 4.0  # an action is drawn by the softmax of this times the network's output
    critic_width: int = 128  # of its layers: 256 foresees no more, and costs a fifth of the speed
    critic_sees_all: bool = True  # the critic is shown all hands, in training only
    careful: float = 0.3  # share of tables with seats of `careful`
    snapshots: float = 0.2  # ... with seats of earlier networks of the run; at the others it plays itself
    num_snapshots: int = 10  # the latest of them that are kept, one each twentieth of the way


@dataclass
class EvaluationConfig:
    """The matches: early ones after each round, on deals that stay the same, and the reported ones on other deals."""

    opponents: list[str] = field(default_factory=lambda: ["random_legal", "low_card"])
    deals: int = 500  # of each reported match
    seed: int = 20_000
    early_opponent: str = "low_card"
    early_deals: int = 24  # of each early match
    early_seed: int = 10_000


@dataclass
class Config:
    """One run of `training.train`."""

    name: str = "run"
    seed: int = 1
    sizes: list[int] = field(default_factory=lambda: list(range(MIN_PLAYERS, MAX_PLAYERS + 1)))
    presets: list[str] = field(default_factory=lambda: ["card_page", "classic"])
    seconds: float = 300.0  # of rounds of labels and fits; labels, critics and epochs are cut to keep to it
    workers: int = 2  # processes that make labels, play matches and pieces of self-play; 0 = this one
    device: str = "auto"  # "cpu", "cuda" or "auto"
    threads: int = 0  # that fit and learn; 0 = as many as a one-second trial shows to be fastest
    precision: str = "auto"  # "float32", "bfloat16" or "auto": what a one-second trial shows to be faster
    keep_labels: bool = False  # when the run is finished; they take about a kilobyte each
    network: NetworkConfig = field(default_factory=NetworkConfig)
    labels: LabelsConfig = field(default_factory=LabelsConfig)
    critic: CriticConfig = field(default_factory=CriticConfig)
    fit: FitConfig = field(default_factory=FitConfig)
    ppo: PpoConfig = field(default_factory=PpoConfig)
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)

    def __post_init__(self) -> None:
        """Check what a type does not say. Raises ValueError naming the key."""
        _refuse(not self.sizes or not set(self.sizes) <= set(range(6, 12)), "sizes", self.sizes, "some of 6 … 11")
        known = ", ".join(PRESETS)
        _refuse(not self.presets or not set(self.presets) <= set(PRESETS), "presets", self.presets, f"some of {known}")
        _refuse(self.device not in ("auto", "cpu", "cuda"), "device", self.device, "auto, cpu or cuda")
        kinds = ("auto", "float32", "bfloat16")
        _refuse(self.precision not in kinds, "precision", self.precision, ", ".join(kinds))
        _refuse(self.workers < 0, "workers", self.workers, "0 or more")
        _refuse(self.threads < 0, "threads", self.threads, "0 or more")
        _refuse(self.seconds <= 0, "seconds", self.seconds, "above 0")
        counts = self.labels.counts
        _refuse(any(count < 1 for count in counts), "labels.counts", counts, "one number above 0 for each round")
        _refuse(not counts and not self.ppo.iterations, "labels.counts", counts, "not empty, or ppo.iterations above 0")
        players = ("careful", "low_card", "random_legal")
        _refuse(self.labels.player not in players, "labels.player", self.labels.player, " or ".join(players))
        _refuse(self.labels.tried not in ("all", "promising"), "labels.tried", self.labels.tried, "all or promising")
        for name in ("explore", "self_play", "network_playouts", "mixed", "moons"):
            share = getattr(self.labels, name)
            _refuse(not 0 <= share <= 1, f"labels.{name}", share, "within 0 … 1")
        for name in ("explore", "trace"):
            share = getattr(self.critic, name)
            _refuse(not 0 <= share <= 1, f"critic.{name}", share, "within 0 … 1")
        share, wanted = self.labels.network_playouts, "above 0 for a critic (critic.decisions): it ends such playouts"
        _refuse(self.critic.decisions > 0 and not share, "labels.network_playouts", share, wanted)
        wanted = "of two rounds at least for a critic (critic.decisions): the first has no network yet"
        _refuse(self.critic.decisions > 0 and len(counts) < 2, "labels.counts", counts, wanted)
        _refuse(not self.seconds < math.inf, "seconds", self.seconds, "a finite number")
        _refuse(self.seed < 0, "seed", self.seed, "0 or more")
        _refuse(
            not re.fullmatch(r"\w[\w.-]*", self.name), "name", self.name, "letters, digits, and . _ - after the first"
        )
        opponents = self.evaluation.opponents
        _refuse(not opponents, "evaluation.opponents", opponents, "at least one name")
        for name in ("careful", "snapshots", "trace", "anchor_decay"):
            share = getattr(self.ppo, name)
            _refuse(not 0 <= share <= 1, f"ppo.{name}", share, "within 0 … 1")
        seeds = (self.evaluation.seed, self.evaluation.early_seed)
        _refuse(seeds[0] == seeds[1], "evaluation.early_seed", seeds[1], "another than evaluation.seed")
        both = self.ppo.careful + self.ppo.snapshots
        _refuse(both > 1, "ppo.careful + ppo.snapshots", both, "at most 1: they are shares of the same tables")
        _refuse(self.ppo.pieces > self.ppo.hands, "ppo.pieces", self.ppo.pieces, f"at most ppo.hands, {self.ppo.hands}")
        sections = {
            "network": self.network, "labels": self.labels, "critic": self.critic, "fit": self.fit, "ppo": self.ppo,
            "evaluation": self.evaluation,
        }  # fmt: skip
        for key, least in _LEAST.items():
            section, _, name = key.partition(".")
            value = getattr(sections[section], name)
            _refuse(not value >= least, key, value, f"at least {least}")
        for key in _ABOVE_ZERO:
            section, _, name = key.partition(".")
            value = getattr(sections[section], name)
            _refuse(not 0 < value < math.inf, key, value, "above 0")

    def rules(self) -> list[Rules]:
        """Return the rules of every preset and size that the run is about."""
        return [getattr(Rules, preset)(size) for preset in self.presets for size in self.sizes]

    @property
    def seconds_in_all(self) -> float:
        """The most that all stages take, the reported matches not counted."""
        by_labels = self.seconds if self.labels.counts else 0.0
        return by_labels + (self.ppo.seconds if self.ppo.iterations else 0.0)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain dictionaries."""
        return OmegaConf.to_container(OmegaConf.structured(self))  # type: ignore[return-value]

    def save(self, path: Path) -> None:
        """Write the settings as YAML that `read_config` reads."""
        OmegaConf.save(OmegaConf.structured(self), path)


def read_config(path: Path | None, overrides: Sequence[str] = ()) -> Config:
    """Return the settings of a YAML file, with `key=value` overrides such as `fit.epochs=2` on top.

    Raises ValueError for a file or an override that is not right, naming it.
    """
    settings = OmegaConf.structured(Config)
    if path is not None:
        if not path.is_file():
            raise ValueError(f"there is no configuration {path}")
        with _told_in_one_line(str(path)):
            loaded = OmegaConf.load(path)
        if not isinstance(loaded, DictConfig):
            raise ValueError(f"{path} holds no settings")
        settings = _merged(settings, loaded, str(path))
    for override in overrides:
        if "=" not in override:
            raise ValueError(f"{override!r} is no override: key=value is needed, such as fit.epochs=2")
        with _told_in_one_line(f"the command line, {override}"):
            given = OmegaConf.from_dotlist([override])
        settings = _merged(settings, given, "the command line")
    return OmegaConf.to_object(settings)  # type: ignore[return-value]


@contextmanager
def _told_in_one_line(source: str) -> Iterator[None]:
    """Make a ValueError of what a file or an override that is not well-formed raises."""
    try:
        yield
    except Exception as error:
        # Whatever the parser raises: its errors have no common base, and those of YAML belong to a package of its own.
        raise ValueError(f"in {source}: {' '.join(str(error).split())}") from None


def _merged(settings: Any, given: DictConfig, source: str) -> Any:
    for key in OmegaConf.missing_keys(given):
        raise ValueError(f"in {source}: {key}=??? is not allowed: it must have a value")
    known = list(_dotted_keys(OmegaConf.structured(Config)))
    sections = {key.partition(".")[0] for key in known}
    for key in _dotted_keys(given):
        if key not in known and key not in sections:  # the type of a section is checked below
            nearest = difflib.get_close_matches(key, known, n=1, cutoff=0.0)[0]
            same_ending = [each for each in known if each.endswith("." + key)]
            raise ValueError(f"unknown key {key!r} in {source}: did you mean {(same_ending or [nearest])[0]!r}?")
    with _told_in_one_line(source):
        return OmegaConf.merge(settings, given)


def _dotted_keys(settings: DictConfig, prefix: str = "") -> Iterator[str]:
    """Yield the keys of settings as they are written on the command line, such as `fit.epochs`."""
    for key, value in settings.items():
        if isinstance(value, DictConfig) and value:
            yield from _dotted_keys(value, f"{prefix}{key!s}.")
        else:
            yield f"{prefix}{key!s}"


def _refuse(is_wrong: bool, key: str, value: object, allowed: str) -> None:
    if is_wrong:
        raise ValueError(f"{key}={value!r} is not allowed: it must be {allowed}")
