"""Settings of the shop: carts, sales, checkouts, payments."""

import os

from config.environment import env, read_required

SELLER_COUNTRY = env.str("SELLER_COUNTRY", default="").upper()  # the seller's country, as "DE"
# The seller's details on pages and in emails. SELLER_ADDRESS has ";" between its lines, and not the country.
SELLER_NAME, SELLER_ADDRESS = env.str("SELLER_NAME", default=""), env.str("SELLER_ADDRESS", default="")
SELLER_EMAIL, SELLER_PHONE = env.str("SELLER_EMAIL", default=""), env.str("SELLER_PHONE", default="")
SELLER_VAT_ID, SELLER_REGISTER = env.str("SELLER_VAT_ID", default=""), env.str("SELLER_REGISTER", default="")
RETURN_DAYS = 14  # the days in which buyers can return books
INVOICE_YEARS = 10  # the years for which invoices are kept after the year of their issue
SHOP_CURRENCY = "EUR"  # prices are in whole cents of it
SHOP_CART_LINES, SHOP_CART_QUANTITY = 100, 99  # the most products in a cart, and the most copies of one product
SHOP_SALE_ROW_SECONDS, SHOP_ROW_SECONDS = 3.0, 60.0  # refresh of cached rows in running and in planned sales
SHOP_ROW_CLAIM_SECONDS = 10  # the lease of a process on the rows that it caches
SHOP_PLAN_SECONDS = 5.0  # between two readings of the sales, which decide the rows to cache
SHOP_PAGE_SECONDS = 300.0  # the time for which a cached page is fresh
SHOP_PAGE_LOCK_SECONDS = 10.0  # after this time another process renders the page
SHOP_PAGE_WAIT_SECONDS = 0.5  # the longest wait of a request for a page that another request renders
SHOP_VIEW_PERIOD_SECONDS = 300  # the half-life of a view in the popularity of a book
SHOP_VIEW_DAYS = 1096  # the days for which customers' views are kept and used for recommendations
SHOP_RESERVATION_SECONDS = 600  # the time for which a checkout reserves copies until the payment
# The time for which requests trust, without asking SQL, that too few copies are left.
SHOP_HOLD_SECONDS = env.float("SHOP_HOLD_SECONDS", default=2.0)
# After this time a round of settling starts no further request and no further email, so that a slow provider or mail
# server does not delay the rest.
SHOP_ROUND_SECONDS = 12.0
SHOP_ADDRESS_LETTERS = 20  # emails about orders, to one address in a day
SHOP_PAYMENT_TRIES = 10  # payments without success, of one person in ten minutes
# The payment provider (shop/payments), and the longest wait of a page for its answer.
PAYMENT_PROVIDER = read_required("PAYMENT_PROVIDER", "shop.payments.fake.FakeProvider")
PAYMENT_TIMEOUT_SECONDS = env.float("PAYMENT_TIMEOUT_SECONDS", default=4.0)
# The secret that signs callbacks, and the address that the fake provider calls back.
PAYMENT_CALLBACK_SECRET = read_required("PAYMENT_CALLBACK_SECRET", "for developers alone")
PAYMENT_CALLBACK_URL = env.str(
    "PAYMENT_CALLBACK_URL", default=f"http://127.0.0.1:{os.environ.get('PORT') or 8000}/shop/payments/callback/"
)
# Of shop.payments.stripe_checkout. The last two: for a double in tests, and for a domain of the shop's own at Stripe.
STRIPE_API_KEY = env.str("STRIPE_API_KEY", default="")
STRIPE_API_URL = env.str("STRIPE_API_URL", default="https://api.stripe.com")
STRIPE_PAGE_ORIGIN = env.str("STRIPE_PAGE_ORIGIN", default="https://checkout.stripe.com")
STOCK_ALERT_LIMIT = 200  # stock alerts of one reader
SHOP_SAVED_ADDRESSES = 20  # addresses that one reader can save
# The carriers of parcels: names, and links to their pages with "{number}" for the number of the parcel.
SHOP_CARRIERS: dict[str, str] = env.json(
    "SHOP_CARRIERS",
    default={
        "DHL": "https://www.dhl.com/global-en/home/tracking.html?tracking-id={number}",
        "DPD": "https://tracking.dpd.de/status/en_US/parcel/{number}",
        "FedEx": "https://www.fedex.com/fedextrack/?trknbr={number}",
        "Royal Mail": "https://www.royalmail.com/track-your-item#/tracking-results/{number}",
        "UPS": "https://www.ups.com/track?tracknum={number}",
    },
)
