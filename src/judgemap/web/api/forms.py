"""What a researcher fills in for a token."""

from typing import Any

from django import forms

from judgemap.web.api.models import SCOPES

DAYS = ((7, "a week"), (30, "30 days"), (90, "90 days"), (365, "a year"))
REACH = (("study", "This study only"), ("all", "Every study I own"))


class TokenForm(forms.Form):
    """A token: what it is for, what it may read, and for how long."""

    name = forms.CharField(
        label="What is it for?",
        max_length=60,
        help_text="To help you recognise it, for example “Nightly fit on the cluster”.",
    )
    scopes = forms.MultipleChoiceField(
        label="It may read",
        choices=list(SCOPES.items()),
        widget=forms.CheckboxSelectMultiple,
        initial=list(SCOPES),
        error_messages={"required": "Choose at least one thing it may read."},
    )
    reach = forms.ChoiceField(label="It opens", choices=REACH, widget=forms.RadioSelect, initial="study")
    days = forms.TypedChoiceField(label="It works for", choices=DAYS, coerce=int, initial=90)

    def clean_scopes(self) -> list[str]:
        """Return the scopes in one order."""
        given: Any = self.cleaned_data["scopes"]
        return sorted(given)
