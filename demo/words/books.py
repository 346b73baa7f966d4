"""The genres, titles, series and publishers of the generated catalogue. All of them are invented."""

from typing import Final, NamedTuple


class Genre(NamedTuple):
    """The vocabulary of a genre. ``titles`` has placeholders: {a} adjective, {n} noun, {p} place, {s} subject."""

    tags: tuple[str, ...]  # of every book of the genre
    often: tuple[str, ...]  # of some books
    titles: tuple[str, ...]
    adjectives: tuple[str, ...]
    nouns: tuple[str, ...]
    places: tuple[str, ...] = ("Harrowgate", "Lisbon", "the North", "Vell", "Port Amity", "the Salt Coast")
    subjects: tuple[str, ...] = ()
    years: tuple[int, int] = (1950, 2024)
    language: str = "eng"


GENRES: Final = (
    Genre(
        ("fantasy", "fiction"),
        ("magic", "dragons", "young-adult", "epic", "series", "found-family", "coming-of-age", "romance"),
        ("The {a} {n}", "The {n} of {p}", "A {n} for the {a}", "{n} and {n}", "The Last {n} of {p}"),
        ("Ashen", "Hollow", "Silver", "Unquiet", "Thorned", "Drowned", "Winter", "Nameless"),
        ("Throne", "Lantern", "Wyrm", "Oathkeeper", "Crown", "Tide", "Glassmaker", "Raven", "Orchard"),
        ("Vell", "Morrowmere", "the Ninth Gate", "Eldenfirth", "the Hollow Sea"),
    ),
    Genre(
        ("science-fiction", "fiction"),
        ("space", "dystopia", "time-travel", "robots", "series", "thriller", "classics", "young-adult"),
        ("{n} {p}", "The {a} {n}", "A Short History of {p}", "Beyond the {a} {n}", "{n} at {p}"),
        ("Second", "Silent", "Orbital", "Borrowed", "Parallel", "Distant", "Recursive"),
        ("Signal", "Colony", "Horizon", "Engine", "Transit", "Archive", "Gravity", "Machine"),
        ("Titan", "Kepler Station", "the Outer Dark", "Ganymede", "Sector Nine", "Low Orbit"),
        years=(1955, 2024),
    ),
    Genre(
        ("mystery", "fiction"),
        ("detective", "thriller", "crime", "small-town", "series", "historical-fiction", "humor", "classics"),
        ("Death in {p}", "The {a} {n}", "The {n} of {p}", "A {n} Too {a}", "Who Hid the {n}?"),
        ("Crooked", "Locked", "Late", "Quiet", "Poisoned", "Missing", "Second"),
        ("Locksmith", "Witness", "Inheritance", "Ledger", "Vicar", "Alibi", "Letter", "Tenant"),
        ("Harrowgate", "Lower Wexley", "Trieste", "the Reading Room", "Port Amity"),
        years=(1925, 2024),
    ),
    Genre(
        ("romance", "fiction"),
        ("contemporary", "historical-fiction", "slow-burn", "humor", "small-town", "young-adult", "favorites"),
        ("{a} Hearts", "The {n} Next Door", "A {n} in {p}", "{n}s and {n}s", "Love, and Other {n}s"),
        ("Stubborn", "Tender", "Second-Hand", "Reckless", "Patient"),
        ("Baker", "Letter", "Wedding", "Summer", "Bookshop", "Promise", "Gardener", "Violin"),
        ("Lisbon", "Port Amity", "the Rain", "Harrowgate", "Kyoto"),
        years=(1980, 2024),
    ),
    Genre(
        ("historical-fiction", "fiction", "history"),
        ("war", "family", "romance", "book-club", "epic", "classics", "translated", "sea"),
        ("The {n}'s {n}", "{n} of {p}", "The {a} {n}", "Winter in {p}", "A {n} from {p}"),
        ("Lost", "Exiled", "Faithful", "Imperial", "Barefoot", "Forgotten"),
        ("Cartographer", "Widow", "Salt Merchant", "Soldier", "Daughter", "Printer", "Physician"),
        ("Antioch", "Smolensk", "the Salt Coast", "Toledo", "Batavia", "Samarkand"),
        years=(1890, 2024),
    ),
    Genre(
        ("horror", "fiction"),
        ("thriller", "short-stories", "ghosts", "gothic", "small-town", "classics", "winter"),
        ("The {n} Below", "{a} House", "What the {n} Knew", "The {a} {n}", "{n} Season"),
        ("Hungry", "Sleepless", "Pale", "Rotten", "Whispering"),
        ("Cellar", "Choir", "Marrow", "Caller", "Drowning", "Attic", "Harvest"),
        years=(1890, 2024),
    ),
    Genre(
        ("programming", "non-fiction", "computers"),
        ("web", "databases", "ruby", "python", "erlang", "redis", "design", "textbook", "to-read"),
        ("{s} by Example", "Practical {s}", "The {s} Workbook", "{s} in Anger", "Understanding {s}"),
        ("Small",),
        ("System",),
        subjects=(
            "Ruby",
            "Python",
            "Erlang",
            "Web Services",
            "Databases",
            "Caching",
            "Queues",
            "Search Engines",
            "Compilers",
            "Type Systems",
            "Concurrency",
            "Refactoring",
            "Test Design",
        ),
        years=(1988, 2024),
    ),
    Genre(
        ("science", "non-fiction"),
        ("nature", "physics", "biology", "mathematics", "illustrated", "essays", "audiobook", "book-club"),
        ("The {a} {s}", "Why {s} Matters", "{s}: A Life's Work", "The Secret Life of {s}", "Ten Walks with {s}"),
        ("Curious", "Unfinished", "Invisible", "Patient", "Restless"),
        ("Atlas",),
        subjects=("Moss", "Prime Numbers", "Tides", "Starlings", "Entropy", "Soil", "Glaciers", "Light", "Fungi"),
        years=(1960, 2024),
    ),
    Genre(
        ("biography", "non-fiction", "history"),
        ("memoir", "music", "art", "politics", "travel", "audiobook", "book-club", "war", "family"),
        ("{n}: A Life", "My Years in {p}", "The {a} {n}", "Notes from {p}", "A {n} Remembers"),
        ("Reluctant", "Accidental", "Unlikely", "Last"),
        ("Conductor", "Pilot", "Botanist", "Diplomat", "Editor", "Lighthouse Keeper", "Midwife"),
        years=(1920, 2024),
    ),
    Genre(
        ("cooking", "non-fiction"),
        ("illustrated", "travel", "vegetarian", "baking", "gift", "favorites", "family"),
        ("The {a} {s}", "{s} from {p}", "{s} for Friends", "Sunday {s}", "One Hundred {s}"),
        ("Generous", "Slow", "Green", "Frugal"),
        ("Kitchen",),
        subjects=("Breads", "Soups", "Dumplings", "Pickles", "Pies", "Stews", "Cakes"),
        years=(1965, 2024),
    ),
    Genre(
        ("children", "fiction", "illustrated"),
        ("animals", "humor", "picture-book", "series", "favorites", "fantasy", "family"),
        ("{n} Goes to {p}", "The {a} {n}", "Good Night, {a} {n}", "{n} and the {a} {n}"),
        ("Sleepy", "Brave", "Enormous", "Tiny", "Muddy", "Polite"),
        ("Hedgehog", "Walrus", "Tram", "Otter", "Snail", "Moon", "Grandmother", "Goose"),
        ("School", "the Moon", "the Library", "Market", "Sea"),
        years=(1948, 2024),
    ),
    Genre(
        ("poetry", "classics"),
        ("philosophy", "nature", "translated", "love", "winter", "sea", "essays"),
        ("{n}s", "Songs of {p}", "The {a} {n}", "{n}, {n}", "Odes to the {n}"),
        ("Unfinished", "White", "Evening", "Seventh"),
        ("River", "Threshold", "Heron", "Ember", "Well", "Window"),
        years=(-420, 1990),
    ),
    Genre(
        ("小说", "fiction", "translated"),
        ("武侠", "历史", "推理", "爱情", "classics", "family"),
        ("{p}{n}", "{a}{n}", "{p}的{n}"),
        ("无名", "最后的", "风雪", "纸上"),
        ("夜话", "旧事", "客栈", "剑谱", "来信", "灯火", "茶馆"),
        ("长安", "江南", "洛阳", "塞外", "雨巷"),
        years=(1932, 2024),
        language="zho",
    ),
)


class DemoSeries(NamedTuple):
    """A series. titles: of the volumes, in their order."""

    name: str
    author: str
    tags: tuple[str, ...]
    titles: tuple[str, ...]
    since: int  # year of the first volume


SERIES: Final = (
    DemoSeries(
        "The Lamplighters of Vell",
        "Mira Okonjo",
        ("fantasy", "fiction", "magic"),
        ("A Wick for the Winter", "The Oil Thieves", "Nine Quiet Streets", "The Last Lamp"),
        2009,
    ),
    DemoSeries(
        "Low Orbit",
        "Tomas Varela",
        ("science-fiction", "fiction", "space"),
        ("Docking by Hand", "The Salvage Year", "Slow Air", "Everyone Aboard"),
        2014,
    ),
    DemoSeries(
        "Inspector Whitcombe",
        "Imogen Fairweather",
        ("mystery", "fiction", "detective"),
        ("The Tenant Upstairs", "A Ledger in Red", "Three Wrong Keys", "The Vicar's Alibi"),
        1998,
    ),
)
VOLUME_COUNT: Final = 12  # of all series

# Of translated books.
ORIGINAL_TITLES: Final = (
    "La casa de las mareas", "Der stille Fluss", "Les heures blanches", "Il giardino d'inverno", "O último barco",
    "Det tomme huset", "Viimeinen kesä", "Zimowy pociąg", "Deniz ve duvar", "Η μακριά σκάλα", "Тихая пристань",
    "夜の駅",
)  # fmt: skip
SHELF_TAGS: Final = ("favorites", "to-read", "owned", "book-club", "audiobook", "award-winner", "debut")
PUBLISHERS: Final = (
    "Heron & Lane",
    "Ninth Gate Press",
    "Salt Coast Books",
    "Threshold",
    "Lower Wexley University Press",
)
