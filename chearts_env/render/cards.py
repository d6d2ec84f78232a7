"""Cards as pictures: fronts, backs and fans, drawn with Pillow, which is imported when a picture is first wanted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

from chearts_env.cards import NUM_RANKS, RANK_LETTERS

Colour = tuple[int, int, int]

#: Four colours, so that suits are told apart when cards are small: clubs, diamonds, spades, hearts.
SUIT_COLOURS: Final[tuple[Colour, ...]] = ((22, 110, 60), (24, 84, 176), (24, 26, 30), (196, 22, 44))
PAPER: Final[Colour] = (252, 251, 247)
EDGE: Final[Colour] = (120, 122, 126)
BACK: Final[Colour] = (58, 84, 140)
STRIKE: Final[Colour] = (214, 30, 46)
#: Height of a card by its width.
_ASPECT: Final = 1.42
#: Width below which a card shows rank and suit in one corner only.
_SMALL: Final = 70


def pillow() -> Any:
    """Return Pillow's package, or say what to install."""
    try:
        import PIL
        import PIL.Image
        import PIL.ImageDraw
        import PIL.ImageFont
    except ImportError:
        raise ImportError("pictures need Pillow: pip install 'chearts-env[render]'") from None
    return PIL


@lru_cache(maxsize=32)
def font(size: int) -> Any:
    """Return Pillow's own font, the same on every machine, at a size in pixels."""
    return pillow().ImageFont.load_default(size)


def card_height(width: int) -> int:
    """Return the height of a card of some width, pixels."""
    return round(width * _ASPECT)


@lru_cache(maxsize=512)
def card(face: int | None, width: int, is_struck: bool = False) -> Any:
    """Return a card, face up or, for None, its back; `is_struck` crosses it out, as cancelled (R13)."""
    pil, height = pillow(), card_height(width)
    image: Any = pil.Image.new("RGBA", (width, height), (0, 0, 0, 0))
    draw = pil.ImageDraw.Draw(image)
    radius, line = width // 9, max(1, width // 50)
    box = (0, 0, width - 1, height - 1)
    draw.rounded_rectangle(box, radius, fill=PAPER, outline=EDGE, width=line)
    if face is None:
        inner = width // 10
        draw.rounded_rectangle((inner, inner, width - 1 - inner, height - 1 - inner), radius // 2, fill=BACK)
        return image
    suit, rank = divmod(face, NUM_RANKS)
    colour = SUIT_COLOURS[suit]
    text = RANK_LETTERS[rank].replace("T", "10")
    size = round(width * (0.36 if width >= _SMALL else 0.46))
    draw.text((width * 0.22, size * 0.62), text, fill=colour, font=font(size), anchor="mm")
    draw_suit(draw, suit, (width * 0.22, size * 1.55), size * 0.40)
    if width >= _SMALL:
        draw_suit(draw, suit, (width * 0.60, height * 0.62), width * 0.24)
    if is_struck:
        faded = pil.Image.blend(image, pil.Image.new("RGBA", image.size, (235, 235, 232, 255)), 0.45)
        faded.putalpha(image.getchannel("A").point(lambda alpha: 255 if alpha else 0))
        image, draw = faded, pil.ImageDraw.Draw(faded)
        end = width * 0.14, width * 0.86, height * 0.14, height * 0.86
        draw.line((end[0], end[2], end[1], end[3]), fill=STRIKE, width=max(2, width // 14))
        draw.line((end[0], end[3], end[1], end[2]), fill=STRIKE, width=max(2, width // 14))
    return image


def draw_suit(draw: Any, suit: int, centre: tuple[float, float], size: float) -> None:
    """Draw a suit's sign, `size` from its centre to its edge."""
    x, y = centre
    colour = SUIT_COLOURS[suit]

    def disc(dx: float, dy: float, radius: float) -> None:
        left, top = x + dx * size - radius * size, y + dy * size - radius * size
        draw.ellipse((left, top, left + 2 * radius * size, top + 2 * radius * size), fill=colour)

    def shape(*points: tuple[float, float]) -> None:
        draw.polygon([(x + dx * size, y + dy * size) for dx, dy in points], fill=colour)

    if suit == 0:
        disc(0, -0.5, 0.45)
        disc(-0.5, 0.18, 0.45)
        disc(0.5, 0.18, 0.45)
        shape((-0.12, -0.1), (0.12, -0.1), (0.32, 0.95), (-0.32, 0.95))
    elif suit == 1:
        shape((0, -1), (0.74, 0), (0, 1), (-0.74, 0))
    elif suit == 2:
        disc(-0.43, 0.2, 0.46)
        disc(0.43, 0.2, 0.46)
        shape((0, -1), (0.85, 0.08), (-0.85, 0.08))
        shape((-0.1, 0.1), (0.1, 0.1), (0.32, 0.95), (-0.32, 0.95))
    else:
        disc(-0.43, -0.35, 0.48)
        disc(0.43, -0.35, 0.48)
        shape((-0.88, -0.16), (0.88, -0.16), (0, 0.95))


def paste_centred(image: Any, part: Any, centre: tuple[float, float]) -> None:
    """Lay a part on a picture, its centre at a place."""
    place = round(centre[0] - part.width / 2), round(centre[1] - part.height / 2)
    image.paste(part, place, part)


def paste_fan(
    image: Any,
    faces: Sequence[int | None],
    centre: tuple[float, float],
    width: int,
    step: float,
    bend: float = 0.0,
) -> None:
    """Lay cards beside each other, `step` pixels apart, fanned over `bend` degrees in all."""
    pil, count = pillow(), len(faces)
    for place, face in enumerate(faces):
        offset = place - (count - 1) / 2
        angle = bend * offset / max(count - 1, 1)
        drop = abs(math.sin(math.radians(angle))) * abs(offset) * step / 2
        part = card(face, width)
        if angle:
            part = part.rotate(-angle, resample=pil.Image.Resampling.BICUBIC, expand=True)
        paste_centred(image, part, (centre[0] + offset * step, centre[1] + drop))
