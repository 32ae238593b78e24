"""What a new researcher, or one with a forgotten password, fills in."""

from django import forms
from django.contrib.auth import password_validation
from django.core.exceptions import ValidationError
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from judgemap.errors import StudyError
from judgemap.web.accounts.actions import TAKEN
from judgemap.web.accounts.models import Researcher
from judgemap.web.server.forms import StudyForm, sentence

NEW_PASSWORD = {"autocomplete": "new-password"}


class PasswordForm(StudyForm):
    """A new password, typed twice."""

    password = forms.CharField(
        widget=forms.PasswordInput(NEW_PASSWORD),
        strip=False,
        max_length=200,
        help_text=_("At least 10 characters. Three or four unrelated words are easy to remember."),
    )
    again = forms.CharField(
        label=_("Password again"), widget=forms.PasswordInput(NEW_PASSWORD), strip=False, max_length=200
    )

    def clean(self) -> dict[str, str]:
        """Check the password against the rules, and that it was typed the same twice."""
        given: dict[str, str] = super().clean() or self.cleaned_data
        password = given.get("password")
        if password and given.get("again") is not None and password != given["again"]:
            self.add_error("again", gettext("The two passwords differ. Type the same one twice."))
        if password:
            try:
                password_validation.validate_password(password, self.researcher(given))
            except ValidationError as error:
                self.add_error("password", error)
        return given

    def researcher(self, given: dict[str, str]) -> Researcher:
        """Return the researcher whose name and address the password must not resemble."""
        return Researcher(email=given.get("email", ""), name=given.get("name", ""))


class NewResearcherForm(PasswordForm):
    """Somebody who was invited."""

    email = forms.EmailField(
        label=_("Email address"),
        max_length=254,
        widget=forms.EmailInput({"autocomplete": "username"}),
        help_text=_("You sign in with it, and colleagues use it to share studies with you."),
    )
    name = forms.CharField(
        label=_("Your name"),
        max_length=100,
        required=False,
        widget=forms.TextInput({"autocomplete": "name"}),
        help_text=_("Shown to your colleagues. Judges never see it."),
    )
    field_order = ("email", "name", "password", "again")

    def clean_email(self) -> str:
        """Check that nobody has the address already, ignoring case."""
        email = str(self.cleaned_data["email"]).lower()
        if Researcher.objects.filter(email=email).exists():
            raise ValidationError(sentence(StudyError(str(TAKEN))))
        return email
