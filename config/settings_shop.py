"""The shop: carts, sales, checkouts, payments."""

import os

from config.environment import env, required

SHOP_CURRENCY = "EUR"  # what prices are in: whole cents of it
SHOP_CART_LINES, SHOP_CART_QUANTITY = 100, 99  # products in a cart, and copies of one
SHOP_SALE_ROW_SECONDS, SHOP_ROW_SECONDS = 3.0, 60.0  # how old cached rows are, of what is on sale and what will be
SHOP_ROW_CLAIM_SECONDS = 10  # for which a process has the rows to itself that it caches
SHOP_PLAN_SECONDS = 5.0  # between two looks at the sales, which decide which rows are cached
SHOP_PAGE_SECONDS = 300.0  # for which a cached page is fresh
SHOP_PAGE_LOCK_SECONDS = 10.0  # after which another process makes the page
SHOP_PAGE_WAIT_SECONDS = 0.5  # for which a request waits for a page that another one makes
SHOP_VIEW_PERIOD_SECONDS = 300  # after which a book's views count half
SHOP_VIEW_DAYS = 1096  # for which customers' views are kept, and recommendations look back
SHOP_RESERVATION_SECONDS = 600  # for which a checkout keeps copies while it is paid
# For which it is believed, without asking SQL, that too few copies are left.
SHOP_HOLD_SECONDS = env.float("SHOP_HOLD_SECONDS", default=2.0)
# After which a round of settling begins no other question and no other letter: a slow provider or mail server must not
# hold up the rest.
SHOP_ROUND_SECONDS = 12.0
SHOP_ADDRESS_LETTERS = 20  # about orders, to one e-mail address in a day
SHOP_PAYMENT_TRIES = 10  # to pay that come to nothing, of one person in ten minutes
# Who takes the money (shop/payments), and how long a page waits for an answer.
PAYMENT_PROVIDER = required("PAYMENT_PROVIDER", "shop.payments.fake.FakeProvider")
PAYMENT_TIMEOUT_SECONDS = env.float("PAYMENT_TIMEOUT_SECONDS", default=4.0)
# What callbacks are signed with, and where the fake provider calls back.
PAYMENT_CALLBACK_SECRET = required("PAYMENT_CALLBACK_SECRET", "for developers alone")
PAYMENT_CALLBACK_URL = env.str(
    "PAYMENT_CALLBACK_URL", default=f"http://127.0.0.1:{os.environ.get('PORT') or 8000}/shop/payments/callback/"
)
