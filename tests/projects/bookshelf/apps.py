from django.apps import AppConfig


class BookshelfConfig(AppConfig):
    name = "tests.projects.bookshelf"
    label = "bookshelf"
