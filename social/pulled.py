"""Authors whose posts are fetched by their readers, and not delivered."""

from mirror.conf import setting
from social.models import Pulled


def is_pulled_now(user_id: int) -> bool:
    """Whether what a user posts now is fetched. 1 query."""
    found = Pulled.objects.using(setting("DATABASE"))
    return found.filter(pk=user_id, state=Pulled.State.ON).exists()
