import pytest

from judgemap.cli.main import app


def test_every_command_has_help_with_an_example(judgemap):
    for command in app.registered_commands:
        result = judgemap(command.name, "--help")
        assert result.status == 0
        assert f"Example: judgemap {command.name}" in result.out


def test_every_command_of_a_group_has_help_with_an_example(judgemap):
    for group in app.registered_groups:
        for command in group.typer_instance.registered_commands:
            name = command.name or command.callback.__name__
            assert f"Example: judgemap {group.name} {name}" in judgemap(group.name, name, "--help").out


def test_commands_are_listed_in_the_order_of_a_study(judgemap):
    listed = judgemap("--help").out.partition("Commands:")[2]
    places = [listed.index(f"\n  {name} ") for name in ("demo", "serve", "study", "plan", "fit", "report")]
    assert places == sorted(places)
    assert "..." not in listed


def test_version(judgemap):
    assert judgemap("--version").out.startswith("judgemap 0.")


def test_prior_is_drawn(judgemap, edges, tmp_path):
    result = judgemap("prior", *edges, "--of", "Cedar", "-o", tmp_path / "prior.svg")
    assert result.status == 0, result.err
    assert "<svg" in (tmp_path / "prior.svg").read_text()


@pytest.mark.parametrize(
    ("of", "picture", "words"), [("Cedr", "p.svg", "did you mean 'Cedar'"), ("Elm", "p.doc", ".svg")]
)
def test_prior_of_nothing(judgemap, edges, tmp_path, of, picture, words):
    result = judgemap("prior", *edges, "--of", of, "-o", tmp_path / picture)
    assert result.status == 2
    assert words in result.err
    assert not (tmp_path / picture).exists()
