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
    >>> sentence(StudyError("wards.geojson has one area"))
    'wards.geojson has one area.'
    """
    text = str(error)
    named = "." in text.partition(" ")[0][:-1]  # it begins with a file's name, which stays as it is
    return f"{text if named else text[:1].upper() + text[1:]}{'' if text.endswith(('.', '?')) else '.'}"


class StudyForm(forms.Form):
    """A form whose data can be refused with a `StudyError`, which is shown beside the field that it names."""

    def add_study_error(self, error: StudyError) -> None:
        """Show an error beside its field, or above the form if the form has no such field."""
        self.add_error(error.field if error.field in self.fields else None, sentence(error))
