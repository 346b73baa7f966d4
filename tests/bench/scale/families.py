"""How many keys each family has on a site with so many readers, and how many members a key has.

The shares are assumptions about a busy bookshop; the shapes of the activities fit the real data (``check``).
"""

import math
from statistics import NormalDist
from typing import Final, NamedTuple

NORMAL: Final = NormalDist()


class Activity(NamedTuple):
    """A log-normal distribution over readers or books. stars: share of all readers that the first rank has, which the
    n-th rank has an n-th of: a sample of some thousand people has no stars.
    """

    mean: float
    median: float
    most: float = math.inf
    stars: float = 0.0

    def at(self, share: float) -> float:
        """Return the value that this share of the readers exceeds."""
        sigma = math.sqrt(2 * math.log(self.mean / self.median))
        return self.median * math.exp(sigma * NORMAL.inv_cdf(1 - share))

    def of_rank(self, rank: float, count: float) -> float:
        """Return the value of a rank (from 0.5) among ``count``."""
        return min(self.most, max(self.at(min(rank / count, 1 - 1e-9)), self.stars * count / (rank + 0.5)))


ACTIVITIES: Final = {
    "logins": Activity(7.7, 3),  # days with a login, in half a year
    "posts": Activity(31.5, 4, most=50_000),
    "followed": Activity(10.7, 5, most=7_500),
    "followers": Activity(10.7, 3, stars=0.05),
    "bought": Activity(8.5, 7),
    "wished": Activity(8.1, 5),
    "readers of a book": Activity(123, 54),
    "tagged": Activity(23, 2),
}
# The keys of a quantity are read as often as these activities say; all others are read alike.
HEAT: Final = {
    "readers": "logins", "active": "logins", "sessions": "logins", "books": "readers of a book",
    "products": "readers of a book", "authors": "readers of a book", "tags": "tagged",
}  # fmt: skip

# One row for each family in docs/keys.md: its keys, the members of a key, and another family of the same form if the
# demo has no key of this one. A number, a quantity or an activity; "0": on another server, or for seconds.
TABLE: Final = """
login:<user_id> | readers
login:<name>:id | readers
login:login_times | 1 | readers
login:last_login_times | 1 | 100
login:last_login_times:shown | 1 | readers
login:login_times:shown | 1 | readers
login: | 1 | sessions
recent: | 1 | sessions
session:<digest> | sessions
sessions:<user_id> | active | 1
limit:<name>:<digest> | active
tries:{login}:<digest> | 1000 || limit:<name>:<digest>
notification:<pk> | posts || post:<post_id>
uid:{<user_id>}:notifications | readers | 20 | uid:{<user_id>}:posts
uid:{<user_id>}:unread | active | 5 | uid:{<user_id>}:following
book:<book_id> | books
book_details:<book_id> | books
{tag}:<name> | tags | tagged books
books:popular | 1 | books
books:newest | 1 | books
books:rating | 1 | books
{language}:<code> | 20 | books of a language
author:<author_id> | authors
{author}:<author_id> | authors | 3
{series}:<author_id>:<name> | authors | 3 | books:title
books:title | 1 | books
books:changes | 1 | 10000
tag:<tag_id> | tags
tags:name | 1 | tags
search:document:<pk> | documents
search:term:<text> | terms
search:<name> | lists | listed
hidden_tag:<tag_id> | 1000
tags:hidden | 1 | 1000
tags:hidden:names | 1 | 1000
tag_vote:<vote_id> | votes || tag:<tag_id>
uid:{<user_id>}:book:<book_id>:tags | votes | 1 | tags:name
stock-alert:<alert_id> | active || tag:<tag_id>
uid:{<user_id>}:<kind>:<product_id>:alert | active | 1 | tags:name
shelved:<user_and_book> | entries
shelf:<shelf>:{<user_id>} | readers | wished
reading:<reading_id> | readings || shelved:<user_and_book>
uid:{<user_id>}:readings | active | 2 | uid:{<user_id>}:posts
book:{<book_id>}:readers | books | readers of a book
book:{<book_id>}:stars | books | readers of a book
shelves:<user_id> | active || shelved:<user_and_book>
reading_list:<list_id> | active
lists:{<user_id>} | active | 3
listed:<pk> | entries
list:{<list_id>}:positions | active | 20
list:{<list_id>}:added | active | 20
listings:{<user_id>}:<book_id> | entries | 1
public_listings:{<book_id>} | books | 5
product:<product_id> | products
products:price | 1 | products
products:in-stock | 1 | products
sale:<sale_id> | 10
sales:ends | 1 | 10
viewed:{<digest>} | visitors | 25
viewed: | 1 | books
viewed:{<digest>}:known | visitors
{viewed:}:once:<visitor>:<book_id> | views in 30 min
{viewed:}:period | 1
{viewed:}:whole | 1 || {viewed:}:period
{viewed:}:since | 0
{viewed:}:before:<token> | 0
cart:{<digest>} | carts | 3
cartlines:{<digest>} | carts
schedule: | 1 | 500 | viewed:
delay: | 1 | 500 | viewed:
rowcache:sales | 1 | 500 | viewed:
inv:<product_id> | 500 || product:<product_id>
rec:<product_id> | products
rec:<product_id>:bought | products | 64
rec:<product_id>:viewbuy | products | 64
hold:<product_id> | 100 || limit:<name>:<digest>
cache:<digest> | 0
cache:<digest>:lock | 0
post:<post_id> | posts
uid:{<user_id>}:posts | readers | posts
replies:{<post_id>} | posts | 1 | uid:{<user_id>}:posts
uid:{<user_id>}:following | readers | followed
similar:<user_id> | readers || post:<post_id>
profile:<user_id> | readers || post:<post_id>
uid:{<user_id>}:followers | readers | followers
uid:{<user_id>}:pulls | active | 3 | uid:{<user_id>}:following
likers:{<post_id>} | posts | 4 | uid:{<user_id>}:following
uid:{<user_id>}:likes | readers | posts | uid:{<user_id>}:following
uid:{<user_id>}:shuns | active | 3 | uid:{<user_id>}:following
uid:{<user_id>}:timeline | active | 400
uid:{<user_id>}:mentions | active | 20
global:timeline | 1 | 1000
author:{<author_id>}:posts | authors | 60
author_followers:{<author_id>} | authors | 20
uid:{<user_id>}:authors | active | 5
book:{<book_id>}:posts | books | 40
{hashtag}:<name> | tags | 100
review:<post_id> | reviews || post:<post_id>
ranked_review:<post_id> | reviews || shelved:<user_and_book>
book:{<book_id>}:reviews | books | 40 | book:{<book_id>}:posts
book:{<book_id>}:reviews:helpful | books | 40 | book:{<book_id>}:posts
review_by:{<book_id>}:<user_id> | reviews || login:<name>:id
rated_post:<user_and_book> | ratings || shelved:<user_and_book>
book:{<book_id>}:reviews:stars | books | 40 | book:{<book_id>}:posts
uid:{<user_id>}:hidden_ratings | active | 1 | uid:{<user_id>}:posts
post_stars:<post_id> | ratings || login:<name>:id
loginLog_<month>_<user_type>_<user_id> | months of active readers
loginDay_<day>_<user_type> | 62 | readers
loginlog:union:<token> | 0
mirror:{warm}:<mirror> | 30
mirror:{warm}:heartbeat | 1 || mirror:{warm}:<mirror>
mirror:{warm}:quarantined | 1 || mirror:{warm}:<mirror>
mirror:building:<mirror> | 0
mirror:clock | 1 || {viewed:}:period
mirror:clock:bare | 1 || {viewed:}:period
mirror:evicted | 0
mirror:history | 1 | 2
mirror:verification | 1 || mirror:{warm}:<mirror>
mirror:lease:<job> | 10 || mirror:{warm}:<mirror>
mirror:requests | 0
mirror:guard:<mirror>:<row> | 10000 || limit:<name>:<digest>
mirror:{<slot>}:fence:<mirror>:<row> | 10000 || limit:<name>:<digest>
mirror:{<slot>}:staged:<mirror>:<row> | 0
mirror:{<slot>}:claims:<window> | 1000 || limit:<name>:<digest>
mirror:{sentinel:<number>}:<owner> | 64 || {viewed:}:period
mirror:lag | 1 | 90 | mirror:history
mirror:visits:{<beside>} | 2 | views in 2 s | recent:
mirror:visits:{<beside>}:trimmed | 0
mirror:visits:{<beside>}:restored | 2 || {viewed:}:period
mirror:visits:{<beside>}:restoring | 0
mirror:fence:<mirror> | 8 || {viewed:}:period
"""


class Growth(NamedTuple):
    """The keys of a family on one site. members: of each key. like: the family that is measured in its place."""

    total: float
    members: float | Activity
    heat: Activity | None
    like: str


def count_things(readers: int) -> dict[str, float]:
    """Return the quantities of a site."""
    books = 300 * math.sqrt(readers)
    a_day = readers * DAILY * PAGES_A_DAY
    return {
        "readers": readers, "active": 0.3 * readers, "sessions": 0.6 * readers, "visitors": 0.8 * readers,
        "carts": 0.1 * readers, "books": books, "products": books / 2, "authors": books / 3,
        "tags": 60 * math.sqrt(books), "documents": readers + 1.4 * books, "terms": 2 * books,
        "lists": 5 * (readers + 1.4 * books), "votes": 0.5 * readers, "entries": 8.1 * readers, "posts": 31.5 * readers,
        "reviews": readers, "ratings": 4 * readers, "readings": 0.6 * readers,
        "months of active readers": 0.6 * readers, "views in 2 s": PEAK * a_day * PAGES["book"] / 43_200,
        "views in 30 min": PEAK * a_day * PAGES["book"] / 48,
    }  # fmt: skip


# Visits: a tenth of the readers come each day and request 20 pages; the busiest hour has three times the mean.
DAILY: Final = 0.1
PAGES_A_DAY: Final = 20
PEAK: Final = 3.0
PAGES: Final = {  # the share of each page or write
    "front page": 0.08, "home timeline": 0.23, "book": 0.25, "list of books": 0.12, "search": 0.08, "person": 0.07,
    "global timeline": 0.02, "shelf": 0.05, "sale": 0.02, "cart": 0.02,
    "post": 0.02, "follow": 0.01, "cart line": 0.01, "login": 0.02,
}  # fmt: skip


def grow(readers: int) -> dict[str, Growth]:
    """Return the growth of each family. Raises KeyError for an unknown quantity."""
    things = count_things(readers)
    books = things["books"]
    activities = {
        **ACTIVITIES,
        "listed": Activity(2, 1.2, most=readers),  # a document is in about ten lists
        "tagged books": Activity(30 * books / things["tags"], 3 * books / things["tags"], most=0.9 * books),
        "books of a language": Activity(books / 20, books / 200, most=0.8 * books),
        # Every reader with shelves has read some books; the data set has fewer readers for each book than this site.
        "readers of a book": Activity(8.1 * readers / books, 3.6 * readers / books),
    }

    def resolve(text: str) -> float:
        return float(text) if text.isdecimal() else things[text]

    found = {}
    for line in TABLE.strip().splitlines():
        name, count, members, like = (part.strip() for part in f"{line}|||".split("|")[:4])
        heat = activities[HEAT[count]] if count in HEAT else None
        size = activities[members] if members in activities else resolve(members or "1")
        found[name] = Growth(resolve(count), size, heat, like or name)
    return found
