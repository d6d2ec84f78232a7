"""What importing the package does, and what it does not."""

from __future__ import annotations

import importlib.util
import textwrap
from pathlib import Path

import pytest

from tests.test_processes import PLAY, files_under, run_python


def test_import_loads_neither_torch_nor_numba() -> None:
    """Contract, imports: `import chearts_env` is quick and imports no torch; kernels are loaded when first needed."""
    program = """
        import sys
        import chearts_env
        print(sorted({"torch", "numba", "baselines", "training"} & set(sys.modules)))
        for name in chearts_env.__all__:
            getattr(chearts_env, name)
        print("torch" in sys.modules)
    """
    assert run_python(program).split("\n")[:2] == ["[]", "False"]


@pytest.mark.jit
def test_import_of_every_room_compiles_nothing(tmp_path: Path) -> None:
    """Contract, imports: importing leaves no machine code behind, neither in memory nor on disk."""
    program = """
        import importlib
        import pkgutil
        import chearts_env

        compiled = []
        for room in pkgutil.walk_packages(chearts_env.__path__, "chearts_env."):
            module = importlib.import_module(room.name)
            for name, value in vars(module).items():
                if getattr(value, "signatures", None):
                    compiled.append(f"{room.name}.{name}")
        print(compiled)
    """
    environment: dict[str, str | None] = {"XDG_CACHE_HOME": str(tmp_path), "NUMBA_CACHE_DIR": None}
    assert run_python(program, environment).strip() == "[]"
    assert files_under(tmp_path) == []


@pytest.mark.slow
def test_torch_may_be_imported_before_or_after_and_keeps_its_threads() -> None:
    """Contract, known traps: importing in either order works and leaves torch's thread count alone."""
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed")
    play = textwrap.dedent(PLAY)
    results = set()
    for imports in ("import torch\nimport chearts_env\n", "import chearts_env.vector\nimport torch\n"):
        threads = "print(torch.get_num_threads())\n"
        printed = run_python(imports + threads + play.replace("seed=1", "seed=1, num_threads=2") + threads).split()
        assert printed[0] == printed[-1]
        results.add(tuple(printed))
    assert len(results) == 1
