import django.db.models.deletion
import django.utils.timezone
import social.moderation.models
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Case",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "kind",
                    models.CharField(
                        choices=[("post", "post"), ("reader", "reader"), ("hashtag", "hashtag"), ("tag", "tag")],
                        max_length=8,
                        verbose_name="kind",
                    ),
                ),
                ("target", models.CharField(max_length=200, verbose_name="target")),
                (
                    "severity",
                    models.PositiveSmallIntegerField(
                        choices=[(1, "low"), (2, "medium"), (3, "high")], default=1, verbose_name="severity"
                    ),
                ),
                ("opened_at", models.DateTimeField(default=django.utils.timezone.now, verbose_name="opened")),
                ("closed_at", models.DateTimeField(blank=True, null=True, verbose_name="decided")),
                (
                    "author",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                        verbose_name="author",
                    ),
                ),
            ],
            options={
                "verbose_name": "case",
                "verbose_name_plural": "cases",
            },
        ),
        migrations.CreateModel(
            name="Decision",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "action",
                    models.CharField(
                        choices=[
                            ("dismiss", "Dismiss"),
                            ("warn", "Warn"),
                            ("hide", "Hide"),
                            ("delete", "Delete"),
                            ("suspend", "Suspend"),
                            ("close", "Delete the account"),
                        ],
                        max_length=8,
                        verbose_name="decision",
                    ),
                ),
                ("hides_post", models.BooleanField(default=False, verbose_name="hides the post")),
                (
                    "basis",
                    models.CharField(
                        choices=[("terms", "our terms"), ("law", "law")], max_length=5, verbose_name="based on"
                    ),
                ),
                ("rule", models.CharField(blank=True, max_length=200, verbose_name="rule or law")),
                ("facts", models.TextField(blank=True, max_length=4000, verbose_name="facts")),
                ("made_at", models.DateTimeField(default=django.utils.timezone.now, verbose_name="time")),
                ("ends_at", models.DateTimeField(blank=True, null=True, verbose_name="end of the suspension")),
                ("reversed_at", models.DateTimeField(blank=True, null=True, verbose_name="reversed")),
                (
                    "key",
                    models.CharField(
                        default=social.moderation.models.new_key,
                        editable=False,
                        max_length=22,
                        unique=True,
                        verbose_name="key",
                    ),
                ),
                (
                    "case",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="decisions",
                        to="moderation.case",
                        verbose_name="case",
                    ),
                ),
                (
                    "staff",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                        verbose_name="decided by",
                    ),
                ),
            ],
            options={
                "verbose_name": "decision",
                "verbose_name_plural": "decisions",
            },
        ),
        migrations.CreateModel(
            name="Report",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(blank=True, max_length=100, verbose_name="name")),
                ("email", models.EmailField(blank=True, max_length=254, verbose_name="email address")),
                (
                    "reason",
                    models.CharField(
                        choices=[
                            ("spam", "Spam or advertising"),
                            ("harassment", "Insult or harassment"),
                            ("hate", "Hatred of a group of people"),
                            ("violence", "Threat or call for violence"),
                            ("impersonation", "Pretends to be somebody else"),
                            ("illegal", "Illegal content"),
                            ("child", "Sexual abuse of children"),
                            ("other", "Another violation of the terms"),
                        ],
                        max_length=13,
                        verbose_name="reason",
                    ),
                ),
                ("details", models.TextField(blank=True, max_length=4000, verbose_name="explanation")),
                ("copy", models.TextField(blank=True, verbose_name="reported text")),
                ("language", models.CharField(blank=True, max_length=10, verbose_name="language")),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, verbose_name="reported")),
                (
                    "key",
                    models.CharField(
                        default=social.moderation.models.new_key,
                        editable=False,
                        max_length=22,
                        unique=True,
                        verbose_name="key",
                    ),
                ),
                (
                    "case",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="reports",
                        to="moderation.case",
                        verbose_name="case",
                    ),
                ),
                (
                    "reporter",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                        verbose_name="reporter",
                    ),
                ),
            ],
            options={
                "verbose_name": "report",
                "verbose_name_plural": "reports",
            },
        ),
        migrations.CreateModel(
            name="Appeal",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("text", models.TextField(max_length=4000, verbose_name="text")),
                ("language", models.CharField(blank=True, max_length=10, verbose_name="language")),
                ("made_at", models.DateTimeField(default=django.utils.timezone.now, verbose_name="time")),
                (
                    "outcome",
                    models.CharField(
                        blank=True,
                        choices=[("granted", "granted"), ("rejected", "rejected")],
                        max_length=8,
                        verbose_name="result",
                    ),
                ),
                ("answer", models.TextField(blank=True, max_length=4000, verbose_name="answer")),
                ("decided_at", models.DateTimeField(blank=True, null=True, verbose_name="decided")),
                (
                    "staff",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                        verbose_name="decided by",
                    ),
                ),
                (
                    "decision",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="appeals",
                        to="moderation.decision",
                        verbose_name="decision",
                    ),
                ),
                (
                    "report",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="appeals",
                        to="moderation.report",
                        verbose_name="report",
                    ),
                ),
            ],
            options={
                "verbose_name": "appeal",
                "verbose_name_plural": "appeals",
            },
        ),
        migrations.AddIndex(
            model_name="case",
            index=models.Index(
                condition=models.Q(("closed_at", None)),
                fields=["-severity", "opened_at", "-id"],
                name="moderation_queue",
            ),
        ),
        migrations.AddIndex(
            model_name="case",
            index=models.Index(fields=["kind", "target", "-id"], name="moderation_of_target"),
        ),
        migrations.AddIndex(
            model_name="case",
            index=models.Index(fields=["author", "-id"], name="moderation_of_author"),
        ),
        migrations.AddIndex(
            model_name="case",
            index=models.Index(fields=["closed_at"], name="moderation_closed"),
        ),
        migrations.AddConstraint(
            model_name="case",
            constraint=models.UniqueConstraint(
                condition=models.Q(("closed_at", None)), fields=("kind", "target"), name="moderation_open_once"
            ),
        ),
        migrations.AddIndex(
            model_name="report",
            index=models.Index(fields=["reporter", "-id"], name="moderation_by_reporter"),
        ),
        migrations.AddConstraint(
            model_name="report",
            constraint=models.UniqueConstraint(
                condition=models.Q(("reporter__isnull", False)),
                fields=("case", "reporter"),
                name="moderation_report_once",
            ),
        ),
        migrations.AddIndex(
            model_name="appeal",
            index=models.Index(
                condition=models.Q(("decided_at", None)), fields=["made_at", "-id"], name="moderation_open_appeals"
            ),
        ),
        migrations.AddConstraint(
            model_name="appeal",
            constraint=models.UniqueConstraint(
                condition=models.Q(("report", None)), fields=("decision",), name="moderation_appeal_of_author_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="appeal",
            constraint=models.UniqueConstraint(fields=("decision", "report"), name="moderation_appeal_once"),
        ),
    ]
