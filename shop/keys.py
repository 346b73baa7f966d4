"""All Redis keys of the shop. Connections add the prefix.

The docstrings are the source of the key documentation.
"""

from mirror.redis import slot_of, with_prefix


def product(product_id: int | str) -> str:
    """String (JSON): price, copies left and sales of a product. Life: as the product. Owner: ProductMirror."""
    return f"product:{product_id}"


def products_by_price() -> str:
    """Sorted set: product id by price in cents, of products for sale. Life: always. Owner: ProductMirror."""
    return "products:price"


def products_in_stock() -> str:
    """Set: ids of the products that are for sale and have copies left. Life: always. Owner: ProductMirror."""
    return "products:in-stock"


def sale(sale_id: int | str) -> str:
    """String (JSON): name, start, end and products of a sale. Life: as the sale. Owner: SaleMirror."""
    return f"sale:{sale_id}"


def sales_by_end() -> str:
    """Sorted set: sale id by its end (seconds since 1970). Life: always. Owner: SaleMirror."""
    return "sales:ends"


def last_viewed(digest: str) -> str:
    """Sorted set: the last 25 books that a visitor viewed, by time (seconds since 1970). Life: as the session, and at
    most two weeks after the last view. Owner: shop.book_views.visits.
    """
    return f"viewed:{{{digest}}}"


def popularity() -> str:
    """Sorted set: book id by its negated popularity, halved every five minutes. Life: always. Owner:
    shop.book_views.popularity.
    """
    return "viewed:"


def last_viewed_marker(digest: str) -> str:
    """String: the stamp of the server on which a visitor's list was completed from SQL. Life: as the list. Owner:
    shop.book_views.visits.
    """
    return f"viewed:{{{digest}}}:known"


def counted_view(visitor: str, book_id: int | str) -> str:
    """String: a visitor's view of a book was counted; in the slot of ``viewed:``. Life: half an hour. Owner:
    shop.book_views.popularity.
    """
    return f"{slot_of(popularity())}:once:{visitor}:{book_id}"


def popularity_period() -> str:
    """String: the five-minute period (counted since 1970) of the scores in ``viewed:``; in its slot. Life: always.
    Owner: shop.book_views.popularity.
    """
    return f"{slot_of(popularity())}:period"


def popularity_marker() -> str:
    """String: the stamp of the server on which ``viewed:`` counts all views; in its slot. Life: until Redis loses data.
    Owner: shop.book_views.popularity.
    """
    return f"{slot_of(popularity())}:whole"


def popularity_rebuild_token() -> str:
    """String: the token of a running rebuild of ``viewed:``; in its slot. Life: until the rebuild ends. Owner:
    shop.book_views.popularity.
    """
    return f"{slot_of(popularity())}:since"


def popularity_from_sql(token: str) -> str:
    """Sorted set: counts from SQL that a rebuild adds to ``viewed:``; in its slot. Life: an hour at most. Owner:
    shop.book_views.popularity.
    """
    return f"{slot_of(popularity())}:before:{token}"


def cart(digest: str) -> str:
    """Hash: quantity by product id. Life: as the session. Owner: CartMirror."""
    return f"cart:{{{digest}}}"


def cart_record(digest: str) -> str:
    """String (JSON): version of a cart (microseconds since 1970), and quantity, price and time of each line. Life: as
    the session. Owner: CartMirror.
    """
    return f"cartlines:{{{digest}}}"


def stock_alert(alert_id: int | str) -> str:
    """String (JSON): an alert that has not come true. Life: until then. Owner: StockAlertMirror."""
    return f"stock-alert:{alert_id}"


def alert_of_reader(user_id: int | str, product_id: int | str, kind: str) -> str:
    """Set: the id of the alert by which a reader waits for a product (``stock``), or for a lower price (``price``).
    Life: as the alert. Owner: StockAlertMirror.
    """
    return f"uid:{{{user_id}}}:{kind}:{product_id}:alert"


def row_schedule() -> str:
    """Sorted set: product id by the time when its row is due (seconds since 1970). Life: always. Owner:
    shop.rowcache.
    """
    return "schedule:"


def row_delays() -> str:
    """Sorted set: product id by the allowed age of its cached row, in seconds. Life: always. Owner: shop.rowcache."""
    return "delay:"


def sale_row_delays() -> str:
    """Sorted set: products with rows that are cached because of a sale, by their delay. Life: always. Owner:
    shop.rowcache.plan.
    """
    return "rowcache:sales"


def cached_row(product_id: int | str) -> str:
    """String (JSON): a product's row, a few seconds old. Life: three times its delay. Owner: shop.rowcache."""
    return f"inv:{product_id}"


def recommendation(product_id: int | str) -> str:
    """String (JSON): recommendations for a product, with their reasons. Life: as the product. Owner:
    RecommendationMirror.
    """
    return f"rec:{product_id}"


def also_bought(product_id: int | str) -> str:
    """Sorted set: the best 64 products that buyers of this one also bought, by score. Life: as the product. Owner:
    RecommendationMirror.
    """
    return f"rec:{product_id}:bought"


def bought_after_view(product_id: int | str) -> str:
    """Sorted set: the best 64 products that viewers of this one bought, by score. Life: as the product. Owner:
    RecommendationMirror.
    """
    return f"rec:{product_id}:viewbuy"


def shortage(product_id: int | str) -> str:
    """String: the number of copies that a refused checkout found. Life: seconds, or until copies come back. Owner:
    shop.shortages.
    """
    return f"hold:{product_id}"


def cached_page(digest: str) -> str:
    """String (JSON), on the cache server: a page as visitors without a session see it, and the reads that it was made
    of. Life: 300 seconds, and as long again while a process renders it again. Owner: shop.pagecache.
    """
    return with_prefix(f"cache:{digest}")


def cached_page_lock(digest: str) -> str:
    """String, on the cache server: the token of the process that renders a page. Life: 10 seconds at most. Owner:
    shop.pagecache.
    """
    return with_prefix(f"cache:{digest}:lock")
