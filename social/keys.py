"""Every Redis key of this application, without the prefix that connections add."""


def post(post_id: int | str) -> str:
    """String (JSON): a post's author, time, text, book and mentions. Life: while the post is visible.
    Owner: PostMirror.
    """
    return f"post:{post_id}"


def posts_of(user_id: int | str) -> str:
    """Sorted set: ids of all posts of a user, by id. Life: as the posts. Owner: PostMirror."""
    return f"uid:{{{user_id}}}:posts"


def replies(post_id: int | str) -> str:
    """Sorted set: ids of the direct replies to a post, by id. Life: as the replies. Owner: PostMirror."""
    return f"replies:{{{post_id}}}"


def profile(user_id: int | str) -> str:
    """String (JSON): a reader's text, links and favourite books. Life: as its row. Owner: ProfileMirror."""
    return f"profile:{user_id}"


def similar(user_id: int | str) -> str:
    """String (JSON): the readers with similar taste. Life: until the daily run finds none. Owner: SimilarMirror."""
    return f"similar:{user_id}"


def following(user_id: int | str) -> str:
    """Set: ids of the users that a user follows. Life: as the follows. Owner: FollowMirror."""
    return f"uid:{{{user_id}}}:following"


def followers(user_id: int | str) -> str:
    """Set: ids of a user's followers. Life: as the follows. Owner: FollowMirror."""
    return f"uid:{{{user_id}}}:followers"


def pulls(user_id: int | str) -> str:
    """Set: ids of the pulled authors that a user follows. Life: as the follows. Owner: FollowMirror."""
    return f"uid:{{{user_id}}}:pulls"


def likers(post_id: int | str) -> str:
    """Set: ids of the users that like a post. Life: as the likes. Owner: LikeMirror."""
    return f"likers:{{{post_id}}}"


def likes(user_id: int | str) -> str:
    """Set: ids of the posts that a user likes. Life: as the likes. Owner: LikeMirror."""
    return f"uid:{{{user_id}}}:likes"


def shuns(user_id: int | str) -> str:
    """Set: ids of users that a user has muted or blocked, or that have blocked the user. Life: as these rows.
    Owner: ShunMirror.
    """
    return f"uid:{{{user_id}}}:shuns"


def timeline(user_id: int | str) -> str:
    """Sorted set: the newest 400 posts of a user and of followed authors, by id, and the sentinel 0 (score 0: the
    window is complete; -1: SQL has more). Life: 6 to 7 days after the last read. Owner: TimelineMirror.
    """
    return f"uid:{{{user_id}}}:timeline"


def mentions_of(user_id: int | str) -> str:
    """Sorted set: ids of the newest 200 posts that mention a user, by id. Life: as the posts.
    Owner: MentionsMirror.
    """
    return f"uid:{{{user_id}}}:mentions"


def global_timeline() -> str:
    """Sorted set: ids of the newest 1,000 posts, by id. Life: always. Owner: GlobalMirror."""
    return "global:timeline"


def author_posts(author_id: int | str) -> str:
    """Sorted set: ids of the newest 200 posts about books of an author, by id. Life: as the posts.
    Owner: AuthorPostsMirror.
    """
    return f"author:{{{author_id}}}:posts"


def book_posts(book_id: int | str) -> str:
    """Sorted set: ids of the newest 200 posts about a book, by id. Life: as the posts. Owner: BookPostsMirror."""
    return f"book:{{{book_id}}}:posts"


def hashtag(name: str) -> str:
    """Sorted set: ids of the newest 1,000 posts with a hashtag (folded), by id. Life: as the posts.
    Owner: HashtagMirror.
    """
    return f"{{hashtag}}:{name}"


def review(post_id: int | str) -> str:
    """String (JSON): text and language of a review. Life: as the review. Owner: ReviewMirror."""
    return f"review:{post_id}"


def ranked_review(post_id: int | str) -> str:
    """String (JSON): reader, book and number of likes of a review, and whether its reader is private.
    Life: while its post is visible. Owner: RankedReviewMirror.
    """
    return f"ranked_review:{post_id}"


def reviews_of(book_id: int | str) -> str:
    """Sorted set: ids of all reviews of a book, by id. Life: as the reviews. Owner: RankedReviewMirror."""
    return f"book:{{{book_id}}}:reviews"


def helpful_reviews(book_id: int | str) -> str:
    """Sorted set: ids of all reviews of a book, by likes and id. Life: as the reviews. Owner: RankedReviewMirror."""
    return f"book:{{{book_id}}}:reviews:helpful"


def review_by(book_id: int | str, user_id: int | str) -> str:
    """String: id of a reader's review of a book. Life: as the review. Owner: RankedReviewMirror."""
    return f"review_by:{{{book_id}}}:{user_id}"


def rated_post(user_and_book: str) -> str:
    """String (JSON): the post of a reader's review or rating of a book, and its public stars. Life: while the stars of
    the review are public, or as the rating. Owner: RatedPostMirror.
    """
    return f"rated_post:{user_and_book}"


def starred_reviews(book_id: int | str) -> str:
    """Sorted set: ids of the reviewers of a book, by stars and review. Life: while the stars are public.
    Owner: RatedPostMirror.
    """
    return f"book:{{{book_id}}}:reviews:stars"


def hidden_ratings(user_id: int | str) -> str:
    """Sorted set: ids of the books that a reader has rated and whose stars are not public, by post.
    Life: while the rating has a post that is not shown. Owner: RatedPostMirror.
    """
    return f"uid:{{{user_id}}}:hidden_ratings"


def post_stars(post_id: int | str) -> str:
    """String: reader, book and stars (in halves) of the post of a review or rating. Life: while they are public.
    Owner: RatedPostMirror.
    """
    return f"post_stars:{post_id}"
