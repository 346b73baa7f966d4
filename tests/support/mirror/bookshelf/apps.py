from django.apps import AppConfig


class BookshelfConfig(AppConfig):
    name = "tests.support.mirror.bookshelf"
    label = "bookshelf"
