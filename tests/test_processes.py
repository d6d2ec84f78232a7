"""Other processes: forked, spawned, with a home that cannot be written, with another version of the sources."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

import chearts_env
from chearts_env.compiled import kernel

PACKAGE = Path(chearts_env.__file__).resolve().parent

PLAY = """
    from chearts_env import Rules, VectorTables

    tables = VectorTables([Rules(6), Rules(11)], 8, seed=1)
    for _ in range(150):
        tables.step(tables.action_masks.argmax(axis=1))
    print(tables.final_scores.sum(), tables.to_bytes().hex()[-8:])
"""


def run_python(
    program: str,
    environment: dict[str, str | None] | None = None,
    path: Path = PACKAGE.parent,
    cwd: Path | None = None,
    timeout: int = 600,
) -> str:
    """Run a program in a Python of its own and return what it prints; a variable set to None is unset."""
    # PYTHONSAFEPATH: otherwise the working folder would come before `path`.
    variables = os.environ | {"PYTHONPATH": str(path), "PYTHONSAFEPATH": "1"} | (environment or {})
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env={name: value for name, value in variables.items() if value is not None},
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


# Children


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_children_step_tables_with_threads_after_their_parent_did(method: str, tmp_path: Path) -> None:
    """Contract, kernels: `fork`, `forkserver`, `spawn`: children work, with new tables and with inherited ones."""
    program = tmp_path / "parent.py"
    program.write_text(
        textwrap.dedent(
            """
            import multiprocessing
            import sys
            import warnings

            from chearts_env import Rules, VectorTables

            RULES = [Rules(6), Rules(9), Rules(11)]


            def step(tables):
                for _ in range(130):
                    tables.step(tables.action_masks.argmax(axis=1))
                return tables.to_bytes()


            def child(queue, tables):
                new = VectorTables(RULES, 9, seed=1, num_threads=2)
                queue.put((step(new), step(tables)))


            if __name__ == "__main__":
                warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of any fork with threads
                context = multiprocessing.get_context(sys.argv[1])
                tables = VectorTables(RULES, 9, seed=1, num_threads=2)
                expected = step(tables)
                queue = context.Queue()
                children = [context.Process(target=child, args=(queue, tables), daemon=True) for _ in "ab"]
                for each in children:
                    each.start()
                results = [queue.get(timeout=90) for _ in children]
                for each in children:
                    each.join(60)
                assert [each.exitcode for each in children] == [0, 0]
                later = step(tables)  # the parent's threads still work
                assert results == [(expected, later)] * 2
                print("same")
            """
        )
    )
    ran = subprocess.run(
        [sys.executable, str(program), method],
        env=os.environ | {"PYTHONPATH": str(PACKAGE.parent)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (0, "same\n"), ran.stderr


def test_a_child_of_a_child_steps_tables_with_threads() -> None:
    """Contract, kernels: forking twice works too, and both exit cleanly."""
    if not hasattr(os, "fork"):
        pytest.skip("this system has no fork")
    program = """
        import os
        import warnings
        from chearts_env import Rules, VectorTables

        warnings.simplefilter("ignore")
        tables = VectorTables(Rules(), 8, seed=1, num_threads=2)

        def step():
            for _ in range(10):
                tables.step(tables.action_masks.argmax(axis=1))

        step()
        depth = 0
        while depth < 2:
            pid = os.fork()
            if pid:
                _, status = os.waitpid(pid, 0)
                raise SystemExit(os.waitstatus_to_exitcode(status))
            depth += 1
            step()
        print("deep", flush=True)
    """
    assert run_python(program) == "deep\n"


# The cache

SMALL_KERNEL = """
    import numpy as np
    from chearts_env.deal import draw_below, seed_stream

    stream = np.zeros(4, np.uint64)
    seed_stream(stream, np.uint64(7))
    print(draw_below(stream, 1000))
"""
CALLING_KERNEL = """
    import os
    import sys
    import numpy as np

    sys.path.insert(0, os.environ["MODULES"])
    from calling import draw

    print(draw(np.arange(1, 5).astype(np.uint64)))
"""
CALLING_MODULE = """
from chearts_env.compiled import kernel
from chearts_env.deal import draw_below


@kernel
def draw(stream):
    return draw_below(stream, 2**31) % 1000
"""
POINTS_KERNEL = """
    from chearts_env.engine import points_taken
    from chearts_env.rules import Rules
    from chearts_env.table import new_tables

    tables = new_tables([Rules()], False)
    tables["hidden"]["kitty"][0, 36] = 1
    print(points_taken(tables[0], 0))
"""


def files_under(folder: Path) -> list[str]:
    """Name all files in a folder and those below, sorted."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.mark.jit
@pytest.mark.parametrize("home", ["nowhere", "a file", "read-only", "unset and unknown"])
def test_home_that_cannot_be_written_does_no_harm(home: str, tmp_path: Path) -> None:
    """Contract, kernels: kernels are cached elsewhere or not at all, and nothing is left in the working folder.

    Permissions do not bind the superuser, hence the homes that nobody can write to.
    """
    (tmp_path / "a file").write_text("")
    (tmp_path / "read-only").mkdir(mode=0o500)
    (tmp_path / "temporary").mkdir(mode=0o700)
    (tmp_path / "work").mkdir()
    homes = {"nowhere": "/proc/nonexistent", "unset and unknown": None}
    environment = {
        "HOME": homes.get(home, str(tmp_path / home)),
        "XDG_CACHE_HOME": None,
        "NUMBA_CACHE_DIR": None,
        "TMPDIR": str(tmp_path / "temporary"),
    }
    program = textwrap.dedent(SMALL_KERNEL)
    if home == "unset and unknown":  # as in a container that runs under a number without an account
        unknown = "import pwd\ndef getpwuid(number): raise KeyError(number)\npwd.getpwuid = getpwuid\n"
        program = unknown + program
    assert run_python(program, environment, cwd=tmp_path / "work").strip().isdigit()
    assert files_under(tmp_path / "work") == []
    assert files_under(tmp_path / "temporary") or home == "read-only"


@pytest.mark.jit
def test_cache_folder_that_others_may_write_is_not_used(tmp_path: Path) -> None:
    """`compiled`: cached code is unpickled and run, so a folder open to everybody is passed over."""
    if not hasattr(os, "getuid"):
        pytest.skip("this system has no file modes")
    (tmp_path / "open" / "chearts_env").mkdir(parents=True)
    (tmp_path / "open" / "chearts_env").chmod(0o777)
    (tmp_path / "temporary").mkdir(mode=0o700)
    environment: dict[str, str | None] = {
        "XDG_CACHE_HOME": str(tmp_path / "open"),
        "NUMBA_CACHE_DIR": None,
        "TMPDIR": str(tmp_path / "temporary"),
    }
    run_python(SMALL_KERNEL, environment)
    assert files_under(tmp_path / "open") == []
    assert files_under(tmp_path / "temporary")


@pytest.mark.jit
@pytest.mark.parametrize(
    ("file", "before", "after", "program", "expected"),
    [
        pytest.param(
            "cards.py",
            "POINTS_PER_BLACK_MARIA: Final = 13",
            "POINTS_PER_BLACK_MARIA: Final = 14",
            POINTS_KERNEL,
            "14",
            id="constant",
        ),
        pytest.param(
            "deal.py",
            "    return np.int64(product >> _ONE_WORD)",
            "    return 0",
            CALLING_KERNEL,
            "0",
            id="callee",
        ),
    ],
)
def test_change_in_another_file_takes_effect_despite_a_warm_cache(
    file: str, before: str, after: str, program: str, expected: str, tmp_path: Path
) -> None:
    """Contract, known traps: Numba's own cache does not notice a constant or a callee that changed in another file."""
    shutil.copytree(PACKAGE, tmp_path / "chearts_env", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "calling.py").write_text(CALLING_MODULE)
    environment: dict[str, str | None] = {
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "NUMBA_CACHE_DIR": None,
        "MODULES": str(tmp_path / "modules"),
    }
    first = run_python(program, environment, path=tmp_path)
    cached = files_under(tmp_path / "cache")
    assert cached
    assert run_python(program, environment, path=tmp_path) == first
    assert files_under(tmp_path / "cache") == cached  # so the second run took what the first had left
    source = tmp_path / "chearts_env" / file
    original = source.read_text()
    assert original.count(before) == 1
    source.write_text(original.replace(before, after))
    assert run_python(program, environment, path=tmp_path).strip() == expected != first.strip()
    source.write_text(original)
    assert run_python(program, environment, path=tmp_path) == first


@pytest.mark.jit
def test_change_in_a_folder_two_calls_away_takes_effect_despite_a_warm_cache(tmp_path: Path) -> None:
    """Contract, known traps: kernels outside the package may call each other across folders, as opponents do."""
    imports = {"first": "second", "second": "third", "third": None}
    for name, callee in imports.items():
        (tmp_path / name).mkdir()
        imported = f"from {callee} import {callee}\n" if callee else ""
        body = f"{callee}(number)" if callee else "number + 1"
        source = (
            f"from chearts_env.compiled import kernel\n{imported}\n\n@kernel\ndef {name}(number):\n    return {body}\n"
        )
        (tmp_path / name / f"{name}.py").write_text(source)
    folders = [str(tmp_path / name) for name in imports]
    program = f"import sys\nsys.path[:0] = {folders!r}\nfrom first import first\nprint(first(1))\n"
    environment: dict[str, str | None] = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "NUMBA_CACHE_DIR": None}
    assert run_python(program, environment) == run_python(program, environment) == "2\n"
    third = tmp_path / "third" / "third.py"
    third.write_text(third.read_text().replace("number + 1", "number + 5"))
    assert run_python(program, environment) == "6\n"


@pytest.mark.jit
def test_bounds_checks_are_in_force_when_the_cache_is_warm_without_them(tmp_path: Path) -> None:
    """Contract, known traps: a warm cache must not switch `NUMBA_BOUNDSCHECK=1` off."""
    (tmp_path / "reading.py").write_text(
        "from chearts_env.compiled import kernel\n\n\n@kernel\ndef read(array, index):\n    return array[index]\n"
    )
    program = f"""
        import sys
        sys.path.insert(0, {str(tmp_path)!r})
        import numpy as np
        from pathlib import Path
        from chearts_env.compiled import cache_folder
        from reading import read

        read(np.zeros(3), 0)
        try:
            read(np.zeros(3), 3)
        except IndexError:
            print("checked", cache_folder(frozenset([Path({str(tmp_path)!r})])))
        else:
            print("unchecked", cache_folder(frozenset([Path({str(tmp_path)!r})])))
    """
    environment: dict[str, str | None] = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "NUMBA_CACHE_DIR": None}
    without, folder = run_python(program, environment | {"NUMBA_BOUNDSCHECK": None}).split()
    assert without == "unchecked"
    assert files_under(Path(folder))
    checked, other_folder = run_python(program, environment | {"NUMBA_BOUNDSCHECK": "1"}).split()
    assert checked == "checked"
    assert other_folder != folder


@pytest.mark.parametrize("name", ["<string>", "<stdin>", "/nowhere/at/all.py"])
def test_kernel_compiles_when_its_source_is_no_file(name: str) -> None:
    """`compiled.kernel`: typed at a prompt or in a notebook, a kernel is compiled without a cache."""
    place: dict[str, Any] = {}
    exec(compile("def twice(number):\n    return 2 * number\n", name, "exec"), place)
    assert kernel(place["twice"])(21) == 42
