"""The leaderboard of logins: the content of a page, and its queries in SQL."""
