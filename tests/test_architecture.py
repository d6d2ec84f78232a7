"""The house plan: which room may import which, and what no file may be or hold.

Read from the sources, so a wrong arrow is found in code that no test runs. Imports inside functions, under
`TYPE_CHECKING` and by a literal `import_module("...")` count like all others.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# The rooms of the library, in order: each may import only those above it. Packages count as one room.
ROOMS = (
    "whole_files",  # written beside their place, then renamed
    "compiled",  # the kernel decorator and its cache; knows nothing of the game
    "cards",
    "rules",
    "table",
    "state",  # whole states as bytes
    "deal",
    "engine",
    "given_deal",  # a deal given by hand, checked
    "observation",
    "worlds",  # counts and draws the ways in which unseen cards can lie; serves `knowledge`
    "knowledge",
    "game",
    "prefetch",  # tells the processor which memory comes next
    "tickets",  # numbers that threads leave for one another
    "batch",  # the loops over many tables; serves `vector` and `aec`
    "shares",  # threads that each take a share of the tables
    "vector",
    "render",  # draws what a seat may see; stands here because the environments call it
    "aec",
    "cancellation_hearts_v0",
    "policy",  # what acts: its protocol, the streams it draws from, its choices checked
    "seat_tables",  # tables at which one seat learns; serves `single_seat`
    "single_seat",
    "record_format",  # a hand as a line of JSON
    "record_schema",
    "record_export",  # records as arrays
    "record",
    "record_minari",
    "replay",  # a page to look at records
    "recording",  # makes records of what is being played
    "play_hints",  # what a policy thinks of a person's choices
    "play_table",  # a person at a table with policies
    "play_choice",  # ... choosing
    "play_screen",  # ... what is shown, as text
    "play_pages",  # ... and what can be looked up
    "play_app",  # ... in a terminal
    "play",  # ... as a command
    "film",  # records as moving pictures
    "seating",  # policies at tables, played to the end
    "arena",
    "bench_peers",  # other environments, to be measured beside ours
    "bench_play",
    "bench",
    "__init__",  # gathers the public names, so no room may import from `chearts_env` itself
)

# What each top-level package may import besides itself and the standard library.
ALLOWED = {
    "chearts_env": {"numpy", "numba", "llvmlite", "gymnasium", "pettingzoo"},
    "baselines": {"numpy", "numba", "chearts_env"},
    "training": {
        *("numpy", "numba", "gymnasium", "pettingzoo", "chearts_env", "baselines"),
        *("torch", "safetensors", "tensorboard", "tqdm", "omegaconf", "matplotlib", "openskill"),
    },
}

# More that single rooms may import, but only inside functions: the library must import without them.
ALLOWED_IN_FUNCTIONS = {
    "chearts_env.render": {"PIL", "pygame"},  # the extra `render`
    "chearts_env.bench_peers": {"pyspiel", "rlcard", "pgx", "jax"},  # --peers runs whatever is installed
    "chearts_env.play_app": {"textual", "rich"},  # the extra `play`
    "chearts_env.record": {"zstandard"},  # the extra `record`
    "chearts_env.record_minari": {"minari"},  # the extra `minari`
    "training.export": {"onnx", "onnxruntime"},  # the extra `onnx`
    "training.ray_cluster": {"ray"},  # the extra `ray`
    "training.ray_workers": {"ray"},
}

# Each file of `training.libraries` is an example for one library, and imports it.
OF_LIBRARIES = {
    *("ray", "tianshou", "tensordict", "torchrl", "sb3_contrib", "stable_baselines3", "pyspiel", "open_spiel"),
    *("agilerl", "benchmarl", "pufferlib"),
}

MOST_LINES = 400
DRAWERS = re.compile(r"(.*_)?(utils?|helpers?|misc|common)")


def _sources(*packages: str) -> list[Path]:
    return sorted(path for package in packages for path in (ROOT / package).rglob("*.py"))


def _module(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def _room(module: str) -> str:
    """Return the room of a dotted module of the library: its second word, `__init__` for the package itself."""
    return [*module.split("."), "__init__"][1]


def _imported_modules(module: str, tree: ast.AST) -> Iterator[tuple[str, bool]]:
    """Yield what a source imports as absolute dotted names, and whether it does so inside a function."""
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    in_functions = {id(node) for function in functions for node in ast.walk(function)}
    for node in ast.walk(tree):
        late = id(node) in in_functions
        if isinstance(node, ast.Import):
            yield from ((alias.name, late) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            # One dot is the package a file stands in: drop one word of its name per dot.
            parent = ".".join(module.split(".")[: -node.level]) if node.level else ""
            base = ".".join(word for word in (parent, node.module) if word)
            names = (f"{base}.{alias.name}" for alias in node.names)
            yield from ((name if _is_source(name) else base, late) for name in names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in {"import_module", "__import__"}:
            yield from ((str(word.value), late) for word in node.args[:1] if isinstance(word, ast.Constant))


def _is_source(module: str) -> bool:
    place = ROOT.joinpath(*module.split("."))
    planned = module.removeprefix("chearts_env.") in ROOMS
    return planned or place.with_suffix(".py").is_file() or (place / "__init__.py").is_file()


def _wrong_arrows(module: str, source: str) -> list[str]:
    """Return a line for each import of a source that the plan does not allow."""
    package, room = module.split(".")[0], _room(module)
    in_functions = ALLOWED_IN_FUNCTIONS.get(f"{package}.{room}", set())
    wrong: dict[str, None] = {}  # in order, each once
    for target, late in _imported_modules(module, ast.parse(source)):
        top = target.split(".")[0]
        if top == package == "chearts_env":
            if room in ROOMS and _room(target) in ROOMS:
                allowed = _room(target) == room or ROOMS.index(_room(target)) < ROOMS.index(room)
            else:
                allowed = False
        elif top == package or top in sys.stdlib_module_names or top in ALLOWED[package]:
            allowed = True
        else:
            allowed = (top in in_functions and late) or (
                module.startswith("training.libraries.") and top in OF_LIBRARIES
            )
        if not allowed:
            wrong[f"{module} imports {target}"] = None
    return list(wrong)


def test_imports_point_upwards_only_in_every_room() -> None:
    """DESIGN, Rooms: each line imports only what stands above it; only `training` imports torch."""
    wrong = [line for path in _sources(*ALLOWED) for line in _wrong_arrows(_module(path), path.read_text("utf-8"))]
    assert not wrong, "\n".join(wrong)


def test_rooms_are_all_on_the_plan() -> None:
    """A new file of the library has to be given its place in ROOMS before it can land."""
    rooms = {_room(_module(path)) for path in _sources("chearts_env")}
    assert rooms <= set(ROOMS), f"no place in ROOMS: {sorted(rooms - set(ROOMS))}"


@pytest.mark.parametrize(
    ("module", "source", "arrow"),
    [
        ("chearts_env.rules", "from chearts_env.engine import apply", "chearts_env.engine"),
        ("chearts_env.rules", "from .engine import apply", "chearts_env.engine"),
        ("chearts_env.cards", "from . import rules", "chearts_env.rules"),
        ("chearts_env.cards", "from chearts_env import rules", "chearts_env.rules"),
        ("chearts_env.table", "from chearts_env import Game", "chearts_env"),
        ("chearts_env.game", "def late():\n    import chearts_env.vector", "chearts_env.vector"),
        ("chearts_env.game", "if TYPE_CHECKING:\n    from chearts_env.aec import raw_env", "chearts_env.aec"),
        ("chearts_env.render.text", "from ..aec import raw_env", "chearts_env.aec"),
        ("chearts_env.render.text", "from PIL import Image", "PIL"),
        ("chearts_env.render.text", "try:\n    import PIL\nexcept ImportError:\n    PIL = None", "PIL"),
        ("chearts_env.vector", "def late():\n    from PIL import Image", "PIL"),
        ("chearts_env.bench", "import torch", "torch"),
        ("chearts_env.arena", "def late():\n    importlib.import_module('torch')", "torch"),
        ("chearts_env.arena", "import baselines.low_card", "baselines.low_card"),
        ("chearts_env.arena", "from training import ppo", "training.ppo"),
        ("chearts_env.somewhere", "from chearts_env.cards import RANKS", "chearts_env.cards"),
        ("baselines.careful", "import torch", "torch"),
        ("baselines.careful", "from training.network import Network", "training.network"),
        ("training.train", "import ray", "ray"),
    ],
)
def test_wrong_arrow_is_found_when_planted(module: str, source: str, arrow: str) -> None:
    """The walk above is only worth something if it sees each way of writing a wrong import."""
    assert _wrong_arrows(module, source) == [f"{module} imports {arrow}"]


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("chearts_env.engine", "from chearts_env.table import TABLE\nfrom .cards import RANKS\nimport numpy as np"),
        ("chearts_env.render.picture", "from chearts_env.render.text import lines\ndef draw():\n    import PIL.Image"),
        ("chearts_env.aec", "from chearts_env.render import text\nfrom pettingzoo import AECEnv"),
        ("chearts_env.bench_peers", "def peers():\n    import pyspiel"),
        ("chearts_env.__init__", "from chearts_env.arena import Policy"),
        ("baselines.careful", "from chearts_env import Rules\nfrom baselines.random_legal import RandomLegal"),
        ("training.train", "import torch\nfrom training.ppo import update\nfrom chearts_env import VectorTables"),
    ],
)
def test_right_arrow_is_let_through(module: str, source: str) -> None:
    """The examples the plan names as right."""
    assert _wrong_arrows(module, source) == []


def test_files_stay_under_400_lines() -> None:
    """MODELS, Size: 120 to 300 lines are a room, more than 400 are two."""
    lengths = {path: len(path.read_text("utf-8").splitlines()) for path in _sources(*ALLOWED, "tests")}
    long = [f"{path.relative_to(ROOT)}: {lines} lines" for path, lines in lengths.items() if lines > MOST_LINES]
    assert not long, "\n".join(long)


def test_names_say_what_a_file_holds() -> None:
    """MODELS, Names: no drawers called utils, no module named after one of the standard library's."""
    files = [path.relative_to(ROOT) for path in _sources(*ALLOWED, "tests")]
    names = {part.removesuffix(".py"): path for path in files for part in path.parts}
    wrong = {name: path for name, path in names.items() if DRAWERS.fullmatch(name) or name in sys.stdlib_module_names}
    assert not wrong, "\n".join(f"{name}: {path}" for name, path in sorted(wrong.items()))


def test_referee_knows_only_the_text_of_cards() -> None:
    """The slow referee imports nothing of the package but card text, so that it can disagree."""
    tree = ast.parse((ROOT / "tests" / "referee.py").read_text("utf-8"))
    imported = {target for target, _ in _imported_modules("tests.referee", tree)}
    strangers = {target for target in imported if target.split(".")[0] not in sys.stdlib_module_names}
    assert strangers == {"chearts_env.cards"}


def test_files_hold_no_absolute_path_of_the_machine_they_were_written_on() -> None:
    """What is committed must mean the same on every machine."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout, so what is committed is not known")
    command = ["git", "ls-files", "-z"]
    listing = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    starts = "|".join(("home", "root", "Users", "work", "workspace", "builds"))
    pattern = re.compile(rf"(?<![\w.~)}}])/(?:{starts})/\w".encode())
    wrong = []
    for name in listing.stdout.decode().split("\0"):
        path = ROOT / name
        if name and path.is_file():
            content = path.read_bytes()
            wrong += [f"{name}: {match.group().decode()}…" for match in pattern.finditer(content)]
            if str(ROOT).encode() + b"/" in content:
                wrong.append(f"{name}: {ROOT}")
    assert not wrong, "\n".join(wrong)
