from typing import ClassVar

from django.db import models


class Volume(models.Model):
    objects: ClassVar[models.Manager["Volume"]] = models.Manager()
    title = models.CharField(max_length=100)

    def __str__(self) -> str:
        return self.title
