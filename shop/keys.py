"""Every key of the shop. Names are as in Redis, with the prefix."""

from mirror.naming import key


def product(product_id: int | str) -> str:
    """String (JSON): price, copies left and sales of a product. Life: as the product. Owner: ProductMirror."""
    return key(f"product:{product_id}")


def prices() -> str:
    """Sorted set: product id by price in cents (those that are for sale). Life: always. Owner: ProductMirror."""
    return key("products:price")


def sale(sale_id: int | str) -> str:
    """String (JSON): name, start, end and products of a sale. Life: as the sale. Owner: SaleMirror."""
    return key(f"sale:{sale_id}")


def sale_ends() -> str:
    """Sorted set: sale id by when it ends (seconds since 1970). Life: always. Owner: SaleMirror."""
    return key("sales:ends")


def viewed_by(digest: str) -> str:
    """Sorted set: the last 25 books that a visitor saw, by time (seconds since 1970). Life: as the session.
    Owner: ViewBackup.
    """
    return key(f"viewed:{{{digest}}}")


def viewed() -> str:
    """Sorted set: book id by minus its views, halved every five minutes. Life: always. Owner: shop.popularity."""
    return key("viewed:")


def cart(digest: str) -> str:
    """Hash: product id to quantity. Life: as the session. Owner: CartBackup."""
    return key(f"cart:{{{digest}}}")


def cart_version(digest: str) -> str:
    """String: when a cart was last changed (microseconds since 1970). Life: as the cart's. Owner: CartBackup."""
    return key(f"cart:{{{digest}}}:version")


def schedule() -> str:
    """Sorted set: product id by when its row is to be cached next (seconds since 1970). Life: always.
    Owner: shop.rowcache.
    """
    return key("schedule:")


def delay() -> str:
    """Sorted set: product id by how many seconds its cached row may be old. Life: always. Owner: shop.rowcache."""
    return key("delay:")


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
