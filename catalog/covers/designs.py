"""Designs of drawn covers. A design belongs to a subject, which the most frequent known tag of a book tells.

Layouts have shapes as in ``motifs``, with three more classes: ``mate`` for the second colour of a cloth, ``shade`` for
a darker cloth, and ``label`` for paper.
"""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

CLOTH_COUNT: Final = 12
TEXTURES: Final = {"linen": (1, 2), "lines": (1, 6), "bars": (8, 8)}  # width and distance of upright stripes, in units
ALL_CLOTHS: Final = tuple(range(CLOTH_COUNT))


class Layout(NamedTuple):
    """A binding of a cover: the shapes behind the text, and the box for the title.

    motif: the centre and the scale of the motif. behind: the class of the shape below it. default: the shapes there on
    a cover without a motif. on_label: the texts that are printed on paper. No title is at the top, where cards have a
    badge.
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
    on_label: tuple[str, ...] = ()
    behind: str = "cloth"


class Design(NamedTuple):
    """The motifs, cloths and typefaces to choose from, and a texture."""

    motifs: tuple[str, ...]
    cloths: tuple[int, ...] = ALL_CLOTHS
    texture: str = ""
    typefaces: tuple[str, ...] = ("serif",)


LAYOUTS: Final = (
    Layout(  # a paper label
        '<path class="label" d="M14 30h92v78H14z"/><path class="rule" d="M17 33h86v72H17z"/>',
        20, 80, 36, 66, 164, (60, 130, 1.1), on_label=("title",),
    ),
    Layout(  # a frame in a frame
        '<path class="rule" d="M8 8h104v164H8zM12 12h96v156H12z"/>',
        18, 84, 22, 88, 160, (60, 127, 1), '<path class="rule" d="M48 136h24"/>',
    ),
    Layout(  # two panels, hinged
        '<path class="mate" d="M0 0h120v68H0z"/>',
        12, 96, 78, 72, 168, (60, 34, 2.1), '<circle class="foil" cx="60" cy="34" r="16"/>', "start", behind="mate",
    ),
    Layout(  # a bound spine
        '<path class="mate" d="M0 0h18v180H0z"/><path class="rule" d="M18 0v180"/>',
        28, 82, 24, 86, 168, (46, 132, 1.5), '<path class="rule" d="M28 142h30"/>', "start",
    ),
    Layout(  # the motif over the title
        "", 12, 96, 76, 74, 168, (60, 42, 2.1),
        '<circle class="foil" cx="60" cy="42" r="19"/><circle class="cloth" cx="67" cy="38" r="16"/>',
    ),
    Layout(  # stripes above and below
        '<path class="foil" d="M0 10h120v5H0zM0 19h120v1.5H0zM0 145h120v1.5H0z"/>',
        12, 96, 62, 78, 168, (60, 42, 1.3),
    ),
    Layout(  # the motif on a disc
        '<circle class="mate" cx="60" cy="58" r="42"/>',
        10, 100, 106, 44, 168, (60, 58, 2.2),
        '<circle class="foil" cx="60" cy="58" r="26"/><circle class="mate" cx="60" cy="58" r="23"/>', behind="mate",
    ),
    Layout(  # an arch
        '<path class="mate" d="M24 54h72v58H24z"/><circle class="mate" cx="60" cy="54" r="36"/>',
        10, 100, 118, 36, 170, (60, 68, 2.1), '<circle class="foil" cx="60" cy="62" r="18"/>', behind="mate",
    ),
    Layout(  # a slope below the title
        '<path class="mate" d="M0 126L120 84v96H0z"/>',
        12, 96, 24, 66, 170, (84, 130, 1.7), '<circle class="foil" cx="88" cy="128" r="14"/>', "start", behind="mate",
    ),
    Layout(  # a band of paper
        '<path class="label" d="M0 64h120v58H0z"/><path class="foil" d="M0 60h120v1.5H0zM0 124.5h120v1.5H0z"/>',
        10, 100, 68, 50, 166, (60, 31, 1.7), '<circle class="foil" cx="60" cy="31" r="12"/>', on_label=("title",),
    ),
    Layout(  # a poster of the motif
        "", 12, 96, 24, 54, 170, (60, 122, 3), '<circle class="mate" cx="60" cy="122" r="36"/>', "start",
    ),
    Layout(  # the lower half of paper
        '<path class="label" d="M0 92h120v88H0z"/><path class="foil" d="M0 88h120v1.5H0z"/>',
        12, 96, 98, 58, 172, (60, 45, 2.6), '<circle class="mate" cx="60" cy="45" r="26"/>', "start",
        on_label=("title", "author"),
    ),
    Layout(  # hills below the motif
        '<circle class="mate" cx="24" cy="206" r="88"/><circle class="shade" cx="104" cy="214" r="78"/>',
        12, 96, 24, 58, 172, (72, 100, 1.3), '<circle class="foil" cx="84" cy="100" r="12"/>',
    ),
)  # fmt: skip

DESIGNS: Final[Mapping[str, Design]] = {
    "fantasy": Design(("crown", "tower", "dagger"), (0, 2, 5, 8, 10), "linen", ("serif", "italic")),
    "science fiction": Design(("planet", "rocket", "orbit"), (2, 4, 6, 11), "lines", ("sans", "serif")),
    "crime": Design(("keyhole", "dagger", "lens"), (1, 2, 4, 10, 11), "bars", ("sans", "serif")),
    "romance": Design(("heart", "letter", "key"), (1, 5, 7, 9, 10), "", ("italic", "serif")),
    "horror": Design(("crescent", "bat", "candle"), (1, 4, 5, 10), "bars"),
    "history": Design(("temple", "hourglass", "ship"), (0, 1, 3, 7, 9, 11), "linen", ("serif", "italic")),
    "classics": Design(("book", "leaf", "candle"), (0, 1, 2, 7, 11), "linen", ("serif", "italic")),
    "children": Design(("kite", "paper boat", "star"), (3, 6, 8, 9, 11), "", ("serif", "sans")),
    "young adult": Design(("sprout", "star", "bolt"), (2, 6, 8, 9, 10), "lines", ("sans", "serif")),
    "science": Design(("lens", "flask", "orbit"), (2, 4, 6, 7, 8, 11), "lines", ("sans", "serif")),
    "lives": Design(("head", "portrait", "key"), (0, 3, 4, 7, 9), "", ("serif", "italic")),
    "poetry": Design(("quill", "leaf", "crescent"), (5, 6, 7, 9, 11), "linen", ("italic", "serif")),
    "travel": Design(("mountains", "ship", "compass"), (0, 3, 6, 8, 11)),
    "comics": Design(("bubble", "burst", "bolt"), (1, 3, 6, 9, 10), "lines", ("sans",)),
    "ideas": Design(("lamp", "eye", "pawn"), (2, 4, 7, 8, 11), "", ("serif", "sans")),
}
_NO_DESIGN: Final = Design(("",))

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
