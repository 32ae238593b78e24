"""`judgemap researcher`: who may make studies, for whoever runs the server."""

from typing import Annotated

import typer

from judgemap.cli.serving import DATA, DataFolder, server_address
from judgemap.web.start import connect

Address = Annotated[str, typer.Option("--url", help="The server's address.", envvar="JUDGEMAP_URL")]
Email = Annotated[str, typer.Argument(help="The researcher's email address for signing in.")]

app = typer.Typer(help="Invite researchers and help them sign in.", no_args_is_help=True, rich_markup_mode=None)


@app.command(name="list")
def list_researchers(data: DataFolder = DATA) -> None:
    """List the researchers.

    Example: judgemap researcher list
    """
    connect(data)
    from judgemap.web.accounts.models import Researcher

    for each in Researcher.objects.filter(is_active=True).order_by("email"):
        typer.echo(f"{each.email}  {each.name}".rstrip())


@app.command()
def invite(url: Address = "", data: DataFolder = DATA) -> None:
    """Print a link that creates a researcher's account. It works once, within a week.

    Example: judgemap researcher invite
    """
    connect(data)
    from judgemap.web.accounts.actions import invite_researcher

    typer.echo(f"{server_address(url)}/invitation/{invite_researcher()}/")


@app.command()
def password(email: Email, url: Address = "", data: DataFolder = DATA) -> None:
    """Print a link for a researcher to set a new password. It works once, within a day.

    Example: judgemap researcher password anna@example.org
    """
    connect(data)
    from judgemap.web.accounts.actions import password_link

    typer.echo(f"{server_address(url)}/invitation/{password_link(email)}/")


@app.command(name="reset-step")
def reset_step(email: Email, data: DataFolder = DATA) -> None:
    """Turn off the second step for a researcher who has lost both phone and recovery codes.

    Example: judgemap researcher reset-step anna@example.org
    """
    connect(data)
    from judgemap.web.accounts.actions import reset_second_step

    typer.echo(f"{reset_second_step(email).email} now signs in with just the password, and can turn the step back on.")


@app.command()
def deactivate(email: Email, data: DataFolder = DATA) -> None:
    """Stop a researcher from signing in. Their studies stay and judges can carry on.

    Example: judgemap researcher deactivate anna@example.org
    """
    connect(data)
    from judgemap.web.accounts.actions import deactivate_researcher
    from judgemap.web.studies.models import Study

    researcher = deactivate_researcher(email)
    typer.echo(
        f"{researcher.email} can no longer sign in. Undo it with: judgemap researcher activate {researcher.email}"
    )
    for slug in Study.objects.filter(owner=researcher).order_by("slug").values_list("slug", flat=True):
        typer.echo(f"They own {slug}; give it to someone else with: judgemap researcher own {slug} EMAIL")


@app.command()
def activate(email: Email, data: DataFolder = DATA) -> None:
    """Let a deactivated researcher sign in again.

    Example: judgemap researcher activate anna@example.org
    """
    connect(data)
    from judgemap.web.accounts.actions import activate_researcher

    typer.echo(f"{activate_researcher(email).email} can sign in again.")


@app.command()
def own(
    study: Annotated[str, typer.Argument(help="The study's name, as shown by 'judgemap study list'.")],
    email: Email,
    data: DataFolder = DATA,
) -> None:
    """Give a study, such as one made on the command line, to a researcher.

    Example: judgemap researcher own wards anna@example.org
    """
    connect(data)
    from judgemap.web.studies.access import give_study
    from judgemap.web.studies.editing import find_study

    typer.echo(f"Study {study} belongs to {give_study(find_study(study), email)}.")
