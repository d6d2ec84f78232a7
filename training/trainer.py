"""The loop of one run: critic, labels, fit, early matches, round after round; self-play; then the reported matches."""

# ruff: noqa: T201 - it tells the person at the terminal

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
from tqdm import tqdm

from training.checkpoint import SELF_PLAY, drop_later_checkpoints, latest_checkpoint, load_checkpoint, save_checkpoint
from training.critic_stage import fitted_critic, shared_foresight
from training.fit import Fitter, Progress, new_network
from training.followers import FitTask, LearnTask
from training.labels import Chunk, Labels, make_labels, rules_to_deal
from training.matches import MatchWork, Row, table_of
from training.network import Network
from training.policy import faster_inference
from training.precision import CPU, KINDS, name_of
from training.ranks import ALONE, Ranks
from training.run_folder import RunFolder
from training.run_log import RunLog
from training.self_play import SelfPlay
from training.workers import LabelWork, SharedForesight, SharedPlayer, Workers, WorkerSet

_FIT_STREAM: Final = 3
#: So often self-play is saved on its way, and, at one save in so many, plays early matches.
_SAVES_IN_ALL: Final = 40
_EARLY_IN_ALL: Final = 8
#: Seconds between two lines of metrics while fitting.
_METRICS_EVERY: Final = 2.0


class Trainer:
    """Carries one run folder from where it stands to its end."""

    def __init__(
        self, folder: RunFolder, make_workers: Callable[[int], WorkerSet] = Workers, ranks: Ranks = ALONE
    ) -> None:
        """Carry it by workers made when they are needed, and by this process as the first of those that learn."""
        self._folder = folder
        self._ranks = ranks
        self._make_workers = make_workers
        self._config = folder.config
        self._state = folder.state
        self._log = RunLog(folder)
        self._fitting: Network | None = None
        self._share_fitted = 0.0
        if not folder.has_begun:
            # So that there is something to play with from the first moment on.
            self._save(self._fresh_network(0), "untrained")

    def run(self) -> None:
        """Do what is left to do."""
        config, state = self._config, self._state
        if state.is_finished:
            print((self._folder.path / "table.txt").read_text("utf-8"))
            return
        print("preparing: compiling what is not compiled yet, trying which floating type is faster", flush=True)
        self._prepare()
        self._log.begin()
        try:
            with self._make_workers(config.workers) as workers:
                if state.early_rounds < self._last_round:
                    self._go_through_rounds(workers)
                if config.ppo.iterations:
                    self._play_itself(workers)
                self._report(workers)
        finally:
            self._log.close()
        if not config.keep_labels:
            self._folder.drop_labels()
        state.is_finished = True
        self._folder.save_state()

    def _go_through_rounds(self, workers: WorkerSet) -> None:
        """Make labels and fit, round after round; what the folder holds already is not done again."""
        counts: list[int] = []
        for number in range(self._last_round):
            counts.append(self._make_labels(number, sum(counts[self._first_fitted(number) :]), workers))
            if number >= len(self._state.checkpoints):
                self._fit(number)
            if number >= self._state.early_rounds:
                self._play_early(number + 1, workers)
                self._state.early_rounds = number + 1
                self._log.note_time()

    def save_what_there_is(self) -> Path:
        """Save a network whose fit was interrupted, if it is the best there is; return the newest checkpoint."""
        # A network less than half fitted plays worse than that of the round before.
        if self._fitting is not None and (self._share_fitted > 0.5 or not self._state.checkpoints):
            self._save(self._fitting, "interrupted", len(self._state.checkpoints))
        return latest_checkpoint(self._folder.path)

    def _prepare(self) -> None:
        """Compile the kernels once, so that the workers find them in the cache, and try the floating types."""
        few = replace(self._config.labels, tables=1)
        make_labels(Chunk(0, 0, 0, tuple(self._config.rules()), few), None)
        network, precision = self._fresh_network(0), self._config.precision
        given = self._state.kinds or ([precision] * 2 if precision != "auto" else [])
        device = self._ranks.device(self._config.device)
        # Workers play on CPUs; self-play that is not dealt in pieces plays where it learns.
        plays_here = self._config.ppo.iterations > 0 and self._config.ppo.pieces == 1
        play_kind = KINDS[given[0]] if given else faster_inference(network, device if plays_here else CPU)
        fit_kind = KINDS[given[1]] if given else None
        cores = min(max(self._config.workers, 1), (os.cpu_count() or 1) // self._ranks.local_size)
        self._fitter = Fitter(
            network, self._config.fit, device, fit_kind, self._state.threads or self._config.threads, cores
        )
        # Kept, so that a run that is resumed goes on in the same ones.
        self._state.kinds = [name_of(kind) for kind in (play_kind, self._fitter.kind)]
        self._state.threads = self._fitter.threads
        self._kind = self._state.kinds[0]

    # Time

    def _end_of_round(self, number: int) -> float:
        """Return when a round should be over, in seconds of training: rounds get time as they get labels."""
        counts = self._config.labels.counts
        return self._config.seconds * sum(counts[: number + 1]) / sum(counts)

    def _epochs(self, number: int) -> int:
        is_last = number + 1 == self._last_round
        return self._config.fit.epochs if is_last else self._config.fit.epochs_between

    def _first_fitted(self, number: int) -> int:
        """Return the first round whose labels the fit of a round takes."""
        rounds = self._config.fit.rounds
        return max(0, number + 1 - rounds) if rounds else 0

    @property
    def _last_round(self) -> int:
        return len(self._config.labels.counts)

    def _title(self, number: int, stage: str) -> str:
        return f"round {number + 1}/{self._last_round} {stage}"

    # The stages of a round

    def _make_labels(self, number: int, num_before: int, workers: WorkerSet) -> int:
        """Have the folder hold a round's labels, what is missing made anew; return how many they are."""
        state, wanted = self._state, self._config.labels.counts[number]
        closed_at = state.chunks[number] if number < len(state.chunks) else None
        player = foresight = None
        if number:
            player = self._player(self._folder.checkpoints / state.checkpoints[number - 1], workers)
            is_whole = closed_at is not None and self._folder.has_chunks(number, closed_at)
            if self._config.critic.decisions and not is_whole:
                foresight = self._foresight(number, player, workers)
        began, count, num_chunks = self._log.seconds, 0, 0
        with self._log.bar(self._title(number, "labels"), wanted, "labels") as bar:
            for num_labels in self._chunks(number, player, foresight, workers):
                num_chunks += 1
                count += num_labels
                self._log.tell(bar)
                bar.update(num_labels)
                if closed_at is not None:
                    if num_chunks == closed_at:
                        break
                    continue
                self._log.note_time()
                fitting = (num_before + count) * self._epochs(number) / self._fitter.labels_per_second
                if count >= wanted or self._log.seconds + fitting > self._end_of_round(number):
                    break
        if closed_at is None:
            state.chunks.append(num_chunks)
            rate = count / max(self._log.seconds - began, 1e-9)
            self._log.write(number + 1, "labels", labels=count, labels_per_second=round(rate, 1))
            self._log.note_time()
        return count

    def _player(self, checkpoint: Path, workers: WorkerSet) -> SharedPlayer:
        return SharedPlayer(workers.share(load_checkpoint(checkpoint).network), self._kind)

    def _chunks(
        self, number: int, player: SharedPlayer | None, foresight: SharedForesight | None, workers: WorkerSet
    ) -> Iterator[int]:
        """Yield how many labels each of a round's chunks holds, one by one as the folder has them, without end."""
        config = self._config
        rules = rules_to_deal(config.rules(), config.labels)
        chunk_number = 0
        while (kept := self._folder.num_labels(number, chunk_number)) is not None:
            yield kept
            chunk_number += 1

        def works() -> Iterator[Callable[[], Labels]]:
            place = chunk_number
            while True:
                yield LabelWork(Chunk(config.seed, number, place, rules, config.labels), player, foresight)
                place += 1

        for labels in workers.in_order(works()):
            self._folder.save_chunk(number, chunk_number, labels)
            chunk_number += 1
            yield len(labels)

    def _foresight(self, number: int, player: SharedPlayer, workers: WorkerSet) -> SharedForesight:
        """Fit a round's critic, or take the one that the folder holds; hand it to the workers."""
        settings = self._config.critic
        with self._log.bar(self._title(number, "critic"), settings.decisions, "decisions") as bar:

            def on_part(seen: int, foreseen: float) -> None:
                self._log.tell(bar)
                bar.update(seen - bar.n)
                self._log.write(number + 1, "critic", decisions=seen, foreseen=round(foreseen, 4))

            # Half of the round's time at most: what is left is for labels and their fit.
            seconds = max(self._end_of_round(number) - self._log.seconds, 1.0) / 2
            kind = KINDS[self._kind]
            critic = fitted_critic(self._folder, number, player, workers, kind, seconds, on_part)
        self._log.note_time()
        return shared_foresight(critic, player, workers, kind, settings.ahead)

    def _fit(self, number: int) -> None:
        """Fit a network to the labels so far, or to those of the latest rounds, and save it."""
        epochs, fitter, first = self._epochs(number), self._fitter, self._first_fitted(number)
        chunks = [0] * first + self._state.chunks[first : number + 1]
        rng = np.random.default_rng([self._config.seed, _FIT_STREAM, number])
        network = self._fresh_network(number)
        if number and self._config.fit.goes_on:
            network = load_checkpoint(self._folder.checkpoints / self._state.checkpoints[number - 1]).network
        settings = (self._config.fit, self._config.device, fitter.kind, fitter.threads)
        self._ranks.of_first(FitTask(network, self._folder.path.resolve(), chunks, epochs, rng, *settings))
        # Read from the folder into one array: they are gigabytes, and lie in memory once.
        labels = self._folder.load_labels(chunks, self._ranks.rank, self._ranks.size)
        self._fitting = network = network.to(fitter.device)
        step_before = self._state.step
        last_written = self._log.seconds
        with self._log.bar(self._title(number, "fit"), epochs * self._folder.count_labels(chunks), "decisions") as bar:

            def on_batch(progress: Progress) -> None:
                nonlocal last_written
                self._state.step = step_before + progress.batches
                self._share_fitted = progress.share
                self._log.tell(bar)
                bar.update(progress.labels - bar.n)
                if self._log.seconds - last_written > _METRICS_EVERY:
                    last_written = self._log.seconds
                    self._write_fit(number, progress)

            seconds = max(self._end_of_round(number) - self._log.seconds, 1.0)
            self._write_fit(number, fitter.fit(network, labels, epochs, rng, seconds, on_batch, self._ranks))
        self._state.checkpoints.append(self._save(network, "fitted", number).name)
        self._fitting = None
        self._log.note_time()

    def _write_fit(self, number: int, progress: Progress) -> None:
        self._log.write(
            number + 1, "fit", labels=progress.labels, batches=self._state.step,
            loss=round(progress.loss, 5), learning_rate=progress.learning_rate,
        )  # fmt: skip

    def _fresh_network(self, number: int) -> Network:
        return new_network(self._config.network, self._config.seed, number)

    def _save(self, network: Network, what: str, number: int | None = None) -> Path:
        """Save a network, that of a round with the round's critic, if there is one."""
        critic = None if number is None else self._folder.critic_file(number)
        critic = critic if critic and critic.is_file() else None
        place = save_checkpoint(
            self._folder.checkpoints, network, self._config, self._state.step, critic,
            what=what, rounds=len(self._state.checkpoints), seconds=round(self._log.seconds, 1),
        )  # fmt: skip
        drop_later_checkpoints(place)
        return place

    # Self-play

    def _play_itself(self, workers: WorkerSet) -> None:
        """Improve the network of the last round by self-play; save it and play a few early matches on the way."""
        config, state, folder = self._config, self._state, self._folder
        start, first_step = self._fresh_network(0), 0
        if state.checkpoints:
            first_step = int(state.checkpoints[-1])
            start = load_checkpoint(folder.checkpoints / state.checkpoints[-1]).network
        kinds = (KINDS[self._kind], self._fitter.kind)
        fitter, ranks = self._fitter, self._ranks
        stage = SelfPlay(config, start, fitter.device, kinds, fitter.threads, workers, ranks)
        if folder.self_play.is_file():
            stage.load(folder.self_play)
        networks, device = stage.learner.networks(), config.device
        ranks.of_first(LearnTask(*networks, config.ppo, device, fitter.kind, fitter.threads, stage.learner.state()))
        with self._log.bar("self-play", 100, "%") as bar:
            bar.update(round(100 * stage.share, 2))
            while stage.share < 1:
                before = stage.share
                told = stage.iterate()
                state.step = first_step + stage.iteration
                self._log.write(self._last_round, "self-play", **told)
                self._log.tell(bar, f", {told['decisions_per_second']:,.0f} decisions/s")
                bar.update(round(100 * min(stage.share, 1.0), 2) - bar.n)
                if int(_SAVES_IN_ALL * stage.share) > int(_SAVES_IN_ALL * before):
                    self._save(stage.policy, SELF_PLAY)
                    if int(_EARLY_IN_ALL * stage.share) > int(_EARLY_IN_ALL * before):
                        self._play_early(self._last_round, workers)
                    # Last: a run that is killed before goes on from the save before, early matches included.
                    stage.save(folder.self_play)
                    self._log.note_time()
        ranks.of_first(0)

    # Matches

    def _play_early(self, round_number: int, workers: WorkerSet) -> None:
        """Play a few matches on deals that are always the same and never those reported."""
        settings = self._config.evaluation
        rows = list(self._matches([settings.early_opponent], settings.early_deals, settings.early_seed, workers))
        for row in rows:
            self._log.write_match(round_number, "early", row)
        advantage = np.mean([row["advantage"] for row in rows])
        self._log.result = f"{advantage:+.2f} among {settings.early_opponent}"

    def _matches(self, opponents: list[str], deals: int, seed: int, workers: WorkerSet) -> Iterator[Row]:
        config = self._config
        player = self._player(latest_checkpoint(self._folder.path), workers)
        return workers.in_order(
            MatchWork(player, config.name, opponent, preset, size, deals, seed)
            for opponent in opponents
            for preset in config.presets
            for size in config.sizes
        )

    def _report(self, workers: WorkerSet) -> None:
        """Play the reported matches, print their table and write it."""
        config, settings = self._config, self._config.evaluation
        print(f"trained for {self._state.seconds:.0f} s; now {settings.deals} deals a match that took no part in it")
        rows: list[Row] = []
        total = len(settings.opponents) * len(config.presets) * len(config.sizes)
        with tqdm(desc="matches", total=total, unit=" match", dynamic_ncols=True, file=sys.stdout) as bar:
            for row in self._matches(settings.opponents, settings.deals, settings.seed, workers):
                rows.append(row)
                self._log.write_match(self._last_round, "report", row)
                bar.set_postfix_str(f"saved {row['advantage']:+.2f} among {row['field']} at {row['seats']} seats")
                bar.update()
        text = f"one {config.name} among a field, points per hand; saved = the field's own minus the policy's\n\n"
        self._folder.write_table(text + table_of(rows), rows)
        print(text + table_of(rows))
        print(f"\nrun folder: {self._folder.path}")
