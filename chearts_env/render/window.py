"""A window that shows pictures, by pygame, which is imported when the first one is shown."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


class Window:
    """Opens with the first picture and stays responsive as long as pictures come; a copy of it has none of its own."""

    def __init__(self, title: str, frames_per_second: int) -> None:
        """Open nothing yet."""
        self._title = title
        self._rate = frames_per_second
        self._screen: Any = None

    def show(self, picture: npt.NDArray[np.uint8]) -> None:
        """Show a picture, (H, W, 3), and wait until the next one is due. Raises ImportError without pygame."""
        pygame = _pygame()
        if self._screen is None:
            pygame.display.init()
            pygame.display.set_caption(self._title)
            self._screen = pygame.display.set_mode((picture.shape[1], picture.shape[0]))
            self._clock = pygame.time.Clock()
        surface = pygame.image.frombuffer(picture.tobytes(), (picture.shape[1], picture.shape[0]), "RGB")
        self._screen.blit(surface, (0, 0))
        pygame.event.pump()
        pygame.display.flip()
        self._clock.tick(self._rate)

    def close(self) -> None:
        """Close the window."""
        if self._screen is not None:
            _pygame().display.quit()
            self._screen = None

    def __getstate__(self) -> dict[str, Any]:
        """Leave the window itself behind: it belongs to one environment of one process."""
        return {"_title": self._title, "_rate": self._rate, "_screen": None}


def _pygame() -> Any:
    try:
        import pygame
    except ImportError:
        raise ImportError("render_mode='human' needs pygame: pip install 'chearts-env[render]'") from None
    return pygame
