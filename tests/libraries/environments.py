"""The library examples' environments: `make test-libraries` builds them in `.venv-libraries-NAME` and tests in each.

Versions stand in `requirements-NAME.txt`; what `requirements-NAME-alone.txt` lists is installed after it without what
it asks for. On Linux torch comes from PyTorch's index of CPU builds: the plain one brings gigabytes of CUDA. An
environment stays as it is until one of these, torch's version, `pyproject.toml` or this file changes. Needs the
standard library alone.
"""

# ruff: noqa: T201 - printing is this command's job

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
HERE: Final = Path(__file__).resolve().parent
#: Tells the tests in which environment they run.
VARIABLE: Final = "CHEARTS_LIBRARIES"
#: Where PyTorch's CPU builds for Linux lie; elsewhere the plain index has nothing else.
CPU_BUILDS: Final = "https://download.pytorch.org/whl/cpu"


@dataclass(frozen=True)
class Environment:
    """An environment, and which files of `training.libraries` are tested in it."""

    name: str
    examples: tuple[str, ...]
    variables: Mapping[str, str] = field(default_factory=dict)  # set while what is installed alone is being installed

    @property
    def folder(self) -> Path:
        """Where it is built."""
        return ROOT / f".venv-libraries-{self.name}"

    @property
    def python(self) -> str:
        """Its Python."""
        return str(self.folder / ("Scripts" if os.name == "nt" else "bin") / "python")

    @property
    def requirements(self) -> Path:
        """What is installed in it."""
        return HERE / f"requirements-{self.name}.txt"

    @property
    def alone(self) -> Path:
        """What is installed in it without what it asks for, if the file exists."""
        return HERE / f"requirements-{self.name}-alone.txt"


#: In the order in which they are begun: the longest first.
ENVIRONMENTS: Final = (
    Environment(
        "main", ("cleanrl_ppo", "sb3_maskable_ppo", "tianshou_ppo", "torchrl_ppo", "rllib_ppo", "open_spiel_dqn")
    ),
    Environment("agilerl", ("agilerl_ppo",)),
    Environment("pufferlib", ("pufferlib_ppo",), {"NO_OCEAN": "1", "PYTHONPATH": str(HERE / "pufferlib_build")}),
    Environment("benchmarl", ("benchmarl_ippo",)),
)


def left_out() -> dict[str, str]:
    """Return environments that cannot be built on this machine, each with the reason: any other has to be."""
    if shutil.which("c++"):
        return {}
    return {"pufferlib": "a part of it is compiled as it is installed, and there is no C++ compiler"}


def index_of_cpu_builds() -> str | None:
    """Return the package index that torch needs besides pip's own to be a CPU build, None where it needs none."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        urllib.request.urlopen(f"{CPU_BUILDS}/torch/", timeout=20).close()
    except (urllib.error.URLError, TimeoutError) as error:
        print(f"torch comes from pip's own index: {CPU_BUILDS} cannot be reached ({error})", flush=True)
        return None
    return CPU_BUILDS


def examples_here() -> tuple[str, ...]:
    """Return the examples to be tested in the environment that the tests run in."""
    name = os.environ.get(VARIABLE)
    return next((each.examples for each in ENVIRONMENTS if each.name == name), ())


def run(environment: Environment, *command: str, **variables: str) -> bool:
    """Run a command, each line of what it prints marked by the environment; return whether it succeeded."""
    process = subprocess.Popen(
        command, cwd=ROOT, env={**os.environ, **variables}, text=True, errors="replace",
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    assert process.stdout is not None
    for line in process.stdout:
        print(f"{environment.name}: {line.rstrip()}", flush=True)
    return process.wait() == 0


def built(environment: Environment, torch: str, index: str | None) -> bool:
    """Build an environment, or bring it up to date; return whether it is there now."""
    recipes = [environment.requirements, environment.alone, ROOT / "pyproject.toml", Path(__file__)]
    recipe = b"".join(each.read_bytes() for each in recipes if each.exists())
    stamp = hashlib.sha256(torch.encode() + recipe).hexdigest()
    mark = environment.folder / ".installed"
    is_there = Path(environment.python).exists()
    if is_there and mark.exists() and mark.read_text() == stamp:
        return True
    pip = (environment.python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-warn-conflicts")
    found = ("--extra-index-url", index) if index else ()
    # torch first: with it there, nothing that is installed later brings another build of it.
    steps: list[tuple[str, ...]] = [
        *([] if is_there else [(sys.executable, "-m", "venv", "--clear", str(environment.folder))]),
        (*pip, torch, *found),
        (*pip, torch, "-r", str(environment.requirements), "-e", ".[train,test]"),
    ]
    if not all(run(environment, *step) for step in steps):
        return False
    if environment.alone.exists():
        step = (*pip, "--no-deps", "--no-build-isolation", "-r", str(environment.alone))
        if not run(environment, *step, **environment.variables):
            return False
    mark.write_text(stamp)
    return True


def tested(environment: Environment, torch: str, index: str | None, options: Sequence[str]) -> str:
    """Build an environment and run its tests; return in a word how it went."""
    began = time.perf_counter()
    if not built(environment, torch, index):
        return "FAILED to install"
    installed = time.perf_counter()
    variables = {VARIABLE: environment.name, "OMP_NUM_THREADS": "1"}  # a process for each core is enough
    passed = run(environment, environment.python, "-m", "pytest", "tests/libraries", *options, **variables)
    spent = f"installing {installed - began:.0f} s, tests {time.perf_counter() - installed:.0f} s"
    return f"{'passed' if passed else 'FAILED'} ({spent})"


def main(arguments: Sequence[str] | None = None) -> int:
    """Test in every environment, some at a time; return 0 if all passed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--jobs", type=int, default=2, help="environments at a time")
    parser.add_argument("--index", help=f"package index for a CPU build of torch (default, on Linux: {CPU_BUILDS})")
    parser.add_argument("--only", choices=[each.name for each in ENVIRONMENTS], help="this environment alone")
    asked, options = parser.parse_known_args(arguments)
    missing = left_out()
    for name, reason in missing.items():
        print(f"left out: {name}: {reason}", flush=True)
    torch = next(line for line in (ROOT / "constraints.txt").read_text().splitlines() if line.startswith("torch=="))
    chosen = [each for each in ENVIRONMENTS if each.name not in missing and asked.only in (None, each.name)]
    with ThreadPoolExecutor(max(1, asked.jobs)) as pool:
        index = asked.index or index_of_cpu_builds()
        results = list(pool.map(partial(tested, torch=torch, index=index, options=options), chosen))
    for environment, result in zip(chosen, results, strict=True):
        print(f"{environment.name}: {result}", flush=True)
    return int(any("FAILED" in result for result in results))


if __name__ == "__main__":
    sys.exit(main())
