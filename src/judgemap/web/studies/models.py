"""Studies: versions, areas and edges. What must never be false is enforced by database constraints."""

import math
from base64 import b64encode
from typing import ClassVar

import msgspec
from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Length
from django.utils import timezone
from django.utils.translation import gettext as _

from judgemap.study.data.definition import LONGEST, OwnWords
from judgemap.web.server.database import Trigger, keep_trigger
from judgemap.web.server.forms import render_markdown
from judgemap.web.server.jobs import Job, job_constraints
from judgemap.web.studies.upload.records import Chosen, Inspection

SECONDS_A_PAIR = 10
"""How long we say that a pair takes, including reading and looking at the map."""
MUST_BE_TRANSLATED = ("question", "instructions", "consent")
"""Essential texts: nobody should agree to a text, or answer a question, in a language they cannot read."""


class Study(models.Model):
    """A question about the areas of a map. Its texts and settings are in its versions; once open, its areas stay."""

    class Status(models.TextChoices):
        """Where a study is in its life."""

        DRAFT = "draft"
        OPEN = "open"
        PAUSED = "paused"
        CLOSED = "closed"

    slug = models.SlugField(max_length=60, unique=True)
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.DRAFT)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="studies")
    colleagues = models.ManyToManyField(settings.AUTH_USER_MODEL, related_name="shared_studies", blank=True)
    readers = models.ManyToManyField(settings.AUTH_USER_MODEL, related_name="readable_studies", blank=True)
    """Colleagues who may look at everything and change nothing."""
    current = models.ForeignKey("StudyVersion", models.PROTECT, null=True, related_name="+")
    join_code = models.CharField(max_length=22, unique=True, null=True)
    """The open link, which is meant to be passed on; None if judges use personal links."""
    outline = models.TextField(blank=True)
    """The whole map for the locator, as JSON that `display.draw_areas` writes; empty if there is no map."""
    asks_places = models.BooleanField(default=False)
    """Whether judges say which part of the map they know before the first pair, and are asked only about that."""
    created_at = models.DateTimeField(auto_now_add=True)
    opened_at = models.DateTimeField(null=True)
    closed_at = models.DateTimeField(null=True)
    answers_until = models.DateField(null=True)
    """The last day on which judges' answers are kept, in UTC; judges read it before they agree. None for no end."""
    answers_removed_at = models.DateTimeField(null=True)
    """When all answers were removed because that day was over; the log has the certificate."""
    base_map = models.ForeignKey("BaseMap", models.SET_NULL, null=True, related_name="+")
    """The streets and places that are drawn under the judges' maps; None for none."""
    deleted_at = models.DateTimeField(null=True)
    """When somebody deleted the study. It can be brought back until `removal.GRACE` is over, and is then removed."""

    class Meta:
        constraints = (
            models.CheckConstraint(condition=Q(status__in=["draft", "open", "paused", "closed"]), name="study_status"),
        )

    def __str__(self) -> str:
        return self.slug

    @property
    def status_word(self) -> str:
        """The status in the reader's language."""
        return {"draft": _("draft"), "open": _("open"), "paused": _("paused"), "closed": _("closed")}[self.status]

    @property
    def version(self) -> "StudyVersion":
        """The version in force."""
        if self.current is None:
            raise ValueError(f"study {self.slug} has no version")
        return self.current


class StudyVersion(models.Model):
    """A study's texts and settings, from one edit to the next. A version never changes once it is made."""

    class Direction(models.TextChoices):
        """The area that a judge chooses has the lower or the higher rate."""

        LOWER = "lower"
        HIGHER = "higher"

    study = models.ForeignKey(Study, models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    created_at = models.DateTimeField(auto_now_add=True)
    author = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    title = models.CharField(max_length=LONGEST["title"])
    question = models.CharField(max_length=LONGEST["question"])
    direction = models.CharField(max_length=6, choices=Direction.choices)
    example = models.TextField(blank=True)
    consent = models.TextField()
    consent_digest = models.CharField(max_length=64)
    """A hash of the consent text in every language, which shows whether the text has changed."""
    instructions = models.TextField(blank=True)
    thanks = models.TextField(blank=True)
    design = models.CharField(max_length=20)
    packed_design = models.BinaryField(null=True)
    """The design, if making it takes long."""
    recommended = models.PositiveIntegerField()
    maximum = models.PositiveIntegerField()
    ties = models.BooleanField()
    skips = models.BooleanField()
    repeats = models.FloatField(default=0.0)
    """The share of pairs that a judge has answered before, shown again with sides swapped."""
    practice = models.PositiveSmallIntegerField(default=2)
    languages = models.JSONField(default=list)
    """Language codes, the study's own language first."""
    translations = models.JSONField(default=dict)
    """Texts in the other languages: {"fr": {"question": …}}."""
    base_map = models.CharField(max_length=LONGEST["base_map"], blank=True)
    """The address of map tiles, with {z}, {x} and {y}; empty for none, so that nobody else learns who is looking."""
    base_map_credit = models.CharField(max_length=LONGEST["base_map_credit"], blank=True)
    source = models.JSONField(default=dict)
    """Where the areas came from: file, columns, reference system, contiguity."""

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["study", "number"], name="version_number_once"),
            models.CheckConstraint(condition=Q(direction__in=["lower", "higher"]), name="version_direction"),
            models.CheckConstraint(
                condition=Q(recommended__gte=1) & Q(maximum__gte=F("recommended")),
                name="version_recommended_to_maximum",
            ),
            models.CheckConstraint(condition=Q(repeats__gte=0) & Q(repeats__lt=0.5), name="version_repeats_are_few"),
        )

    @property
    def minutes(self) -> int:
        """How long we tell judges that it takes."""
        return math.ceil(self.recommended * SECONDS_A_PAIR / 60)

    @property
    def offered(self) -> list[str]:
        """The languages that judges can choose: the study's own, and those with all essential texts translated."""
        return [*self.languages[:1], *(each for each in self.languages[1:] if not self.untranslated(each))]

    def untranslated(self, language: str) -> list[str]:
        """Name the essential texts that are not yet translated into a language."""
        translated: dict[str, str] = self.translations.get(language, {})
        return [field for field in MUST_BE_TRANSLATED if getattr(self, field) and not translated.get(field)]

    def text(self, field: str, language: str) -> str:
        """Return a text in a language, or in the study's own if it is not translated."""
        translated: dict[str, str] = self.translations.get(language, {})
        return str(translated.get(field) or getattr(self, field))


class Area(models.Model):
    """An area of a study, with what the pages draw it from."""

    study = models.ForeignKey(Study, models.CASCADE, related_name="areas")
    position = models.PositiveIntegerField()
    """Its place in the order of the areas, from 0: the index that designs and fits use."""
    code = models.CharField(max_length=200)
    name = models.CharField(max_length=200)
    region = models.CharField(max_length=200, blank=True, default="")
    """The larger place that it belongs to, such as its town; empty if that is not known."""
    label_x = models.FloatField(null=True)
    label_y = models.FloatField(null=True)
    """A point well inside the area, in the units of ``rings``: where labels stand; None if there is no map."""
    # What is short comes first: to read what stands behind an outline, SQLite has to go through it.
    outline = models.TextField(blank=True)
    """The geometry as it was uploaded, GeoJSON in longitude and latitude."""
    scene = models.TextField(blank=True)
    """The area among its neighbours, as JSON that `display.draw_areas` writes."""
    rings = models.TextField(blank=True)
    """The area on the map of all areas, simplified: rings of whole numbers x, y, x, y, …, as JSON."""

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["study", "position"], name="area_position_once"),
            models.UniqueConstraint(fields=["study", "code"], name="area_code_once"),
        )

    def __str__(self) -> str:
        return self.name


class StudyFigures(models.Model):
    """Figures of a study's areas from elsewhere, such as deprivation or their district; see `geo.figures`."""

    study = models.OneToOneField(Study, models.CASCADE, related_name="figures")
    cells = models.JSONField(default=dict)
    """The columns by name, each with a text for every area, by position."""
    notes = models.JSONField(default=list)
    """What did not match when they were uploaded."""
    weighted_by = models.CharField(max_length=100, default="equal")
    """How areas count in their group: equal, area, or a column."""
    in_briefing = models.JSONField(default=list)
    """The columns that the study's briefings show."""
    rates = models.JSONField(default=dict)
    """The columns with counts from which rates are made, as `study.assess.rates.RateOptions`; empty for none."""


class Imprint(models.Model):
    """Who runs a study, as its judges and the readers of its briefings see it, and what the briefings say."""

    study = models.OneToOneField(Study, models.CASCADE, related_name="imprint")
    author = models.CharField(max_length=200, blank=True)
    next_steps = models.TextField(blank=True, max_length=1500)
    """What to do next, in the researcher's own words; without it, there is no briefing."""
    organisation = models.CharField(max_length=200, blank=True)
    contact = models.CharField(max_length=200, blank=True)
    privacy = models.TextField(blank=True, max_length=10_000)
    """How personal data are used, in Markdown."""
    logo = models.BinaryField(default=b"")
    """A PNG that we have drawn again from what was uploaded; empty for none."""

    @property
    def privacy_html(self) -> str:
        """The privacy text as safe HTML."""
        return render_markdown(self.privacy)

    @property
    def logo_address(self) -> str:
        """The logo as an address that needs no other file; empty for none."""
        return f"data:image/png;base64,{b64encode(self.logo).decode()}" if self.logo else ""

    @property
    def words(self) -> OwnWords:
        """What the study's briefings say in its researcher's own words."""
        return OwnWords(self.author, self.contact, self.next_steps, self.organisation)


def imprint_of(study: Study) -> Imprint:
    """Return a study's imprint, which may still be empty."""
    return Imprint.objects.filter(study=study).first() or Imprint(study=study)


class Drawing(models.Model):
    """All areas of a study on one map, drawn once: pages only copy it."""

    study = models.OneToOneField(Study, models.CASCADE, related_name="drawing")
    paths = models.TextField()
    """SVG elements, one for each area, as `making.draw_paths` writes them; of a large map, a line with each path."""


class Tile(models.Model):
    """A square of a large map with the outlines of the areas in it, drawn once; see `tiles`."""

    study = models.ForeignKey(Study, models.CASCADE, related_name="tiles")
    level = models.PositiveSmallIntegerField()
    x = models.PositiveSmallIntegerField()
    y = models.PositiveSmallIntegerField()
    content = models.BinaryField()
    """JSON, compressed by gzip."""

    class Meta:
        constraints = (models.UniqueConstraint(fields=["study", "level", "x", "y"], name="tile_once"),)


class Edge(models.Model):
    """Two areas that are neighbours, from the version in which this was added to the one in which it was removed."""

    class Origin(models.TextChoices):
        """Why they are neighbours."""

        BORDER = "border"
        BRIDGE = "bridge"
        ADDED = "added"

    study = models.ForeignKey(Study, models.CASCADE, related_name="edges")
    a = models.ForeignKey(Area, models.CASCADE, related_name="+")
    b = models.ForeignKey(Area, models.CASCADE, related_name="+")
    origin = models.CharField(max_length=6, choices=Origin.choices)
    added_in = models.PositiveIntegerField(default=1)
    removed_in = models.PositiveIntegerField(null=True)

    class Meta:
        constraints = (
            models.CheckConstraint(condition=Q(a__lt=F("b")), name="edge_in_order"),
            models.UniqueConstraint(fields=["a", "b"], condition=Q(removed_in=None), name="edge_once"),
            models.CheckConstraint(
                condition=Q(removed_in=None) | Q(removed_in__gt=F("added_in")), name="edge_added_before_removed"
            ),
        )


class Act(models.Model):
    """The audit log: what a researcher did to a study, and when. Rows are only ever added."""

    study = models.ForeignKey(Study, models.SET_NULL, null=True, related_name="acts")
    researcher = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="acts")
    """None for the command line."""
    verb = models.CharField(max_length=40)
    detail = models.JSONField(default=dict)
    at = models.DateTimeField(default=timezone.now)
    number = models.PositiveBigIntegerField(null=True, unique=True)
    """Its place in the log, from 1; None is for acts that `log.record` did not write, and `verify_log` says so."""
    digest = models.CharField(max_length=64, blank=True)
    """A hash of the act and of the digest before it."""
    study_key = models.BigIntegerField(null=True)
    researcher_key = models.BigIntegerField(null=True)
    """What ``study`` and ``researcher`` were when the act was written."""

    class Meta:
        indexes = (models.Index(fields=["study", "at"], name="act_by_study"),)


class LogHead(models.Model):
    """The end of the audit log, in one row, which whoever adds an act locks."""

    ONLY: ClassVar = 1
    number = models.PositiveBigIntegerField(default=0)
    digest = models.CharField(max_length=64, blank=True)

    def __str__(self) -> str:
        return f"{self.number}-{self.digest}"


_FIXED = ("verb", "at", "number", "digest", "study_key", "researcher_key")
# An act in the audit log is never changed, except that it loses its study or its researcher when they go.
keep_trigger(Trigger(
    "act_append_only",
    Act,
    "UPDATE",
    when=" OR ".join([
        *(f"OLD.{name} IS DISTINCT FROM NEW.{name}" for name in _FIXED),
        "CAST(OLD.detail AS text) IS DISTINCT FROM CAST(NEW.detail AS text)",
        *(f"(NEW.{key} IS NOT NULL AND OLD.{key} IS DISTINCT FROM NEW.{key})" for key in ("study_id", "researcher_id")),
    ]),
    refuse="acts are only ever added",
))  # fmt: skip


class Upload(models.Model):
    """A boundary file from which studies are made, kept for two days so that researchers can go back to it."""

    researcher = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="uploads")
    name = models.CharField(max_length=100)
    content = models.BinaryField()
    definition = models.TextField(blank=True)
    """The text of a study.toml that came with it."""
    inspection = models.JSONField()
    """An `Inspection`; ``found`` reads it."""
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.name

    @property
    def found(self) -> Inspection:
        """What is in the file."""
        return msgspec.convert(self.inspection, Inspection)


BYTES_OF_AN_AREA = 5_000
"""About how long an area is in a file of boundaries."""


class Draft(Job):
    """A request for a study, which a worker makes from an upload or as a copy of another study."""

    NAME = "draft"
    LANE = "drafts"
    BEGINS = "Reading the map."
    AGAIN = "Go back and try again."

    upload = models.ForeignKey(Upload, models.CASCADE, null=True, related_name="drafts")
    copy_of = models.ForeignKey(Study, models.CASCADE, null=True, related_name="copies")
    chosen = models.JSONField(default=dict)
    """A `Chosen`; ``choice`` reads it."""
    replaces = models.ForeignKey(Study, models.SET_NULL, null=True, related_name="+")
    """An earlier draft of the same upload, whose place the new one takes with all that people made in it."""
    study = models.ForeignKey(Study, models.SET_NULL, null=True, related_name="made_by")
    """The study that was made."""

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=["upload"], condition=Q(status__in=["waiting", "running"]), name="draft_one_under_way"
            ),
            models.UniqueConstraint(
                fields=["copy_of"], condition=Q(status__in=["waiting", "running"]), name="copy_one_under_way"
            ),
            *job_constraints("draft"),
        )

    def __str__(self) -> str:
        return f"draft {self.pk}"

    @property
    def choice(self) -> Chosen:
        """What was filled in about the upload."""
        return msgspec.convert(self.chosen, Chosen)

    def effort(self) -> float:
        """Return the bytes of the map, or of as large a map as the copied study has."""
        if self.copy_of is not None:
            return float(BYTES_OF_AN_AREA * self.copy_of.areas.count())
        length = Upload.objects.filter(drafts=self).values_list(Length("content"), flat=True).first()
        return float(length or 1)

    def work(self) -> None:
        """Make the study."""
        from judgemap.web.studies.upload.drafts import make_draft

        make_draft(self)


class Extract(models.Model):
    """A file of streets and places that is being uploaded, part by part, and kept until a base map is made from it."""

    study = models.ForeignKey(Study, models.CASCADE, related_name="extracts")
    name = models.CharField(max_length=100)
    size = models.PositiveBigIntegerField()
    """The size of the whole file, in bytes."""
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.name


class ExtractPart(models.Model):
    """One part of an extract: short enough to be sent, and written, in one turn."""

    extract = models.ForeignKey(Extract, models.CASCADE, related_name="parts")
    number = models.PositiveIntegerField()
    content = models.BinaryField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=["extract", "number"], name="extract_part_once"),)


class BaseMap(Job):
    """Streets and places around the areas of a study, cut into tiles by a worker."""

    NAME = "base map"
    LANE = "drafts"
    BEGINS = "Reading the extract."
    AGAIN = "Upload the extract again."

    study = models.ForeignKey(Study, models.CASCADE, related_name="base_maps")
    extract = models.ForeignKey(Extract, models.SET_NULL, null=True, related_name="base_maps")
    file = models.CharField(max_length=100)
    credit = models.CharField(max_length=200)
    """Map credit, written wherever it is drawn."""
    size = models.PositiveBigIntegerField(default=0)
    """Bytes of all its tiles."""
    in_results = models.BooleanField(default=False)
    """Whether the results map, the dashboard and the briefing show it too."""

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=["study"], condition=Q(status__in=["waiting", "running"]), name="base_map_one_under_way"
            ),
            *job_constraints("base_map"),
        )

    def __str__(self) -> str:
        return f"base map {self.pk}"

    def effort(self) -> float:
        """Return the bytes of the extract."""
        return float(self.extract.size if self.extract is not None else 1)

    def work(self) -> None:
        """Read the extract and cut the tiles."""
        from judgemap.web.studies.basemap.making import make_base_map

        make_base_map(self)


class BaseMapTile(models.Model):
    """A tile of a base map, as `judgemap.geo.basemap.tiles` packs it."""

    base_map = models.ForeignKey(BaseMap, models.CASCADE, related_name="tiles")
    level = models.PositiveSmallIntegerField()
    column = models.PositiveIntegerField()
    row = models.PositiveIntegerField()
    content = models.BinaryField()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["base_map", "level", "column", "row"], name="base_map_tile_once"),
        )
