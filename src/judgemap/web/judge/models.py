"""Judges, the pairs they were shown, and their answers. Database constraints enforce what must never be false."""

from datetime import timedelta

from django.db import models
from django.db.models import F, Q
from django.dispatch import Signal

from judgemap.web.server.database import Trigger, keep_trigger
from judgemap.web.server.tokens import make_name, make_token
from judgemap.web.studies.models import Area, Study, StudyVersion

OUTCOMES = ("left", "right", "tie", "skipped", "unknown")
COMMITTED_AFTER = timedelta(seconds=5)
"""How old an answer is when every answer with a lower key has been committed too.

PostgreSQL hands out keys before the answers that use them are committed, perhaps in another order.
"""
judge_withdraws = Signal()
"""Sent with ``judge`` in the withdrawal's transaction, before the answers are removed, so that fits can drop them."""

asks_who_is_left_out = Signal()
"""The export sends it with ``study``; a receiver returns a dict of judges' names and why fits leave them out."""

answers_go = Signal()
"""Sent with ``study`` and the names of its ``judges`` before all its answers are removed, in the same transaction.

A receiver may return what it changed, in words and counts for the certificate."""


class JudgeGroup(models.Model):
    """Judges who joined by the same link: a profession or an organisation, never a person."""

    study = models.ForeignKey(Study, models.CASCADE, related_name="judge_groups")
    name = models.CharField(max_length=60)
    quota = models.PositiveIntegerField(null=True)
    """How many judges it takes at most; None for no limit."""
    join_code = models.CharField(max_length=22, unique=True, default=make_token)
    """The group's open link, which works while the study has one."""

    class Meta:
        constraints = (models.UniqueConstraint(fields=["study", "name"], name="judge_group_once"),)

    def __str__(self) -> str:
        return self.name


class Judge(models.Model):
    """Somebody who answers, known by a random name. Only hashes of the link and the withdrawal code are stored."""

    name = models.CharField(max_length=10, primary_key=True, default=make_name)
    study: "models.ForeignKey[Study | None, Study]" = models.ForeignKey(  # type: ignore[misc]
        Study, models.CASCADE, null=True, related_name="judges"
    )
    """None in the database for a preview, so that no count of a study's judges or answers can have it."""
    preview_of = models.ForeignKey(Study, models.CASCADE, null=True, related_name="previews")
    """The study that a researcher tries as this judge; None for a judge."""
    group = models.ForeignKey(JudgeGroup, models.SET_NULL, null=True, related_name="judges")
    token_hash = models.CharField(max_length=64, unique=True)
    withdrawal_hash = models.CharField(max_length=64, unique=True)
    language = models.CharField(max_length=10, blank=True)
    practice_left = models.PositiveSmallIntegerField(default=0)
    judged = models.PositiveIntegerField(default=0)
    """How many pairs the judge judged, not counting those with an area they do not know."""
    maximum = models.PositiveIntegerField()
    """The most that may be judged, from the version in force when the last pair was drawn."""
    went_on = models.BooleanField(default=False)
    """Whether the judge chose to go on after the recommended number."""
    busy_until = models.DateTimeField(null=True)
    """When a judge at the permitted pace would have finished the answers given so far."""
    places = models.JSONField(default=list)
    """The places that the judge of a large map knows, in the format of `places`; empty before the judge is asked."""
    created_at = models.DateTimeField(auto_now_add=True)
    withdrawn_at = models.DateTimeField(null=True)

    class Meta:
        constraints = (
            models.CheckConstraint(condition=Q(judged__lte=F("maximum")), name="judge_up_to_maximum"),
            models.CheckConstraint(
                condition=Q(study__isnull=False, preview_of__isnull=True)
                | Q(study__isnull=True, preview_of__isnull=False),
                name="judge_or_preview",
            ),
        )

    consented = False
    """Whether the judge agreed to the current consent text, as `answering.find_judge` found."""

    def __str__(self) -> str:
        return self.name

    @property
    def is_preview(self) -> bool:
        """Whether this is a researcher who tries the study."""
        return self.preview_of_id is not None


class PopulationMap(models.Model):
    """What the last fit with judges who differ says about their population; the adaptive design draws pairs from it."""

    study = models.OneToOneField(Study, models.CASCADE, related_name="population_map")
    fit_number = models.PositiveIntegerField()
    packed = models.BinaryField()
    """The arrays of `core.design.adaptive.Known`; see `pairs.pack_population`."""


class Consent(models.Model):
    """A judge's agreement to a version's consent text. If the text changes, the judge is asked again."""

    judge = models.ForeignKey(Judge, models.CASCADE, related_name="consents")
    version = models.ForeignKey(StudyVersion, models.PROTECT, related_name="+")
    language = models.CharField(max_length=10)
    text_digest = models.CharField(max_length=64)
    given_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["judge", "text_digest"], name="consent_once"),)


class UnknownArea(models.Model):
    """An area that a judge does not know, and so is not asked about."""

    judge = models.ForeignKey(Judge, models.CASCADE, related_name="unknown")
    area = models.ForeignKey(Area, models.CASCADE, related_name="+")
    marked_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["judge", "area"], name="unknown_area_once"),)


class Pair(models.Model):
    """Two areas shown to a judge, and how they were drawn. The row is stored before the pair is shown."""

    judge = models.ForeignKey(Judge, models.CASCADE, related_name="pairs")
    version = models.ForeignKey(StudyVersion, models.PROTECT, related_name="+")
    token = models.CharField(max_length=22, unique=True)
    """An answer names the pair by it. It is worth nothing without the judge's link."""
    left = models.ForeignKey(Area, models.PROTECT, related_name="+")
    right = models.ForeignKey(Area, models.PROTECT, related_name="+")
    position = models.PositiveIntegerField()
    """1 for the first pair that this judge was shown, and so on; practice pairs are numbered separately."""
    practice = models.BooleanField(default=False)
    design = models.CharField(max_length=20)
    probability = models.FloatField()
    """The probability with which the design drew these two areas, on either side, for this judge."""
    issued_at = models.DateTimeField()
    open = models.BooleanField(default=True)
    """Shown and not answered."""

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["judge"], condition=Q(open=True), name="pair_one_open"),
            models.UniqueConstraint(fields=["judge", "practice", "position"], name="pair_position_once"),
            models.CheckConstraint(condition=~Q(left=F("right")), name="pair_two_areas"),
            models.CheckConstraint(condition=Q(probability__gt=0) & Q(probability__lte=1), name="pair_probability"),
            models.CheckConstraint(condition=Q(position__gte=1), name="pair_position_from_one"),
        )


class Answer(models.Model):
    """What a judge said about a pair: revision 1, and higher ones if it was changed. Rows are only ever added."""

    pair = models.ForeignKey(Pair, models.CASCADE, related_name="answers")
    revision = models.PositiveSmallIntegerField()
    outcome = models.CharField(max_length=8, choices=[(each, each) for each in OUTCOMES])
    unknown_side = models.CharField(max_length=5, blank=True, choices=[("left", "left"), ("right", "right")])
    """Which of the two areas the judge does not know, if the outcome is unknown."""
    reason = models.CharField(max_length=200, blank=True)
    answered_at = models.DateTimeField()
    seen_ms = models.PositiveIntegerField(null=True)
    """How long the pair was in view, by the browser's clock, at most since it was shown; None without a script."""

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["pair", "revision"], name="answer_revision_once"),
            models.CheckConstraint(condition=Q(outcome__in=OUTCOMES), name="answer_outcome"),
            models.CheckConstraint(condition=Q(revision__gte=1), name="answer_revision_from_one"),
            models.CheckConstraint(
                condition=(Q(outcome="unknown") & Q(unknown_side__in=["left", "right"]))
                | (~Q(outcome="unknown") & Q(unknown_side="")),
                name="answer_side_where_unknown",
            ),
        )


keep_trigger(Trigger("answer_append_only", Answer, "UPDATE", refuse="answers are only ever added"))
