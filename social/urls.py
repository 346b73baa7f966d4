"""Addresses of timelines, posts and readers' pages."""

from django.urls import path

from social.views import (
    atom,
    edits,
    follows,
    likes,
    lists,
    people,
    posts,
    profile,
    reading_lists,
    requests,
    shelves,
    threads,
    timelines,
)

app_name = "social"
urlpatterns = [
    path("home/", timelines.home, name="home"),
    path("home/new/", timelines.new_posts_bar, name="new_posts"),
    path("global/", timelines.global_posts, name="global"),
    path("posts/", posts.posts, name="posts"),
    path("posts/books/", posts.find_books, name="find_books"),
    path("posts/<int:pk>/", threads.one_post, name="post"),
    path("posts/<int:pk>/delete/", posts.delete, name="delete_post"),
    path("posts/<int:pk>/edit/", edits.edit, name="edit_post"),
    path("posts/<int:pk>/history/", edits.history, name="post_history"),
    path("posts/<int:pk>/like/", likes.like, {"is_liked": True}, name="like"),
    path("posts/<int:pk>/unlike/", likes.like, {"is_liked": False}, name="unlike"),
    path("tags/<hashtag>/", lists.hashtag_posts, name="hashtag"),
    path("mentions/", lists.mentions, name="mentions"),
    path("books/<int:pk>/posts/", lists.book_posts, name="book_posts"),
    path("books/<int:pk>/posts/feed/", atom.book_feed, name="book_feed"),
    path("authors/<int:pk>/posts/", lists.author_posts, name="author_posts"),
    path("authors/<int:pk>/posts/feed/", atom.author_feed, name="author_feed"),
    path("people/", people.people, name="people"),
    path("people/names/", people.complete_name, name="complete_name"),
    path("people/requests/", requests.requests, name="requests"),
    path("people/profile/", profile.edit_profile, name="edit_profile"),
    path("media/avatars/<file>", profile.picture, name="picture"),
    path("people/muted/", people.muted_or_blocked, {"kind": "muted"}, name="muted"),
    path("people/blocked/", people.muted_or_blocked, {"kind": "blocked"}, name="blocked"),
    path("u/<name>/", people.person, name="person"),
    path("u/<name>/feed/", atom.person_feed, name="person_feed"),
    path("u/<name>/followers/", people.followers, name="followers"),
    path("u/<name>/following/", people.following, name="following"),
    path("lists/<int:pk>/", reading_lists.one_list, name="list"),
    path("u/<name>/lists/", reading_lists.lists_of_reader, name="lists"),
    path("u/<name>/shelves/", shelves.shelves, name="shelves"),
    path("u/<name>/shelves/statistics/", shelves.statistics, name="statistics"),
    path("u/<name>/shelves/<int:year>.png", shelves.year_picture, name="year_picture"),
    path("u/<name>/shelves/<shelf>/feed/", atom.shelf_feed, name="shelf_feed"),
    path("u/<name>/block/", follows.block, name="block"),
    *(
        path(f"u/<name>/{verb}/", follows.run_action, {"verb": verb}, name=verb)
        for verb in ("follow", "unfollow", "accept", "decline", "remove", "unblock", "mute", "unmute")
    ),
]
