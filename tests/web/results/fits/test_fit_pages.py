"""Asking for a fit on the page, watching it, and what is said kindly on the way."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone
from hypothesis import given, settings
from hypothesis import strategies as st

from judgemap.study.fit.settings import FitSettings
from judgemap.web.results.fits import FitForm
from judgemap.web.results.models import AutoFit, FitRun
from judgemap.web.server import worker

LIVE = {"HX-Request": "true"}


@pytest.fixture
def page(judged, clients):
    """Open an address of the study's fits as its owner."""

    def opened(path="", **headers):
        return clients["owner"].get(f"/studies/{judged.slug}/fits/{path}", headers=headers)

    return opened


@pytest.fixture
def send(judged, clients):
    def sent(path, **fields):
        return clients["owner"].post(f"/studies/{judged.slug}/fits/{path}", fields)

    return sent


def text(response) -> str:
    return " ".join(response.text.split())


def test_one_button_is_enough(judged, send, page, make_fit):
    response = send("new")
    run = FitRun.objects.get()
    assert response["Location"] == f"/studies/{judged.slug}/fits/1/progress"
    assert {**run.settings, "seed": 0} == FitSettings(seed=0).to_dict()
    assert (run.left_out, run.only, run.note) == ([], [], "")
    assert "Next in the queue." in text(page("1/progress"))


def test_the_form_has_every_option_of_the_command(judged):
    assert set(FitSettings(seed=1).to_dict()) <= set(FitForm(judged).fields)
    grouped = {field.name for _, fields in FitForm(judged).grouped for field in fields}
    assert grouped == set(FitForm(judged).fields) - {"model", "use", "named", "note"}


def test_the_form_as_it_is_shown_asks_for_the_usual_fit(judged, page):
    shown = FitForm(judged)
    given = {field.name: field.value() for field in shown if field.value() is not None}
    form = FitForm(judged, given)
    assert form.is_valid(), form.errors
    assert {**form.cleaned_data["settings"].to_dict(), "seed": 0} == FitSettings(seed=0).to_dict()
    assert not shown.opened
    assert page("new").status_code == 200


def test_the_plain_fit_comes_first_and_the_papers_is_a_choice(judged, send, page):
    assert [value for value, _ in page("new").context["form"].fields["model"].choices][:2] == ["spatial", "paper"]
    assert send("new", model="paper").status_code == 302
    run = FitRun.objects.get()
    assert {**run.settings, "seed": 0} == FitSettings(as_in_paper=True, seed=0).to_dict()
    form = page("new?from=1").context["form"]
    assert (form["model"].value(), form.opened) == ("paper", False)
    assert send("new", **{name: form[name].value() for name in ("model", "as_in_paper")}).status_code == 302
    assert FitRun.objects.get(number=2).settings["as_in_paper"] is True


def test_all_options(judged, send):
    asked = FitSettings(model="clusters", affinity="window", length=2.0, beta=1e-6, mu0=0.5, kappa0=2.0, a0=3.0, b0=4.0,
                        clusters=3, loss="binder", sampler="gibbs", chains=3, warmup=0, draws=50, thin=2, seed=7,
                        prior="matern32", alpha=2.0, chi=1.0, omega=2.0)  # fmt: skip
    given = {name: str(value) for name, value in asked.to_dict().items() if not (value is None or value is False)}
    assert send("new", **given, note="why not").status_code == 302
    assert FitRun.objects.get().settings == asked.to_dict()
    assert FitRun.objects.get().note == "why not"


@pytest.mark.parametrize("use", ["all", "without", "only"])
def test_some_judges(judged, send, use):
    """Judges who are ticked without a word are left as they are."""
    names = sorted(judged.judge_names[:2])
    send("new", use=use, named=names)
    run = FitRun.objects.get()
    assert (run.left_out, run.only) == (names if use == "without" else [], names if use == "only" else [])


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"chi": "-1"}, "The shape χ of the prior of α² must be a positive number"),
        ({"draws": "3"}, "greater than or equal to 4"),
        ({"draws": "nan"}, "Enter a whole number"),
        ({"alpha": "inf"}, "Enter a number"),
        ({"clusters": "3"}, "Clusters: only the model &#x27;clusters&#x27; has clusters"),
        ({"judges": "sometimes"}, "Select a valid choice"),
        ({"use": "only"}, "Tick the judges, or choose all of them"),
        ({"use": "only", "named": ["nobody"]}, "nobody is not one of the available choices"),
        ({"draws": "1000000", "chains": "8"}, "8 chains of 16 areas have room for"),
        ({"seed": "9" * 30}, "less than or equal to"),
        ({"note": "x" * 201}, "at most 200 characters"),
        ({"note": "\0"}, "Null characters are not allowed"),
    ],
)
def test_what_is_wrong_is_said_beside_the_field(judged, send, fields, said):
    response = send("new", **fields)
    assert response.status_code == 400
    assert said in text(response)
    assert not FitRun.objects.exists()


def test_without_answers_the_page_says_what_to_do(owned, clients):
    address = f"/studies/{owned.slug}/fits/"
    shown = text(clients["owner"].get(address))
    assert "nobody has chosen between two areas" in shown
    assert "Invite judges" in shown
    assert "Fit now" not in shown
    response = clients["owner"].post(f"{address}new")
    assert response.status_code == 400
    assert "There is nothing to fit yet" in text(response)


def test_the_list_has_what_tells_fits_apart(judged, page, ask_fit, make_fit):
    name = judged.judge_names[0]
    run = make_fit(ask_fit(judged, left_out=[name], note="without the fast one"))
    shown = text(page())
    for each in ("Fit 1: spatial", f"without {name}", "40 comparisons by 2 judges", run.data_sha256[:8],
                 "without the fast one", "Not ready for use"):  # fmt: skip
        assert each in shown, each
    assert reverse("results:map", args=[judged.slug, 1]) in shown
    assert "hx-get" not in shown, "nothing is under way"


def test_the_progress_page_is_live_and_works_without_a_script(judged, page, ask_fit):
    ask_fit(judged)
    FitRun.objects.update(status="running", progress=0.25, said="250 of 1000 draws a chain.", heard_at=timezone.now())
    shown = text(page("1/progress"))
    assert 'hx-get="/studies/wards/fits/1/progress" hx-trigger="every 1s"' in shown
    assert '<progress value="0.250" max="1"' in shown
    assert "<noscript>" in shown
    assert "Cancel this fit" in shown
    assert "style=" not in shown
    assert '"allowEval": false' in shown
    news = text(page("1/progress", **LIVE))
    assert "250 of 1000 draws a chain." in news
    assert '<span class="status running">' in news, "it said waiting when the page was opened"
    assert "<html" not in news
    assert "asked for by the server" in news


def test_the_list_is_live_while_something_is_under_way(judged, page, ask_fit):
    ask_fit(judged)
    assert 'hx-get="/studies/wards/fits/"' in text(page())
    assert "<html" not in text(page("", **LIVE))


def test_as_soon_as_it_is_done_the_map_is_shown(judged, page, ask_fit, make_fit):
    make_fit(ask_fit(judged))
    map_page = reverse("results:map", args=[judged.slug, 1])
    assert page("1/progress")["Location"] == map_page
    assert page("1/progress", **LIVE)["HX-Redirect"] == map_page


@pytest.mark.parametrize("status", ["failed", "cancelled", "lost"])
def test_what_came_to_nothing_says_so_and_can_be_started_again(judged, page, send, ask_fit, status):
    ask_fit(judged)
    FitRun.objects.update(status=status, said="It went wrong.")
    shown = text(page("1/progress"))
    assert "It went wrong." in shown
    assert "Start again" in shown
    assert "hx-get" not in shown
    assert page("1/progress", **LIVE)["HX-Redirect"] == f"/studies/{judged.slug}/fits/1/progress"
    assert send("1/again")["Location"].endswith("/fits/2/progress")
    assert FitRun.objects.get(number=2).settings == FitRun.objects.get(number=1).settings


def test_a_page_shows_a_lost_fit_and_leaves_the_writing_to_a_worker(judged, page, ask_fit):
    run = ask_fit(judged)
    FitRun.objects.filter(pk=run.pk).update(status="running", heard_at=timezone.now() - timedelta(minutes=1))
    for path in ("1/progress", "1/log", ""):
        shown = text(page(path))
        assert "stopped responding" in shown
        assert '<span class="status lost">' in shown
    run.refresh_from_db()
    assert run.status == "running"
    worker.go_round()
    run.refresh_from_db()
    assert run.status == "lost"


def test_what_it_waits_for(judged, page, ask_fit):
    ask_fit(judged)
    run = ask_fit(judged)
    assert "Number 2 in the queue, about 1 minute." in text(page("2/progress"))
    FitRun.objects.filter(number=1).update(status="done")
    assert "No background worker" not in text(page("2/progress"))
    FitRun.objects.filter(pk=run.pk).update(asked_at=timezone.now() - timedelta(minutes=1))
    assert "judgemap worker" in text(page("2/progress"))
    FitRun.objects.filter(number=1).update(status="running", heard_at=timezone.now())
    assert "No background worker" not in text(page("2/progress"))


def test_cancelling_on_the_page(judged, page, send, ask_fit):
    ask_fit(judged)
    assert send("1/cancel")["Location"] == f"/studies/{judged.slug}/fits/"
    ask_fit(judged)
    FitRun.objects.filter(number=2).update(status="running", heard_at=timezone.now())
    assert send("2/cancel")["Location"].endswith("/fits/2/progress")
    assert "Stopping." in text(page("2/progress"))


def test_the_log_has_the_command_that_does_the_same(judged, page, ask_fit, make_fit):
    run = make_fit(ask_fit(judged))
    shown = text(page("1/log"))
    assert FitSettings.from_dict(run.settings).command("comparisons.csv", "edges.csv") in shown
    assert run.data_sha256 in shown
    assert "read 60 pairs shown to 3 judges" in shown


def test_a_fit_that_does_not_converge_says_so_on_its_pages(judged, page, ask_fit, make_fit):
    run = make_fit(ask_fit(judged, FitSettings(chains=2, warmup=5, draws=10, seed=1, as_in_paper=True)))
    assert len(run.findings["warnings"]) == 2
    for warning in run.findings["warnings"]:
        assert f'<p class="notice warn">{warning}</p>' in text(page("1/log"))
    assert run.findings["warnings"][0] in text(page())
    assert 'class="status unsettled">not settled<' in text(page())
    assert 'class="status done"' not in text(page("1/log")) + text(page())


@pytest.mark.parametrize(("how", "draws", "warmup"), [("longer", 40, 10), ("seed", 10, 5), ("", 10, 5), ("x", 10, 5)])
def test_a_fit_that_has_not_settled_can_be_run_longer_or_tried_again(
    judged, page, send, ask_fit, make_fit, how, draws, warmup
):
    run = make_fit(ask_fit(judged, FitSettings(chains=2, warmup=5, draws=10, seed=1, as_in_paper=True)))
    for name in ("map", "convergence", "log"):
        assert f'value="{how or "longer"}"' in text(page(f"1/{name}")) or how == "x", name
    send("1/again", how=how)
    made = FitRun.objects.get(number=2)
    assert (made.settings["draws"], made.settings["warmup"]) == (draws, warmup)
    assert (made.settings["seed"] != run.settings["seed"]) == (how in ("longer", "seed"))


def test_other_options_begin_with_the_earlier_ones(judged, page, ask_fit):
    ask_fit(judged, FitSettings(model="clusters", draws=500, seed=3), only=judged.judge_names[:1], note="again")
    form = page("new?from=1").context["form"]
    assert form["model"].value() == "clusters"
    assert form["draws"].value() == 500
    assert form["seed"].value() is None
    assert form["named"].value() == judged.judge_names[:1]
    assert form.opened
    for rubbish in ("2", "x", "", "-1", "٣", "9" * 5000):
        assert page(f"new?from={rubbish}").status_code == 200


def test_fits_by_themselves_on_the_page(judged, page, send):
    assert send("auto", every="100", model="clusters").status_code == 302
    auto = AutoFit.objects.get()
    assert (auto.every, auto.settings["model"]) == (100, "clusters")
    assert "seed" not in auto.settings
    assert "after every 100 new answers, by the clusters model" in text(page())
    response = send("auto", every="3", model="spatial")
    assert response.status_code == 400
    assert "greater than or equal to 10" in text(response)
    assert send("auto", every="50", model="paper").status_code == 302
    assert AutoFit.objects.get().settings["as_in_paper"] is True
    assert page().context["auto_form"]["model"].value() == "paper"
    assert send("auto", every="", model="spatial").status_code == 302
    assert not AutoFit.objects.exists()


FIELDS = sorted([*FitSettings(seed=1).to_dict(), "use", "named", "note", "every", "from"])
WORDS = ["", "0", "1", "-1", "1e999", "nan", "9" * 30, "\0", "'", "clusters", "only", "without", "communicability", "١"]
rubbish = st.text(max_size=20) | st.sampled_from(WORDS)


@settings(max_examples=settings.default.max_examples // 2)
@given(
    path=st.sampled_from(["new", "auto", "1/again", "1/cancel", "1/progress", "1/log", ""]),
    fields=st.dictionaries(st.sampled_from(FIELDS), rubbish | st.lists(rubbish, max_size=3), max_size=8),
    method=st.sampled_from(["get", "post"]),
)
def test_rubbish_is_no_fault_of_ours(judged, clients, ask_fit, path, fields, method):
    FitRun.objects.exists() or ask_fit(judged)
    response = getattr(clients["owner"], method)(f"/studies/{judged.slug}/fits/{path}", fields)
    assert response.status_code < 500
