"""Designs of drawn covers. A design belongs to a subject, which the most frequent known tag of a book tells.

Shapes are SVG: circles, and paths of straight lines (the commands M, L, H, V, h, v, l and z), which the PNG draws as
well (``images``). Their classes name colours: ``cloth``, ``foil``, ``shade``, ``label``, and ``rule`` for a line.
"""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

CLOTH_COUNT: Final = 10
TEXTURES: Final = {"linen": (1, 2), "lines": (1, 6), "bars": (8, 8)}  # width and distance of upright stripes, in units
ALL_CLOTHS: Final = tuple(range(CLOTH_COUNT))


class Layout(NamedTuple):
    """A binding of a cover: the shapes behind the text, and the box for the title.

    motif: the centre and the scale of the motif. default: the shapes there on a cover without a motif.
    """

    ground: str
    left: float
    width: float
    top: float
    height: float
    author: float  # the y coordinate of the author's last base line
    motif: tuple[float, float, float]
    default: str = ""
    anchor: str = "middle"
    on_label: bool = False  # the title is printed on paper


class Design(NamedTuple):
    """A motif in a square of 24 units around the origin, the cloths to choose from, a texture and a typeface."""

    motif: str
    cloths: tuple[int, ...] = ALL_CLOTHS
    texture: str = ""
    typeface: str = "serif"


LAYOUTS: Final = (
    Layout(  # a paper label
        '<path class="label" d="M14 30h92v78H14z"/><path class="rule" d="M17 33h86v72H17z"/>',
        20, 80, 36, 66, 164, (60, 126, 0.9), on_label=True,
    ),
    Layout(  # a frame in a frame
        '<path class="rule" d="M8 8h104v164H8zM12 12h96v156H12z"/>',
        18, 84, 22, 98, 160, (60, 131, 0.75), '<path class="rule" d="M48 136h24"/>',
    ),
    Layout(  # two panels, hinged
        '<path class="shade" d="M0 0h120v62H0z"/><path class="rule" d="M0 62h120"/>',
        12, 96, 70, 76, 168, (60, 31, 1.9), "", "start",
    ),
    Layout(  # a bound spine
        '<path class="shade" d="M0 0h16v180H0z"/><path class="rule" d="M16 0v180"/>',
        28, 82, 16, 104, 168, (42, 134, 1), '<path class="rule" d="M28 142h30"/>', "start",
    ),
    Layout(  # the motif over the title
        "", 12, 96, 72, 74, 168, (60, 40, 1.8),
        '<circle class="foil" cx="60" cy="42" r="19"/><circle class="cloth" cx="67" cy="38" r="16"/>',
    ),
    Layout(  # stripes above and below
        '<path class="foil" d="M0 10h120v5H0zM0 19h120v1.5H0zM0 145h120v1.5H0z"/>',
        12, 96, 56, 84, 168, (60, 39, 1.2),
    ),
)  # fmt: skip

DESIGNS: Final[Mapping[str, Design]] = {
    # a crown
    "fantasy": Design('<path class="foil" d="M-11 9V-6L-5 1L0-9L5 1L11-6V9z"/>', (0, 2, 5, 8), "linen"),
    # a planet with a ring
    "science fiction": Design(
        '<circle class="foil" cx="0" cy="0" r="8"/><path class="rule" d="M-12 5L12-5"/>', (2, 4, 6), "lines", "sans"
    ),
    # a keyhole
    "crime": Design(
        '<circle class="foil" cx="0" cy="-5" r="6"/><path class="foil" d="M-2.5-2h5L6 11H-6z"/>',
        (1, 2, 4),
        "bars",
        "sans",
    ),
    # a heart
    "romance": Design(
        '<circle class="foil" cx="-5" cy="-4" r="6"/><circle class="foil" cx="5" cy="-4" r="6"/>'
        '<path class="foil" d="M-10-1L0-6L10-1L0 11z"/>',
        (1, 5, 7, 9),
        "",
        "italic",
    ),
    # a crescent
    "horror": Design(
        '<circle class="foil" cx="0" cy="0" r="11"/><circle class="cloth" cx="5" cy="-3" r="9.5"/>', (1, 4, 5), "bars"
    ),
    # a temple
    "history": Design(
        '<path class="foil" d="M-12-4L0-12L12-4zM-10-2h4V7h-4zM-2-2h4V7h-4zM6-2h4V7H6zM-12 9h24v3h-24z"/>',
        (0, 1, 3, 7),
        "linen",
    ),
    # an open book
    "classics": Design('<path class="foil" d="M-12-8L-1-4V9L-12 5zM12-8L1-4V9L12 5z"/>', (0, 1, 2, 7), "linen"),
    # a kite
    "children": Design('<path class="foil" d="M0-12L8-3L0 8L-8-3z"/><path class="rule" d="M0 8L3 12"/>', (3, 6, 8, 9)),
    # a sprout
    "young adult": Design(
        '<path class="foil" d="M-1 12V2L-10-3V-9L0-2L10-9V-3L1 2V12z"/>', (2, 6, 8, 9), "lines", "sans"
    ),
    # a lens
    "science": Design(
        '<circle class="foil" cx="-2" cy="-2" r="9"/><circle class="cloth" cx="-2" cy="-2" r="6.5"/>'
        '<path class="foil" d="M3 5L5 3L12 10L10 12z"/>',
        (4, 6, 7, 8),
        "lines",
        "sans",
    ),
    # a head and shoulders
    "lives": Design(
        '<circle class="foil" cx="0" cy="-6" r="5.5"/><path class="foil" d="M-10 11V7L-5 1H5L10 7V11z"/>',
        (0, 3, 4, 7),
    ),
    # a quill
    "poetry": Design('<path class="foil" d="M-9 12L-4 1L9-12V-5L-1 5L-7 12z"/>', (5, 6, 7, 9), "linen", "italic"),
    # mountains and a sun
    "travel": Design(
        '<path class="foil" d="M-12 10L-4-6L1 3L4-1L12 10z"/><circle class="foil" cx="6" cy="-8" r="3"/>',
        (0, 3, 6, 8),
    ),
    # a speech bubble
    "comics": Design('<path class="foil" d="M-11-10h22V5H0L-5 11V5h-6z"/>', (1, 3, 6, 9), "lines", "sans"),
    # a lamp
    "ideas": Design(
        '<circle class="foil" cx="0" cy="-3" r="8"/><path class="foil" d="M-3 5h6v3h-6zM-2 9h4v2h-4z"/>', (2, 4, 7, 8)
    ),
}
_NO_DESIGN: Final = Design("")

# Tags in the spelling of the catalogue, without blanks and hyphens.
TAGS: Final[Mapping[str, tuple[str, ...]]] = {
    "fantasy": ("fantasy", "epicfantasy", "highfantasy", "urbanfantasy", "magic", "dragons", "fairytales", "mythology"),
    "science fiction": ("sciencefiction", "scifi", "sf", "space", "dystopia", "dystopian", "cyberpunk", "steampunk"),
    "crime": ("crime", "mystery", "thriller", "thrillers", "mysterythriller", "detective", "suspense", "noir"),
    "romance": ("romance", "contemporaryromance", "historicalromance", "chicklit", "love"),
    "horror": ("horror", "gothic", "ghosts", "vampires", "zombies"),
    "history": ("history", "historical", "historicalfiction", "war", "wwii", "ancient"),
    "classics": ("classics", "classic", "classicliterature", "literature", "literaryfiction"),
    "children": ("children", "childrens", "childrensbooks", "kids", "picturebooks", "middlegrade"),
    "young adult": ("youngadult", "ya", "teen", "comingofage"),
    "science": (
        "science",
        "popularscience",
        "mathematics",
        "physics",
        "biology",
        "technology",
        "economics",
        "business",
    ),
    "lives": ("biography", "memoir", "memoirs", "autobiography", "biographymemoir"),
    "poetry": ("poetry", "poems", "plays", "drama", "theatre"),
    "travel": ("travel", "adventure", "nature", "sea", "exploration"),
    "comics": ("comics", "graphicnovels", "graphicnovel", "manga", "humor", "humour", "comedy"),
    "ideas": ("philosophy", "psychology", "religion", "spirituality", "selfhelp", "politics", "essays"),
}
_DESIGNS_BY_TAG: Final = {tag: design for design, tags in TAGS.items() for tag in tags}


def choose_design(tags: Iterable[str]) -> str:
    """Return the name of the design of a book with these tags, the most frequent first; "" if none is known."""
    for tag in tags:
        found = _DESIGNS_BY_TAG.get(tag.replace("-", "").replace(" ", ""))
        if found:
            return found
    return ""


def get_design(name: str) -> Design:
    """Return a design. Newer code may have written a name that this code does not know."""
    return DESIGNS.get(name, _NO_DESIGN)
