"""What the demo has at each start: a sale, and recent views."""

from datetime import datetime, timedelta
from random import Random
from typing import Final

from django.db import transaction
from django.utils import timezone

from accounts.models import User
from demo.people import READER_NAMES
from demo.shop.items import find_items, pick_popular
from demo.shop.visits import SEED
from shop.book_views import popularity
from shop.models import Sale, SaleItem

SALE_NAME: Final = "This week’s finds"
SALE_ITEM_COUNT: Final = 12
SALE_DAYS: Final = 3
VIEWS_OF_READER: Final = 5


def ensure_sale(now: datetime | None = None) -> bool:
    """Ensure that a sale is running or planned. Return whether a sale was created or restarted."""
    now = now or timezone.now()
    items = find_items()
    if Sale.objects.ending_after(now).exists() or not items:
        return False
    times = {"starts_at": now - timedelta(hours=1), "ends_at": now + timedelta(days=SALE_DAYS)}
    with transaction.atomic():
        sale, _ = Sale.objects.update_or_create(name=SALE_NAME, defaults=times)
        if not sale.items.exists():
            random = Random(SEED)
            picked = random.sample(items, min(SALE_ITEM_COUNT, len(items)))
            SaleItem.objects.bulk_create(
                SaleItem(sale=sale, product_id=item.pk, price=item.price * random.randrange(60, 85) // 100)
                for item in picked
            )
    return True


def record_recent_views() -> int:
    """Record some views of the demo's readers now, unless there are recent views. Return the number of views."""
    items, random = find_items(), Random(SEED)
    if not items or popularity.get_popular_books(1).is_viewed:
        return 0
    readers = list(User.objects.filter(username__in=READER_NAMES).order_by("pk").values_list("pk", flat=True))
    for reader in readers:
        for _ in range(VIEWS_OF_READER):
            book = pick_popular(random, items).pk
            popularity.count_view(None, book, visitor=f"demo:{reader}", user_id=reader)
    return len(readers) * VIEWS_OF_READER
