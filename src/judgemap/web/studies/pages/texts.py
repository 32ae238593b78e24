"""The pages on which researchers edit what judges read and how they are asked."""

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.forms.models import model_to_dict
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import translation
from django.utils.html import format_html
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from judgemap.errors import StudyError
from judgemap.study.data.definition import LONGEST, MOST_REPEATS, TEXTS, StudyDefinition
from judgemap.web.server.forms import StudyForm, render_markdown, sentence
from judgemap.web.studies import editing
from judgemap.web.studies.access import researcher_of, researcher_page, study_page
from judgemap.web.studies.areas import recommended_design
from judgemap.web.studies.editing import MOST, change_study
from judgemap.web.studies.models import MUST_BE_TRANSLATED, Study, StudyVersion, imprint_of
from judgemap.web.studies.upload.pages import DIRECTIONS, EndOfAnswersField

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


DESIGNS = {
    "adaptive": _(
        "Adaptive: works out from the answers so far which pair would tell us most. Needed 17 % fewer answers than "
        "uniform for the same precision"
    ),
    "optimal": _(
        "Optimal for the map: the pairs that tell us most before anyone has answered. Needed 4 % fewer answers than "
        "uniform"
    ),
    "uniform": _("Uniform: every pair is equally likely"),
    "principal": _(
        "Spatial: areas that are likely to differ, because they are far apart, come up more often. Needed 5 % more "
        "answers than uniform"
    ),
    "naive": _("Nearly uniform: neighbours come up a little less often. No measurable gain over uniform"),
}


"""What each design does, and the gain measured on the 76 wards of Nottinghamshire: docs/planning.md has the command."""


ACCESS = (
    ("personal", _("By personal link, one for each judge: you know how many judges there are")),
    ("open", _("By a single open link: anyone who has it can join")),
)


class VersionForm(StudyForm):
    """A form that changes a study, and knows which version it was filled in for."""

    based_on = forms.IntegerField(widget=forms.HiddenInput, required=False)

    def __init__(self, version: StudyVersion, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - Django's
        super().__init__(*args, **kwargs)
        self.version = version

    def clean_based_on(self) -> int:
        """Notice a colleague's edit since the form was shown."""
        based_on: int | None = self.cleaned_data["based_on"]
        if based_on is not None and based_on != self.version.number:
            self.add_error(
                None, gettext("Someone else has changed this study. Reload the page and make your change again.")
            )
        return based_on or 0

    def changed(self, study: StudyDefinition) -> StudyDefinition:
        """Return the study's definition with what was filled in."""
        known = {each.name for each in fields(StudyDefinition)}
        return replace(study, **{key: value for key, value in self.cleaned_data.items() if key in known})


def text_field(rows: int, help_text: "StrOrPromise", *, required: bool = False) -> forms.CharField:
    """Make a field for a text in Markdown."""
    area = forms.Textarea({"rows": rows, "data-markdown": ""})
    return forms.CharField(required=required, max_length=LONGEST["consent"], widget=area, help_text=help_text)


class TextsForm(VersionForm):
    """What judges read."""

    title = forms.CharField(max_length=LONGEST["title"], help_text=_("At the top of every page."))
    question = forms.CharField(
        max_length=LONGEST["question"], help_text=_("Always on screen. Say which direction you mean.")
    )
    direction = forms.ChoiceField(label=_("Judges choose"), choices=DIRECTIONS, widget=forms.RadioSelect)
    example = text_field(
        3,
        _(
            "An example under the question, so nobody gets the direction wrong. You can use **bold**, lists with "
            "- and [links](https://…)."
        ),
    )
    instructions = text_field(5, _("How to decide, what counts and what does not."))
    consent = text_field(
        7,
        _(
            "What judges agree to before they begin. If you change it, judges who agreed to the old text are asked "
            "again. Say who runs the study and whom to contact."
        ),
        required=True,
    )
    thanks = text_field(3, _("Shown at the end."))


class TranslationForm(TextsForm):
    """The texts in another language, each beside its source; a text left empty is shown in the study's own language."""

    direction = None  # type: ignore[assignment]  # a field that only the study's own language has

    def __init__(self, version: StudyVersion, language: str, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401
        super().__init__(version, *args, **kwargs)
        self.language = language
        for name in TEXTS:
            needed = gettext("Needed before judges can choose this language.") if name in MUST_BE_TRANSLATED else ""
            self.fields[name].required, self.fields[name].help_text = False, needed

    @property
    def beside(self) -> list[tuple[forms.BoundField, str]]:
        """The fields that have a text to translate, each with that text."""
        sources = {name: getattr(self.version, name) for name in TEXTS}
        return [(self[name], source) for name, source in sources.items() if source or self.initial.get(name)]

    def changed(self, study: StudyDefinition) -> StudyDefinition:
        """Return the study's definition with this translation changed."""
        texts = {key: text for key in TEXTS if (text := self.cleaned_data[key])}
        return replace(study, translations=self.version.translations | {self.language: texts})


class JudgingForm(VersionForm):
    """How judges are asked, and who may be one."""

    recommended = forms.IntegerField(
        label=_("Pairs you ask each judge for"),
        min_value=1,
        max_value=MOST,
        help_text=_("A pair takes about ten seconds. After this many, judges are thanked and may carry on."),
    )
    maximum = forms.IntegerField(label=_("Most pairs one judge can answer"), min_value=1, max_value=MOST)
    ties = forms.BooleanField(required=False, label=_("Judges may say “about the same”"))
    skips = forms.BooleanField(required=False, label=_("Judges may skip a pair"))
    repeats = forms.FloatField(
        label=_("Share of pairs shown again"),
        required=False,
        min_value=0,
        max_value=MOST_REPEATS,
        help_text=_(
            "0.1 shows one pair in ten again later, with the sides swapped, so you can see whether judges agree with "
            "themselves. With 0, no pair is repeated on purpose."
        ),
    )
    asks_places = forms.BooleanField(
        required=False,
        label=_("Ask judges which part of the map they know"),
        help_text=_(
            "Before the first pair, judges tap the map where they know their way around, or choose from a list, and "
            "are asked only about areas there. They can also say that they know the whole map."
        ),
    )
    access = forms.ChoiceField(label=_("How judges join"), choices=ACCESS, widget=forms.RadioSelect)
    design = forms.ChoiceField(label=_("How pairs are chosen"), choices=list(DESIGNS.items()), widget=forms.RadioSelect)
    answers_until = EndOfAnswersField()
    language = forms.ChoiceField(label=_("The language you write in"), choices=settings.LANGUAGES)
    more_languages = forms.MultipleChoiceField(
        label=_("Judges may also read the pages in"),
        required=False,
        choices=settings.LANGUAGES,
        widget=forms.CheckboxSelectMultiple,
        help_text=_(
            "The buttons are translated already. Translate your own texts on the Texts page: judges can choose a "
            "language once its question, instructions and consent are there."
        ),
    )
    base_map = forms.CharField(
        label=_("Address of a base map"),
        required=False,
        max_length=LONGEST["base_map"],
        help_text=_(
            "Leave it empty unless you need one. A base map draws streets behind the areas, but the company that "
            "serves it learns every judge’s internet address. Format: https://tiles.example.org/{z}/{x}/{y}.png"
        ),
    )
    base_map_credit = forms.CharField(
        label=_("Credit for the base map"),
        required=False,
        max_length=LONGEST["base_map_credit"],
        help_text=_("For example: © OpenStreetMap."),
    )

    def __init__(self, version: StudyVersion, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - Django's
        super().__init__(version, *args, **kwargs)
        if not version.study.outline:
            del self.fields["asks_places"]
        best = recommended_design(version.study.areas.count())
        self.fields["design"].choices = [  # type: ignore[attr-defined]
            (name, f"{text}{' (recommended)' if name == best else ''}") for name, text in DESIGNS.items()
        ]
        self.fields["design"].help_text = format_html(
            gettext(
                "The gains come from simulated studies of 76 areas, with 500 answers of ten judges. When this is "
                'saved, <a href="{plan}">the plan</a> simulates studies of your own map with the design chosen.'
            ),
            plan=reverse("fits:planning", args=[version.study.slug]),
        )

    def clean_repeats(self) -> float:
        """Treat an empty field as 0."""
        return self.cleaned_data["repeats"] or 0.0

    def changed(self, study: StudyDefinition) -> StudyDefinition:
        """Return the study's definition, with the languages in one list and translations only into those."""
        own, more = self.cleaned_data["language"], self.cleaned_data["more_languages"]
        languages = (own, *(code for code, _ in settings.LANGUAGES if code in more and code != own))
        kept = {code: texts for code, texts in self.version.translations.items() if code in languages[1:]}
        return replace(super().changed(study), languages=languages, translations=kept)


@study_page.form
def texts(request: HttpRequest, study: Study) -> HttpResponse:
    """Edit what judges read."""
    initial = {key: getattr(study.version, key) for key in (*TEXTS, "direction")}
    form = TextsForm(study.version, request.POST or None, initial=initial | {"based_on": study.version.number})
    return _edit(request, study, form, "studies/texts.html", "studies:judging")


@study_page.form
def translate(request: HttpRequest, study: Study, language: str) -> HttpResponse:
    """Edit what judges read in another language."""
    version = study.version
    if language not in version.languages[1:]:
        return redirect("studies:texts", study.slug)
    initial = version.translations.get(language, {}) | {"based_on": version.number}
    form = TranslationForm(version, language, request.POST or None, initial=initial)
    return _edit(request, study, form, "studies/translate.html", "studies:texts")


@study_page.form
def judging(request: HttpRequest, study: Study) -> HttpResponse:
    """Edit how judges are asked, and who may be one."""
    definition = editing.definition_of(study)
    initial = {key: getattr(definition, key, None) for key in JudgingForm.base_fields} | {
        "language": definition.languages[0],
        "more_languages": list(definition.languages[1:]),
        "based_on": study.version.number,
    }
    form = JudgingForm(study.version, request.POST or None, initial=initial)
    return _edit(request, study, form, "studies/judging.html", "studies:overview")


def _edit(request: HttpRequest, study: Study, form: VersionForm, template: str, after: str) -> HttpResponse:
    """Show a form, with a preview if one is asked for, or store its content as a new version."""
    preview = {}
    if form.is_valid() and "preview" in request.POST:
        preview = {key: render_markdown(form.cleaned_data[key]) for key in TEXTS if form.cleaned_data.get(key)}
    elif form.is_valid():
        with form.refusals():
            changed = change_study(study, researcher_of(request), form.changed(editing.definition_of(study)))
            messages.success(request, gettext("Saved.") if changed else gettext("Nothing was changed."))
            return redirect(after, study.slug)
    names = [(code, translation.get_language_info(code)["name"]) for code in study.version.languages]
    missing = study.version.untranslated(form.language) if isinstance(form, TranslationForm) else []
    context = {"study": study, "form": form, "preview": preview, "languages": names, "here": template}
    context |= {"missing": missing}
    return render(request, template, context, status=400 if form.errors else 200)


class ImprintForm(StudyForm):
    """Who runs the study."""

    organisation = forms.CharField(required=False, max_length=200)
    contact = forms.CharField(
        required=False, max_length=200, help_text=_("Whom judges and readers can ask: an email address or a telephone.")
    )
    logo = forms.FileField(
        required=False,
        help_text=_("PNG or JPEG, at most 2 MB. It is made smaller if need be."),
        widget=forms.FileInput({"accept": ".png,.jpg,.jpeg"}),
    )
    no_logo = forms.BooleanField(label=_("Remove the logo"), required=False)
    privacy = forms.CharField(
        required=False,
        max_length=10_000,
        widget=forms.Textarea({"rows": 10}),
        help_text=_("How you use personal data, in Markdown. Judges can read it before they agree."),
    )

    def clean_logo(self) -> bytes | None:
        """Draw the picture again, so that nothing but its pixels is kept."""
        file = self.cleaned_data["logo"]
        try:
            return editing.redraw_logo(file.read(editing.LARGEST_LOGO + 1)) if file else None
        except StudyError as error:
            raise forms.ValidationError(sentence(error)) from None


@study_page.form
def imprint(request: HttpRequest, study: Study) -> HttpResponse:
    """Edit who runs the study, which judges and the readers of briefings see."""
    kept = imprint_of(study)
    form = ImprintForm(request.POST or None, request.FILES or None, initial=model_to_dict(kept))
    if form.is_valid():
        given = form.cleaned_data
        logo = b"" if given.pop("no_logo") else given.pop("logo")
        editing.set_imprint(study, given if logo is None else {**given, "logo": logo}, researcher_of(request))
        messages.success(request, gettext("Saved: judges and every briefing show it from now on."))
        return redirect("studies:imprint", study.slug)
    context = {"study": study, "form": form, "kept": kept, "here": "studies/imprint.html"}
    return render(request, "studies/imprint.html", context, status=400 if form.errors else 200)


@researcher_page.act
def markdown(request: HttpRequest) -> HttpResponse:
    """Return a text in Markdown as clean HTML, for the preview beside the field."""
    return HttpResponse(render_markdown(request.POST.get("text", "")[: LONGEST["consent"]]))
