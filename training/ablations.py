"""Ablations: what each part of training is worth, `python -m training.ablations`.

Trains every configuration of a folder that is not trained yet, one seed each, then plays each network among `careful`
and among the base's. A row says what is left when one part is left out. Interrupted, it goes on where it was.
"""

# ruff: noqa: T201 - printing is this command's job

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import torch

from chearts_env.whole_files import write_whole
from training.checkpoint import latest_checkpoint
from training.command import INTERRUPTED, refuse
from training.config import read_config
from training.matches import Row, named_policy, play_row
from training.run_folder import RunFolder
from training.trainer import Trainer
from training.workers import Workers

BASE: Final = "base"
_SIZES: Final = (6, 8, 11)
_PRESETS: Final = ("card_page", "classic")
#: Of the matches among the base; those among `careful` are the ones that a run reports.
_SEED: Final = 20_000


@dataclass(frozen=True)
class AmongBase:
    """Play one network of a configuration in a field of the base's."""

    name: str
    challenger: Path
    field: Path
    preset: str
    size: int
    num_deals: int

    def __call__(self) -> Row:
        """Do it."""
        policies = named_policy(str(self.challenger)), named_policy(str(self.field))
        return play_row(*policies, (self.name, BASE), self.preset, self.size, self.num_deals, _SEED)


def main(arguments: Sequence[str] | None = None) -> int:
    """Train, play, print and write the table; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m training.ablations", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--configs", type=Path, default=Path("configs/ablations"), help="a folder of configurations")
    parser.add_argument("--runs", type=Path, default=Path("runs/ablations"), help="where run folders and table.md go")
    parser.add_argument("--deals", type=int, default=400, help="deals of each match among the base")
    asked = parser.parse_args(arguments)
    torch.set_num_threads(1)
    try:
        configs = _configurations(asked.configs)
        if asked.deals < 2:
            raise ValueError(f"--deals {asked.deals} is not allowed: an interval needs at least 2")
    except ValueError as error:
        return refuse("ablations", error)
    try:
        folders = {name: _trained(name, path, asked.runs) for name, path in configs.items()}
        rows = _rows(folders, asked.deals)
    except KeyboardInterrupt:
        print("\ninterrupted; the same command goes on")
        return INTERRUPTED
    text = table_of(list(folders), rows)
    write_whole(asked.runs / "table.md", text + "\n")
    print(text)
    return 0


def _configurations(place: Path) -> dict[str, Path]:
    """Return the files of a folder by the names of their runs, the base first; ValueError for what is not right."""
    named: dict[str, Path] = {}
    for path in sorted(place.glob("*.yaml")):
        name = read_config(path).name
        if name in named:
            raise ValueError(f"{path} and {named[name]} have the same name, {name}: each needs its own")
        named[name] = path
    if BASE not in named:
        raise ValueError(f"--configs {place} is not allowed: it holds no configuration named {BASE}")
    return {BASE: named.pop(BASE)} | named


def _trained(name: str, config: Path, runs: Path) -> RunFolder:
    """Return the finished run of a configuration, trained now if there is none."""
    settings = read_config(config)
    # A configuration that was edited since is another one.
    same = [folder for folder in _of_name(name, runs) if folder.config == settings]
    for folder in same:
        if folder.state.is_finished:
            return folder
    folder = same[0] if same else RunFolder.create(runs, settings)
    print(f"{name}: {folder.path}")
    Trainer(folder).run()
    return folder


def _of_name(name: str, runs: Path) -> list[RunFolder]:
    return [folder for folder in RunFolder.readable(runs) if folder.config.name == name]


def _rows(folders: dict[str, RunFolder], num_deals: int) -> list[Row]:
    """Return the matches among `careful`, from the runs' own tables, and those among the base, played now."""
    rows: list[Row] = []
    places = {name: latest_checkpoint(folder.path).resolve() for name, folder in folders.items()}
    works = []
    for name, folder in folders.items():
        sizes = [size for size in _SIZES if size in folder.config.sizes]
        table: list[Row] = json.loads((folder.path / "table.json").read_text("utf-8"))
        rows += [row for row in table if row["seats"] in sizes]
        if name != BASE:
            works += [
                AmongBase(name, places[name], places[BASE], preset, size, num_deals)
                for preset in _PRESETS
                for size in sizes
            ]
    with Workers(folders[BASE].config.workers) as workers:
        rows += workers.in_order(works)
    return rows


def table_of(names: Sequence[str], rows: Sequence[Row]) -> str:
    """Return a table in Markdown: a line for each name, points saved a hand with half of the 95 % interval."""
    found = {(row["challenger"], row["field"], row["rules"], row["seats"]): row for row in rows}
    fields = [*sorted({row["field"] for row in rows} - {BASE}), BASE]
    heading = [f"{field}, {preset}" for field in fields for preset in _PRESETS]
    lines = [
        "points saved a hand at 6 / 8 / 11 seats among | " + " | ".join(heading),
        "--- | " + " | ".join("---" for _ in heading),
    ]
    for name in names:
        cells = [
            " / ".join(_cell(found.get((name, field, preset, size))) for size in _SIZES)
            for field in fields
            for preset in _PRESETS
        ]
        lines.append(f"`{name}` | " + " | ".join(cells))
    return "\n".join(lines)


def _cell(row: Row | None) -> str:
    if row is None:
        return "-"
    low, high = row["interval95"]
    return f"{row['advantage']:+.2f} ± {(high - low) / 2:.2f}"


if __name__ == "__main__":
    sys.exit(main())
