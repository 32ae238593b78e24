"""How every form looks: label, help and error beside the field; errors as sentences."""

from django import forms
from django.forms.renderers import TemplatesSetting

from judgemap.errors import StudyError


class Renderer(TemplatesSetting):
    """Draws forms with our own templates."""

    form_template_name = "forms/form.html"
    field_template_name = "forms/field.html"


def sentence(error: StudyError) -> str:
    """Write an error as a sentence on a page.

    >>> sentence(StudyError("the file is empty; export the map again"))
    'The file is empty; export the map again.'
    """
    text = str(error)
    return f"{text[:1].upper()}{text[1:]}." if not text.endswith((".", "?")) else f"{text[:1].upper()}{text[1:]}"


class StudyForm(forms.Form):
    """A form whose data can be refused with a `StudyError`, which is shown beside the field that it names."""

    def add_study_error(self, error: StudyError) -> None:
        """Show an error beside its field, or above the form if the form has no such field."""
        self.add_error(error.field if error.field in self.fields else None, sentence(error))
