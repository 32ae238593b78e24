"""`judgemap study`: what each command says and does; a mistake is one sentence."""

import json
import stat
import zipfile
from functools import partial

import pytest
from django.core.management import call_command

from judgemap.cli.study import app
from judgemap.errors import StudyError
from judgemap.web import start
from judgemap.web.judge.models import Answer, Judge
from judgemap.web.start import ServerOptions, remember_address
from judgemap.web.studies.models import Imprint, Study

STUDY = """
title = "Wards"
question = "Which?"
direction = "lower"
access = "open"
[areas]
file = "wards.geojson"
"""


@pytest.fixture
def study_command(run_command, tmp_path, monkeypatch):
    """Run a command in its own folder."""
    monkeypatch.chdir(tmp_path)
    return partial(run_command, app)


@pytest.fixture
def drafted(study_command, areas, tmp_path):
    areas.to_frame().to_crs("EPSG:4326").to_file(tmp_path / "wards.geojson", driver="GeoJSON")
    (tmp_path / "study.toml").write_text(STUDY)
    study_command("new", "study.toml")
    return study_command


@pytest.mark.django_db(transaction=True)
def test_from_draft_to_export(drafted, tmp_path):
    assert Study.objects.get().status == "draft"
    assert "/s/" in drafted("open", "wards")
    links = json.loads(drafted("invite", "wards", "--judges", "3", "--url", "https://cj.example", "--json"))
    assert [each["link"][:21] for each in links] == ["https://cj.example/j/"] * 3
    assert {each["judge"] for each in links} == set(Judge.objects.values_list("name", flat=True))
    listed = json.loads(drafted("list", "--json"))
    assert (listed[0]["study"], listed[0]["judges"], listed[0]["status"]) == ("wards", 3, "open")
    drafted("pause", "wards")
    drafted("close", "wards")
    assert "is open" in drafted("open", "wards")
    assert Study.objects.get().acts.filter(verb="reopened").count() == 1
    drafted("close", "wards")
    drafted("export", "wards")
    assert "comparisons.csv" in zipfile.ZipFile(tmp_path / "wards.zip").namelist()


def test_nobody_else_reads_the_database_in_a_folder_that_others_read(study_command, data_folder):
    data = data_folder
    data.chmod(0o755)
    for name in ("judgemap.sqlite3", "judgemap.sqlite3-wal", "secret-key"):
        (data / name).write_text("")
        (data / name).chmod(0o644)
    study_command("list")
    assert {path.name: stat.S_IMODE(path.stat().st_mode) for path in data.glob("*[k3ly]")} == {
        "judgemap.sqlite3": 0o600, "judgemap.sqlite3-wal": 0o600, "secret-key": 0o600,
    }  # fmt: skip
    assert stat.S_IMODE(data.stat().st_mode) == 0o755


def test_links_as_qr_codes(drafted, tmp_path):
    links = json.loads(drafted("invite", "wards", "--judges", "2", "--qr", "codes", "--json"))
    assert {path.stem for path in (tmp_path / "codes").glob("*.svg")} == {each["judge"] for each in links}


def test_new_takes_over_what_the_briefing_is_to_say(drafted, tmp_path):
    (tmp_path / "study.toml").write_text(f'{STUDY}[briefing]\nauthor = "A. Name"\nnext_steps = "Visit Ash."\n')
    drafted("new", "study.toml")
    (words,) = Imprint.objects.all()
    assert (words.study.slug, words.author, words.next_steps) == ("wards-2", "A. Name", "Visit Ash.")


def test_a_study_made_for_a_researcher_is_in_the_browser(drafted, people, clients):
    assert "judgemap researcher own wards-2 EMAIL" in drafted("new", "study.toml")
    assert "researcher own" not in drafted("new", "study.toml", "--owner", " Owner@Example.org")
    listed = clients["owner"].get("/studies/").text
    assert "/studies/wards-3/" in listed
    assert "/studies/wards-2/" not in listed


def test_an_owner_who_is_not_there_makes_no_study(drafted):
    with pytest.raises(StudyError, match=r"no researcher has the address 'nobody@example\.org'; see 'judgemap res"):
        drafted("new", "study.toml", "--owner", "nobody@example.org")
    assert Study.objects.count() == 1


@pytest.mark.parametrize(
    ("host", "address"),
    [("127.0.0.1", "127.0.0.1"), ("0.0.0.0", "127.0.0.1"), ("::", "[::1]"), ("cj.example", "cj.example")],  # noqa: S104
)
def test_links_begin_where_the_server_was_started(drafted, settings, tmp_path, host, address):
    settings.DATA = tmp_path / "data"
    assert drafted("invite", "wards").startswith("http://127.0.0.1:8000/j/")
    remember_address(ServerOptions(settings.DATA, host, 8123))
    assert drafted("invite", "wards").startswith(f"http://{address}:8123/j/")
    assert drafted("invite", "wards", "--url", "https://cj.example").startswith("https://cj.example/j/")
    settings.PUBLIC_URL = "https://studies.example.org"
    assert drafted("invite", "wards").startswith("https://studies.example.org/j/")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("new", "nothing.toml"), "there is no such file"),
        (("open", "nothing"), "there is no study 'nothing'; there are no studies yet"),
        (("invite", "nothing"), "there is no study"),
        (("export", "nothing"), "there is no study"),
        (("restore", "nothing.sqlite3"), "there is no such file"),
    ],
)
def test_a_mistake_is_one_sentence(study_command, words, sentence):
    with pytest.raises(StudyError, match=sentence):
        study_command(*words)


def test_a_backup_does_not_overwrite(study_command, tmp_path):
    (tmp_path / "copy.sqlite3").write_text("hello")
    with pytest.raises(StudyError, match="already exists"):
        study_command("backup", "copy.sqlite3")


@pytest.mark.usefixtures("scratch")
def test_a_backup_for_a_key_is_checked_before_anything_is_restored(study_command, tmp_path):
    recipient = study_command("backup-key", "key").splitlines()[0]
    study_command("backup", "copy.age", "--to", recipient)
    with pytest.raises(StudyError, match="is encrypted; name the file with its secret key"):
        study_command("restore", "copy.age", "--check")
    study_command("backup-key", "another")
    with pytest.raises(StudyError, match="does not open with the key in another"):
        study_command("restore", "copy.age", "--check", "--key", "another")
    with pytest.raises(StudyError, match="'nobody' is not a public key"):
        study_command("backup", "more.age", "--to", "nobody")
    assert not (tmp_path / "more.age").exists()


@pytest.mark.usefixtures("scratch", "quick_passphrases")
def test_a_backup_with_a_passphrase_asks_for_it_twice(study_command, tmp_path, settings):
    settings.BACKUP_RECIPIENTS = ["nobody"]
    words = "plain words for a backup\n"
    (tmp_path / "folder").mkdir()
    study_command("backup", "folder", "--passphrase", typed=2 * words)
    (path,) = (tmp_path / "folder").iterdir()
    assert path.name.endswith(".sqlite3.age")
    with pytest.raises(StudyError, match="does not open with this passphrase"):
        study_command("restore", str(path), "--check", typed="other words\n")


def test_who_withdrew_after_a_backup_is_withdrawn_again_when_it_is_restored(scratch, study_command, visit):
    gone, stays = visit(), visit()
    for each in (gone, stays):
        each.answer("left")
    study_command("backup", "copy.sqlite3")
    code = gone.code
    gone.withdraw()
    kept = (scratch / "withdrawals").read_text()
    assert code.replace("-", "").casefold() not in kept.casefold(), "only hashes are kept"
    call_command("flush", interactive=False, verbosity=0)
    said = study_command("restore", "copy.sqlite3")
    assert "1 judges withdrew after this backup" in said
    assert "no list of the judges" not in said
    assert list(Answer.objects.values_list("pair__judge__name", flat=True)) == [stays.name]
    assert (scratch / "withdrawals").read_text() == kept

    (scratch / "withdrawals").unlink()  # as on another machine, whose list may begin later
    for later in ("", "2126-11-20T00:00:00+00:00\n"):
        if later:
            (scratch / "withdrawals").write_text(later)
        call_command("flush", interactive=False, verbosity=0)
        said = study_command("restore", "copy.sqlite3")
        assert said.index("has no list of the judges who withdrew") < said.index("Restored from")
        assert Answer.objects.count() == 2
    (scratch / "withdrawals").write_text(kept)
    start.keep_withdrawals()
    assert Answer.objects.count() == 1, "a server that starts applies its list, whatever happened to its database"


def test_answers_are_kept_until_a_day_and_then_removed(drafted):
    assert drafted("retain") == "wards: answers are kept indefinitely; see: judgemap study retain wards --until DAY\n"
    assert "kept until 2126-06-30, " in drafted("retain", "wards", "--until", "2126-06-30")
    with pytest.raises(StudyError, match="--until needs a study"):
        drafted("retain", "--until", "2126-06-30")
    with pytest.raises(StudyError, match="in the past"):
        drafted("retain", "wards", "--until", "2001-06-30")
    drafted("open", "wards")
    drafted("invite", "wards", "--judges", "3")
    Study.objects.update(answers_until="2001-06-30")
    printed = drafted("retain")
    assert "wards: answers were removed at" in printed
    assert "judges and links: 3" in printed
    assert not Judge.objects.exists()


def test_the_log_is_verified_and_its_head_printed(drafted):
    printed = drafted("verify")
    assert printed.startswith("The log is intact: 1 entries. Its head: 1-")
    head = printed.split()[-1]
    drafted("open", "wards")
    assert "2 entries" in drafted("verify", "--head", head)
    with pytest.raises(StudyError, match=r"the log was changed \(places: 1\)"):
        drafted("verify", "--head", f"1-{64 * '0'}")
    with pytest.raises(StudyError, match="is not the head of a log"):
        drafted("verify", "--head", "head")
