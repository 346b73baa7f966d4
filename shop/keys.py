"""Every key of the shop. Connections put the prefix before them."""

from mirror.naming import key, slot_of, with_prefix


def product(product_id: int | str) -> str:
    """String (JSON): price, copies left and sales of a product. Life: as the product. Owner: ProductMirror."""
    return key(f"product:{product_id}")


def prices() -> str:
    """Sorted set: product id by price in cents (those that are for sale). Life: always. Owner: ProductMirror."""
    return key("products:price")


def in_stock() -> str:
    """Set: ids of the products that are for sale, of which copies are left. Life: always. Owner: ProductMirror."""
    return key("products:in-stock")


def sale(sale_id: int | str) -> str:
    """String (JSON): name, start, end and products of a sale. Life: as the sale. Owner: SaleMirror."""
    return key(f"sale:{sale_id}")


def sale_ends() -> str:
    """Sorted set: sale id by when it ends (seconds since 1970). Life: always. Owner: SaleMirror."""
    return key("sales:ends")


def viewed_by(digest: str) -> str:
    """Sorted set: the last 25 books that a visitor saw, by time (seconds since 1970). Life: as the session, and at
    most two weeks after the last view. Owner: shop.viewing.
    """
    return key(f"viewed:{{{digest}}}")


def viewed() -> str:
    """Sorted set: book id by minus its views, halved every five minutes. Life: always.

    Owner: shop.viewing.popularity.
    """
    return key("viewed:")


def viewed_known(digest: str) -> str:
    """String: the marker of the backup of views under which a visitor's list holds what SQL has of it.
    Life: as the list. Owner: shop.viewing.
    """
    return key(f"viewed:{{{digest}}}:known")


def viewed_marks() -> str:
    """Sorted set: views that SQL does not have yet ("visitor|user|book|microseconds"), by version. In the slot of
    ``viewed:``. Life: until they are flushed. Owner: ViewBackup.
    """
    return key(f"mirror:marks:{slot_of(viewed())}")


def viewed_once(visitor: str, book_id: int | str) -> str:
    """String: a visitor's view of a book was counted; in the slot of ``viewed:``. Life: half an hour.
    Owner: shop.viewing.popularity.
    """
    return key(f"{slot_of(viewed())}:once:{visitor}:{book_id}")


def viewed_period() -> str:
    """String: the five minutes (since 1970) for which ``viewed:`` is right; in its slot. Life: always.
    Owner: shop.viewing.popularity.
    """
    return key(f"{slot_of(viewed())}:period")


def viewed_whole() -> str:
    """String: the marker of the backup of views under which ``viewed:`` counts all views; in its slot.
    Life: until Redis is another. Owner: shop.viewing.popularity.
    """
    return key(f"{slot_of(viewed())}:whole")


def viewed_since() -> str:
    """String: since when ``viewed:`` counts, while what came before is brought from SQL; in its slot.
    Life: until it is. Owner: shop.viewing.popularity.
    """
    return key(f"{slot_of(viewed())}:since")


def viewed_before(token: str) -> str:
    """Sorted set: what came before, on its way into ``viewed:``; in its slot. Life: an hour at most.
    Owner: shop.viewing.popularity.
    """
    return key(f"{slot_of(viewed())}:before:{token}")


def cart(digest: str) -> str:
    """Hash: product id to quantity. Life: as the session; a day after it was moved. Owner: CartBackup."""
    return key(f"cart:{{{digest}}}")


def cart_state(digest: str) -> str:
    """Hash: version of a cart (microseconds since 1970), copies in it, floor, moved (the digest under which it goes
    on); by product id "quantity version price added" of each line, removed ones too; by "order:<key>" the same of
    orders that took lines out. Life: as the cart's. Owner: CartBackup.
    """
    return key(f"cart:{{{digest}}}:version")


def schedule() -> str:
    """Sorted set: product id by when its row is to be cached next (seconds since 1970). Life: always.
    Owner: shop.rowcache.
    """
    return key("schedule:")


def delay() -> str:
    """Sorted set: product id by how many seconds its cached row may be old. Life: always. Owner: shop.rowcache."""
    return key("delay:")


def rows_of_sales() -> str:
    """Sorted set: products whose rows are cached because of a sale, by the delay they were given for that.
    Life: always. Owner: shop.rowcache.plan.
    """
    return key("rowcache:sales")


def row(product_id: int | str) -> str:
    """String (JSON): a product's row as it was a few seconds ago. Life: three times its delay. Owner: shop.rowcache."""
    return key(f"inv:{product_id}")


def recommendation(product_id: int | str) -> str:
    """String (JSON): what is recommended with a product, and why. Life: as the product. Owner: RecommendationMirror."""
    return key(f"rec:{product_id}")


def bought_as_well(product_id: int | str) -> str:
    """Sorted set: the best 64 products that buyers of this one bought as well, by score. Life: as the product.
    Owner: RecommendationMirror.
    """
    return key(f"rec:{product_id}:bought")


def bought_after_a_look(product_id: int | str) -> str:
    """Sorted set: the best 64 products that people bought who had looked at this one, by score. Life: as the product.
    Owner: RecommendationMirror.
    """
    return key(f"rec:{product_id}:viewbuy")


def hold(product_id: int | str) -> str:
    """String: how many copies of a product were left when somebody wanted more. Life: seconds, or until there may be
    more. Owner: shop.holds.
    """
    return key(f"hold:{product_id}")


def page(digest: str) -> str:
    """String (JSON), on the cache server: a page without what is in its holes. Life: 300 seconds, and as long again
    while it is made anew. Owner: shop.pagecache.
    """
    return with_prefix(f"cache:{digest}")


def page_lock(digest: str) -> str:
    """String, on the cache server: who makes a page now. Life: 10 seconds at most. Owner: shop.pagecache."""
    return with_prefix(f"cache:{digest}:lock")
