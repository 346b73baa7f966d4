"""The vocabulary of the generated catalogue. All of it is invented."""

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
# Of translated books.
ORIGINAL_TITLES: Final = (
    "La casa de las mareas", "Der stille Fluss", "Les heures blanches", "Il giardino d'inverno", "O último barco",
    "Det tomme huset", "Viimeinen kesä", "Zimowy pociąg", "Deniz ve duvar", "Η μακριά σκάλα", "Тихая пристань",
    "夜の駅",
)  # fmt: skip
SHELF_TAGS: Final = ("favorites", "to-read", "owned", "book-club", "audiobook", "award-winner", "debut")

# Sentences about the books of a genre, by its first tag: an opening, a turn and a close. {t} is the short title.
DESCRIPTIONS: Final[dict[str, tuple[tuple[str, ...], ...]]] = {
    "fantasy": (
        (
            "An oath older than the kingdom wakes on the night of the first snow.",
            "The map ends at a gate that only children can see.",
            "A glassmaker inherits a lantern that shows other people's promises.",
        ),
        (
            "To keep it, three strangers have to trust a wyrm.",
            "The road there leads through a drowned city and a very long winter.",
            "Those who would rule must first learn what the crown costs.",
        ),
        (
            "“{t}” is a slow, warm tale about found families.",
            "A story of courage for readers who like their magic quiet.",
            "With a map and a list of names.",
        ),
    ),
    "science-fiction": (
        (
            "The signal repeats every nineteen hours, and it is getting shorter.",
            "On the last supply ship to the colony, somebody has the wrong name.",
            "A repair crew wakes a century too late.",
        ),
        (
            "Between the engine room and the archive, one engineer pieces the message together.",
            "What follows is a trial in which the machine is the witness.",
            "Each answer moves the horizon further away.",
        ),
        (
            "“{t}” asks what we owe to those who come after us.",
            "Hard science, dry humour and a good ending.",
            "A novel about distance.",
        ),
    ),
    "mystery": (
        (
            "Nobody in the village locks a door until the vicar's ledger disappears.",
            "The tenant on the third floor has been dead for a week, and yet the rent arrives.",
            "A letter comes forty years late.",
        ),
        (
            "A retired locksmith sees what the police do not want to see.",
            "Everyone has an alibi, and two of them are the same.",
            "The clues are all there, on page one.",
        ),
        (
            "“{t}” plays fair to the last chapter.",
            "A puzzle for a rainy weekend.",
            "The first case of an unlikely pair.",
        ),
    ),
    "romance": (
        (
            "She repairs violins; he cannot bear music.",
            "Two rival bakers share one oven for a summer.",
            "The wedding is off, but the guests are already on the train.",
        ),
        (
            "A wrong delivery begins a correspondence.",
            "Neither of them planned to stay in town.",
            "Their friends have a bet, and everybody knows it but them.",
        ),
        (
            "“{t}” is tender, funny and patient with its people.",
            "For readers who like a slow burn.",
            "A comedy of second chances.",
        ),
    ),
    "historical-fiction": (
        (
            "In the year of the great frost a printer hides a page that could hang him.",
            "A cartographer is sent to measure a coast that two empires claim.",
            "The widow sells the salt works and keeps the boats.",
        ),
        (
            "Letters, ledgers and one song tell what happened next.",
            "War comes slowly, and then all at once.",
            "Her daughter will spend a life finding out why.",
        ),
        (
            "“{t}” brings a forgotten port to life.",
            "A broad novel about small decisions.",
            "With a note on the sources.",
        ),
    ),
    "horror": (
        (
            "The choir practises at three in the morning, and the church burned down long ago.",
            "There is one room more in the house than on the plan.",
            "The harvest was good, which is how they knew.",
        ),
        (
            "The caller knows the children by name.",
            "What is in the cellar has learned to be polite.",
            "Those who sleep hear it first.",
        ),
        ("“{t}” is best read by daylight.", "Quiet dread instead of gore.", "Short, cold and hard to forget."),
    ),
    "programming": (
        (
            "A workbook in twelve chapters, each with a program that you can run.",
            "Most books show how a system works; this one shows how it fails.",
            "For people who can program and want to understand what they use.",
        ),
        (
            "Each idea is built twice: first in the obvious way, then in the one that lasts.",
            "The examples grow from ten lines to a small service with tests.",
            "Exercises have answers, and the answers have reasons.",
        ),
        (
            "“{t}” needs no more than a terminal.",
            "With an index worth reading.",
            "The second edition corrects all known errors.",
        ),
    ),
    "science": (
        (
            "It is under our feet and over our heads, and we hardly look at it.",
            "Ten walks, ten questions, and a notebook.",
            "A scientist looks back on forty years with one subject.",
        ),
        (
            "The author explains the measurements and admits the doubts.",
            "Drawings show what no photograph can.",
            "Each chapter begins with a mistake that taught us something.",
        ),
        (
            "“{t}” leaves you looking twice.",
            "Clear enough for the curious, exact enough for experts.",
            "With suggestions for your own observations.",
        ),
    ),
    "biography": (
        (
            "A life between two harbours, told from letters and one unreliable diary.",
            "The first job was an accident; the second one made history.",
            "Fame came late and did not stay.",
        ),
        (
            "Friends, rivals and a very patient sister have their say.",
            "Much of it was never meant to be printed.",
            "The book follows the work, and lets the gossip go.",
        ),
        (
            "“{t}” is a fair portrait of a difficult person.",
            "With photographs and a list of works.",
            "Honest, brief and often funny.",
        ),
    ),
    "cooking": (
        (
            "Recipes for weekdays, with what the market has.",
            "One hundred ways with very little.",
            "Bread takes time, and most of it is waiting.",
        ),
        (
            "Each recipe says what may go wrong and how to save it.",
            "Quantities are for four, and for one.",
            "No special tools are needed, but a good pan helps.",
        ),
        ("“{t}” is a book that gets stains.", "With menus for each season.", "Cook from it twice, then leave it shut."),
    ),
    "children": (
        (
            "It is late, and somebody small is still awake.",
            "The goose has a plan, and the plan has a hole.",
            "Grandmother's tram goes everywhere, if you ask it nicely.",
        ),
        (
            "On the way there are puddles, a library and a very polite walrus.",
            "Everyone helps, even the snail.",
            "There is something hidden in each picture.",
        ),
        ("“{t}” is for reading aloud.", "For ages three and up.", "Good night."),
    ),
    "poetry": (
        (
            "Poems about rivers, doors and the light in October.",
            "Sixty short pieces, few of them about love.",
            "The songs were sung before they were written.",
        ),
        (
            "The lines are plain, and stay with you.",
            "Each poem answers the one before it.",
            "The translation keeps the rhythm and lets the rhyme go.",
        ),
        ("“{t}” fits into a coat pocket.", "With the original on the facing page.", "To be read slowly."),
    ),
    "小说": (
        ("雪夜，客栈里来了一位没有名字的人。", "一封旧信，改变了三代人的命运。", "茶馆的灯还亮着，说书人却不见了。"),
        ("故事从这里开始，也在这里结束。", "真相藏在一本没有人读过的剑谱里。", "离开的人终究要回来。"),
        ("《{t}》写的是寻常人家的悲欢。", "适合一个人慢慢读。", "一部关于记忆的小说。"),
    ),
}
PUBLISHERS: Final = (
    "Heron & Lane",
    "Ninth Gate Press",
    "Salt Coast Books",
    "Threshold",
    "Lower Wexley University Press",
)
