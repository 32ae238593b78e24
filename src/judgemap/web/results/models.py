"""Fits of a study, their files, the judges that are left out of them, and the plan of a study."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Self

import msgspec
from django.conf import settings
from django.db import models
from django.db.models import F, Q, QuerySet, Value
from django.db.models.functions import Concat
from django.utils import timezone
from django.utils.translation import gettext as _

from judgemap.study.assess import findings
from judgemap.study.assess.verdict import Verdict
from judgemap.study.fit.record import FitRecord, NoteKind
from judgemap.study.fit.settings import FitSettings
from judgemap.web.judge.models import Judge
from judgemap.web.server.jobs import MOST_STARTS, SILENCE, Job, job_constraints, log_line
from judgemap.web.studies.models import Study, StudyVersion

UNEXPLAINED = "the worker stopped responding: pictures and briefing may be missing; make a new fit to get them all"

GOES_ON = "The worker stopped responding; the fit goes on where it was as soon as a worker is free."
KEPT = ~Q(position="") & Q(idle__lt=MOST_STARTS)


class FitRun(Job):
    """A fit that was asked for: its data and settings, who asked, how far it is, and its results."""

    NAME = "fit"
    LARGE = 10_000.0
    BEGINS = "Reading the answers."

    study = models.ForeignKey(Study, models.CASCADE, related_name="fits")
    number = models.PositiveIntegerField()
    version = models.ForeignKey(StudyVersion, models.PROTECT, related_name="+")
    """Its edges and its direction are the ones that the fit uses."""
    settings = models.JSONField(default=dict)
    """The options of `judgemap fit`: model, priors, draws, seed."""
    left_out = models.JSONField(default=list)
    """Names of the judges whose answers were left out."""
    only = models.JSONField(default=list)
    """Names of the only judges whose answers were used; empty for all."""
    note = models.CharField(max_length=200, blank=True)
    """Why it was asked for, in the researcher's words."""
    answers = models.PositiveIntegerField(default=0)
    """How many pairs had been answered when the fit read them."""
    read_at = models.DateTimeField(null=True)
    """The moment whose answers the fit uses."""
    withdrawn = models.PositiveIntegerField(default=0)
    """How many judges whose answers it used have withdrawn since."""
    data_sha256 = models.CharField(max_length=64, blank=True)
    info = models.JSONField(default=dict)
    """What fit.json says."""
    rows = models.JSONField(default=list)
    """The table of areas, one dict per row, in the order of the areas: what pages show without opening the files."""
    findings = models.JSONField(default=dict)
    """What was worked out after the fit, by name: judges, reliability, checks. Plain numbers, for pages."""
    explained_at = models.DateTimeField(null=True)
    """When findings, pictures and briefing were ready; the map is ready as soon as the fit is done."""

    verdict: Verdict | None = None
    warnings: Sequence[str] = ()
    """Whether it can be used, and what is wrong with its draws; set by `pages.add_verdicts`."""

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["study", "number"], name="fit_number_once"),
            *job_constraints("fit"),
        )
        indexes = (models.Index(fields=["study", "status"], name="fit_by_status"),)

    def __str__(self) -> str:
        return f"fit {self.number} of {self.study_id}"

    def effort(self) -> float:
        """Return the number of areas."""
        return float(self.study.areas.count() or 1)

    @cached_property
    def record(self) -> FitRecord:
        """What fit.json says, typed; for a finished fit."""
        return FitRecord.from_dict(self.info)

    @property
    def panel_titles(self) -> list[str]:
        """The unusual assumptions about judges and ties in its settings, a few words each."""
        return FitSettings.from_dict(self.settings).titles

    @property
    def label(self) -> str:
        """Its status for people: a fit whose chains do not agree is not done, and one that had to go did not fail."""
        if self.status == self.Status.DONE and self.warnings:
            return _("not settled")
        return _("removed") if self.is_removed else self.get_status_display().lower()

    @property
    def is_removed(self) -> bool:
        """Whether its results were there, and were removed because judges withdrew or the answers had to go."""
        return self.status == self.Status.FAILED and self.explained_at is not None

    @property
    def doubts_judges(self) -> bool:
        """Whether the fit assumes that judges are alike, but its data say that they are not."""
        return any(note.kind is NoteKind.JUDGES_DIFFER for note in self.record.notes)

    def work(self) -> Iterator[None]:
        """Make the fit; its explanation is left until no other job waits."""
        from judgemap.web.results.running import make_fit

        return make_fit(self)

    @property
    def goes_on(self) -> bool:
        """Whether the next worker can go on where a lost one was; not if the fit itself ends every worker."""
        return FitKept.objects.filter(KEPT, fit=self).exists()

    def show_if_lost(self) -> Self:
        """Show a silent fit as lost, unless it goes on."""
        return self if self.is_silent and self.goes_on else super().show_if_lost()

    @classmethod
    def mark_lost(cls) -> int:
        """Mark lost fits; those of which enough is kept go on; if only an explanation was lost, stop waiting for it."""
        from judgemap.web.results.forgetting import forget_withdrawn

        now = timezone.now()
        unexplained = cls.objects.filter(heard_at__lt=now - SILENCE, status=cls.Status.DONE, explained_at=None)
        for run in unexplained.defer("rows", "findings", "log"):
            forget_withdrawn(run)
        unexplained.update(explained_at=now, log=Concat(F("log"), Value(log_line(UNEXPLAINED))))
        silent = cls.objects.filter(heard_at__lt=now - SILENCE, status=cls.Status.RUNNING)
        for key in silent.filter(pk__in=FitKept.objects.filter(KEPT).values("fit")).values_list("pk", flat=True):
            log = Concat(F("log"), Value(log_line("the worker stopped responding; the next one goes on from here")))
            if silent.filter(pk=key).update(status=cls.Status.WAITING, started_at=None, said=GOES_ON, log=log):
                FitKept.objects.filter(fit=key).update(idle=F("idle") + 1)
        return super().mark_lost()


class FitFiles(models.Model):
    """The folder of a fit, zipped; in the database, so that every process on every machine has it."""

    fit = models.OneToOneField(FitRun, models.CASCADE, related_name="files")
    archive = models.BinaryField()
    briefing = models.TextField(blank=True)
    """One self-contained page for decision makers."""


class FitKept(models.Model):
    """What a fit under way needs to go on if its worker stops; see `resuming`. There is one as soon as it begins."""

    fit = models.OneToOneField(FitRun, models.CASCADE, related_name="kept")
    version = models.CharField(max_length=40)
    """The version of judgemap, whose draws another need not repeat."""
    data_sha256 = models.CharField(max_length=64, blank=True)
    position = models.CharField(max_length=16, blank=True)
    """The pieces that say where the chains are; empty as long as nothing is kept."""
    draws = models.JSONField(default=list)
    """The pieces with the draws, in order."""
    idle = models.PositiveIntegerField(default=0)
    """How many workers were lost since anything was kept."""


class FitPiece(models.Model):
    """Some bytes of what is kept of a fit under way."""

    fit = models.ForeignKey(FitRun, models.CASCADE, related_name="pieces")
    of = models.CharField(max_length=16)
    number = models.PositiveIntegerField()
    content = models.BinaryField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=["fit", "of", "number"], name="fit_piece_once"),)


class FitPicture(models.Model):
    """A picture of a fit, drawn once by the worker, so that pages draw nothing themselves."""

    fit = models.ForeignKey(FitRun, models.CASCADE, related_name="pictures")
    name = models.SlugField(max_length=60)
    svg = models.TextField()
    alt = models.TextField()
    caption = models.TextField(blank=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["fit", "name"], name="fit_picture_once"),)


class FitView(models.Model):
    """The map of a fit in which judges differ, as the panel or one judge sees it; the population's is the fit's own."""

    fit = models.ForeignKey(FitRun, models.CASCADE, related_name="views")
    judge = models.CharField(max_length=10, blank=True)
    """The random name of the judge whose map it is; empty for the panel's."""
    rows = models.JSONField(default=list)
    """The table of areas, in the format of `FitRun.rows`."""
    findings = models.JSONField(default=dict)
    """The findings that differ from the fit's own: ``top``, ``density`` and ``risk_edges``."""

    class Meta:
        constraints = (models.UniqueConstraint(fields=["fit", "judge"], name="fit_view_once"),)


class FitArea(models.Model):
    """What a fit of a large map stores about one area, in its own row, so that a page about one area reads no other."""

    fit = models.ForeignKey(FitRun, models.CASCADE, related_name="areas")
    position = models.PositiveIntegerField()
    met = models.JSONField(default=list)
    """The areas that it was compared with, as `findings.Met` reads them."""

    class Meta:
        constraints = (models.UniqueConstraint(fields=["fit", "position"], name="fit_area_once"),)


class Exclusion(models.Model):
    """A judge who is left out of fits, and why. Including them again deletes the row; the audit log keeps both acts."""

    judge = models.OneToOneField(Judge, models.CASCADE, related_name="exclusion")
    reason = models.CharField(max_length=200)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    at = models.DateTimeField(auto_now_add=True)


class Beside(Job):
    """A fit held against its study's figures, worked out in the background. One per fit."""

    NAME = "comparison with figures"
    AGAIN = "Ask again."

    fit = models.OneToOneField(FitRun, models.CASCADE, related_name="beside")
    result = models.JSONField(default=dict)
    """`study.assess.beside.Beside`, ready for JSON."""
    section = models.TextField(blank=True)
    """What a briefing shows of it, as HTML."""

    class Meta:
        constraints = job_constraints("beside")

    def __str__(self) -> str:
        return f"figures beside fit {self.fit_id}"

    @property
    def told(self) -> findings.Beside | None:
        """What the fit says beside its figures; None if that is not worked out."""
        return msgspec.convert(self.result, findings.Beside) if self.status == self.Status.DONE else None

    def work(self) -> None:
        """Hold the fit against the figures."""
        from judgemap.web.results.beside import work_out

        work_out(self)


class ReadingLink(models.Model):
    """A link with which anybody can read a fit's results, without an account; see `reading`."""

    fit = models.ForeignKey(FitRun, models.CASCADE, related_name="reading_links")
    token_hash = models.CharField(max_length=64, unique=True)
    name = models.CharField(max_length=60)
    """Whom it is for, in the researcher's words."""
    shows = models.JSONField(default=list)
    """map, table, briefing."""
    password = models.CharField(max_length=200, blank=True)
    """As Django hashes passwords; empty for none."""
    until = models.DateField(null=True)
    """The last day on which it works."""
    embeds = models.BooleanField(default=False)
    """Whether other sites may show it in a frame."""
    created_at = models.DateTimeField(auto_now_add=True)
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        constraints = (
            models.CheckConstraint(condition=Q(embeds=False) | Q(password=""), name="reading_link_frame_is_open"),
        )


def excluded_from(study: Study) -> list[str]:
    """Return the names of the judges who are left out of a study's fits, in order."""
    return sorted(Exclusion.objects.filter(judge__study=study).values_list("judge_id", flat=True))


def reasons_to_leave_out(study: Study, **_: object) -> dict[str, str]:
    """Return why judges are left out of a study's fits, by their names."""
    return dict(Exclusion.objects.filter(judge__study=study).values_list("judge_id", "reason"))


def whole_fits(study: Study) -> QuerySet[FitRun]:
    """Return the fits of all judges, or of all but those left out of the study, without their large fields."""
    without = Q(left_out=[]) | Q(left_out=excluded_from(study))
    runs = FitRun.objects.filter(without, study=study, only=[])
    return runs.defer("rows", "findings", "log").order_by("-number")


def latest_fit(study: Study) -> FitRun | None:
    """Return the last fit of all judges that was explained."""
    return whole_fits(study).filter(status=FitRun.Status.DONE, explained_at__isnull=False).first()


class AutoFit(models.Model):
    """A study that is fitted automatically, every ``every`` answers."""

    study = models.OneToOneField(Study, models.CASCADE, related_name="auto_fit")
    every = models.PositiveIntegerField()
    """How many new answers it takes to start a new fit."""
    settings = models.JSONField(default=dict)

    class Meta:
        constraints = (models.CheckConstraint(condition=Q(every__gte=10), name="auto_fit_not_too_often"),)


class Plan(Job):
    """What more judges and more answers would bring, worked out in the background. One per study."""

    NAME = "plan"
    AGAIN = "Ask again."

    study = models.OneToOneField(Study, models.CASCADE, related_name="plan")
    fit = models.ForeignKey(FitRun, models.SET_NULL, null=True, related_name="+")
    """The fit that says how far areas differ and, if its model has that, judges too; None for a guess at both."""
    judges = models.PositiveIntegerField()
    per_judge = models.PositiveIntegerField()
    """The study in the middle of the grid."""
    differ = models.FloatField(null=True)
    """A guess at σ/α; None if the fit gives it."""
    seed = models.PositiveBigIntegerField()
    result = models.JSONField(default=dict)
    """`planning.Planned`, ready for JSON."""

    class Meta:
        constraints = job_constraints("plan")

    def __str__(self) -> str:
        return f"plan of {self.study_id}"

    def work(self) -> None:
        """Work out what `planning.Planned` says."""
        from judgemap.web.results.planning import work_out

        self.result = msgspec.to_builtins(work_out(self))
        self.finish("result")
