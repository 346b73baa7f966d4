"""The names and lives of the authors of the generated catalogue. All of them are invented."""

from typing import Final

FIRST_NAMES: Final = (
    "Adaeze", "Ines", "Tomas", "Mira", "Oskar", "Leila", "Jun", "Freya", "Mateo", "Priya", "Hugo", "Noor",
    "Elif", "Callum", "Sofia", "Kwame", "Anneke", "Ravi", "Imogen", "Pavel", "Yara", "Dmitri", "Rosa", "Theo",
)  # fmt: skip
LAST_NAMES: Final = (
    "Okonjo", "Varela", "Lindqvist", "Hargreave", "Castellan", "Novak", "Whitcombe", "Sato", "Demir", "Fairweather",
    "Moreau", "Abara", "Kessler", "Quillfeather", "Rao", "Penhaligon", "Ibarra", "Vance", "Aaltonen", "Marchetti",
)  # fmt: skip
CHINESE_AUTHORS: Final = ("沈默言", "顾听雪", "陆长庚", "林晚舟", "苏砚秋")
# Sentences about an author: a beginning, the work, and the present. {name}, {place}, {kind}: of the author.
BIOGRAPHIES: Final[tuple[tuple[str, ...], ...]] = (
    (
        "{name} grew up in {place}, above a shop that repaired clocks.",
        "{name} studied law in {place} and gave it up after a week.",
        "{name} has lived in {place} for twenty years and still gets lost there.",
        "{name} was born in {place}, the youngest of five.",
    ),
    (
        "The first stories appeared in a railway magazine.",
        "Before the books about {kind} came ten years at a post office.",
        "A prize for young writers made the first book possible.",
        "Readers of {kind} know the long sentences and the short chapters.",
    ),
    (
        "A new book is promised every spring, and sometimes it comes.",
        "Two dogs and a leaking boat take the rest of the time.",
        "Letters from readers are answered by hand.",
        "The garden is said to be larger than the house.",
    ),
)
CHINESE_BIOGRAPHY: Final = "{name}生于江南，现居{place}。早年在邮局工作，后来专心写作，作品多写旧城与故人。"
PLACES: Final = ("Lisbon", "Trieste", "Harrowgate", "Port Amity", "Kyoto", "Leipzig", "Bergen", "Valparaíso")
CHINESE_PLACES: Final = ("苏州", "洛阳", "杭州", "西安")
