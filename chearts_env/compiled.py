"""The `kernel` decorator: Numba compilation with an on-disk cache that notices every change.

Numba's own cache looks only at the file a kernel stands in: change a constant or a callee in another file and the old
machine code stays. Here the cache folder's name is a digest of *all* sources that can take part, of Numba's version and
of the switches that change the code it makes (bounds checks), so that a stale entry can never be found.

This module knows nothing of the game.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba

Function = TypeVar("Function", bound=Callable[..., Any])

_PACKAGE = Path(__file__).resolve().parent
_FOLDERS: dict[Path, set[Path]] = {}  # what the kernels of each source may be made of


def kernel(function: Function) -> Function:
    """Compile a function with Numba on its first call, without the GIL, cached on disk where that is possible."""
    source = Path(function.__code__.co_filename).resolve()
    folder = cache_folder(_folders_behind(function, source)) if source.is_file() else None
    if folder is None:
        return numba.njit(nogil=True)(function)  # type: ignore[no-any-return]
    with _numba_cache_in(folder):
        return numba.njit(nogil=True, cache=True)(function)  # type: ignore[no-any-return]


def _folders_behind(function: Callable[..., Any], source: Path) -> frozenset[Path]:
    """Return the folders of a kernel and of all kernels that its module has imported, however far off."""
    folders = _FOLDERS.setdefault(source, {source.parent})
    for value in list(function.__globals__.values()):
        callee = getattr(value, "py_func", None)
        if callee is not None:
            folders |= _FOLDERS.get(Path(callee.__code__.co_filename).resolve(), set())
    return frozenset(folders)


@cache
def cache_folder(source_folders: frozenset[Path]) -> str | None:
    """Return the folder for the compiled kernels made of some folders' sources, None where nothing can be written.

    Tried in turn: `NUMBA_CACHE_DIR`, the user's cache folder, a private folder under the system's temporary one.
    """
    name = _digest_of_sources(source_folders)
    for base in _candidate_bases():
        folder = base / name
        if _is_private_and_writable(folder):
            return str(folder)
    return None


def _candidate_bases() -> Iterator[Path]:
    if numba.config.CACHE_DIR:
        yield Path(numba.config.CACHE_DIR)
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        if local:
            yield Path(local) / "chearts_env"
    elif os.environ.get("XDG_CACHE_HOME"):
        yield Path(os.environ["XDG_CACHE_HOME"]) / "chearts_env"
    else:
        home = Path(os.path.expanduser("~"))
        if home.is_absolute():  # "~" stays as it is where there is no home
            yield home / ("Library/Caches" if sys.platform == "darwin" else ".cache") / "chearts_env"
    user = os.getuid() if hasattr(os, "getuid") else "user"
    yield Path(tempfile.gettempdir()) / f"chearts_env-{user}"


def _is_private_and_writable(folder: Path) -> bool:
    # Cached code is unpickled and run, so a folder that somebody else could have filled is not used.
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if hasattr(os, "getuid"):
            for place in (folder, folder.parent):
                status = place.stat()
                if status.st_uid not in (os.getuid(), 0) or status.st_mode & stat.S_IWOTH:
                    return False
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _digest_of_sources(source_folders: frozenset[Path]) -> str:
    digest = hashlib.sha256()
    for folder in sorted(source_folders | {_PACKAGE}):
        for path in sorted(folder.glob("*.py")):
            digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    switches = (
        numba.__version__,
        sys.version,
        numba.config.BOUNDSCHECK,
        numba.config.OPT,
        numba.config.DEBUGINFO_DEFAULT,
    )
    digest.update(repr(switches).encode())
    return digest.hexdigest()[:20]


@contextmanager
def _numba_cache_in(folder: str) -> Iterator[None]:
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = folder
    try:
        yield
    finally:
        numba.config.CACHE_DIR = before
