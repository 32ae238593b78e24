"""How every form looks: label, help and error beside the field; errors as sentences."""

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
