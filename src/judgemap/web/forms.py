"""How every form looks: label, help and error beside the field."""

from django.forms.renderers import TemplatesSetting


class Renderer(TemplatesSetting):
    """Draws forms with our own templates."""

    form_template_name = "forms/form.html"
    field_template_name = "forms/field.html"
