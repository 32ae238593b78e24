"""One self-contained HTML page: words first, then pictures with text alternatives and tables; nothing is fetched.

Pictures are `<img>` with the SVG inside the address: their ids and styles cannot clash, every one has its text
alternative, and they print as lines, not dots.
"""

import base64
from collections.abc import Sequence
from dataclasses import dataclass

from jinja2 import Environment, PackageLoader, StrictUndefined

from judgemap.report import clusters, figures, maps, tables
from judgemap.report.figures import Recovery
from judgemap.report.numbers import percentage, signed
from judgemap.report.picture import Picture
from judgemap.report.tables import Table
from judgemap.study.clusters import ClusterFit
from judgemap.study.example import SimulatedStudy
from judgemap.study.result import Fit

SAMPLERS = {"hmc": "Hamiltonian Monte Carlo", "gibbs": "Pólya-Gamma Gibbs sampling"}
MODELS = {
    "spatial": "spatial Bradley-Terry (neighbouring areas are believed alike)",
    "clusters": "spatial clustering Bradley-Terry (areas of like risk that lie together share a level)",
    "standard": "standard Bradley-Terry (areas tell nothing of their neighbours)",
}


@dataclass(frozen=True, slots=True, eq=False)
class Section:
    """A heading, paragraphs in plain language, and what goes with them: facts by name, a picture, a table, remarks."""

    heading: str
    paragraphs: tuple[str, ...] = ()
    picture: Picture | None = None
    table: Table | None = None
    facts: tuple[tuple[str, str], ...] = ()
    remarks: tuple[str, ...] = ()


def page(title: str, sections: Sequence[Section], notice: str = "", numbers: Sequence[tuple[str, str]] = ()) -> str:
    """Return an HTML page that needs nothing else: it can be mailed, printed, or opened without a network.

    Parameters
    ----------
    title
        The page's heading.
    sections
        What it says, in order.
    notice
        What a reader must know before anything else, set apart at the top.
    numbers
        A few numbers to begin with, each (number, what it counts).

    Examples
    --------
    >>> html = page("Wards", [Section("Why", ("Because we were asked.",))])
    >>> "<h2" in html and "http" not in html
    True
    """
    template = _environment().get_template("page.html")
    return template.render(title=title, sections=sections, notice=notice, numbers=numbers, svg_address=svg_address)


def svg_address(picture: Picture) -> str:
    """Return the picture as a data address, for the ``src`` of an image."""
    return f"data:image/svg+xml;base64,{base64.b64encode(picture.svg().encode()).decode()}"


def demo_page(fit: Fit, study: SimulatedStudy) -> str:
    """Return the demonstration's page: what was simulated, what the fit makes of it, and how near it comes.

    >>> import judgemap as jm, numpy as np
    >>> study = jm.simulate_study(np.random.default_rng(1), jm.chicago())
    >>> html = demo_page(jm.fit_spatial(study.data, study.areas, seed=1, chains=2, draws=100), study)
    >>> "simulated" in html
    True
    """
    data, found = fit.info["data"], figures.recovery(fit, study.true_risk)
    return page(
        "A risk map from simulated comparisons",
        [_where(fit), _how_sure(fit), _how_near(fit, study, found), _how(fit)],
        notice="The answers on this page are simulated, to show what the software does. "
        "The risk is invented and says nothing about any real place.",
        numbers=[
            (f"{data['judges']:,}", "judges"),
            (f"{data['comparisons']:,}", "comparisons"),
            (f"{data['areas']:,}", "areas"),
            (f"{found.correlation:.2f}", "correlation with the truth"),
        ],
    )


def fit_page(fit: Fit, other: Fit | None = None) -> str:
    """Return the page of a fit: its map, its uncertainty, its clusters if it has any, and how it was done.

    ``other`` is a fit of the spatial model to hold a clustering against.

    >>> import judgemap as jm
    >>> areas, data = jm.example_study(seed=1)
    >>> html = fit_page(jm.fit_clusters(data, areas, seed=1, chains=2, warmup=100, draws=100))
    >>> "Clusters" in html
    True
    """
    data = fit.info["data"]
    sections = [_where(fit), _how_sure(fit)]
    if isinstance(fit, ClusterFit):
        sections[1:1] = _clusters(fit, other)
    counted = [("judges", data["judges"]), ("comparisons", data["comparisons"]), ("areas", data["areas"])]
    numbers = [(f"{number:,}", what) for what, number in counted if number]
    return page("Risk by area", [*sections, _how(fit)], numbers=numbers)


def _clusters(fit: ClusterFit, other: Fit | None) -> list[Section]:
    likeliest, chance = fit.n_clusters.idxmax(), percentage(float(fit.n_clusters.max()))
    text = (
        f"Areas of like risk that lie together make a cluster. The answers speak for {likeliest} clusters with "
        f"probability {chance}; the map shows the {fit.best.n_clusters} clusters that come nearest to all "
        "the partitions the answers allow."
    )
    sections = [
        Section("Clusters of areas", (text,), picture=clusters.cluster_map(fit), table=tables.cluster_table(fit)),
        Section("Risk in the clusters", picture=clusters.cluster_violins(fit)),
        Section("How many clusters", picture=clusters.cluster_number_bars(fit)),
        Section("Who is with whom", picture=clusters.co_clustering_matrix(fit)),
    ]
    if other is not None:
        sections.append(Section("Against the model without clusters", picture=clusters.against_spatial(fit, other)))
    return sections


def _where(fit: Fit) -> Section:
    order = fit.areas.sort_values("risk_median", ascending=False, kind="stable").to_dict("records")
    middle, low, high = (signed(order[0][f"risk_{which}"]) for which in ("median", "low", "high"))
    sure, top = int((fit.areas["p_top10"] > 0.95).sum()), min(10, len(fit.map))
    asked = (
        f"Each judge was shown two areas at a time and said which has the {fit.info['winner_is']} rate. From these "
        "answers alone, every area gets a risk, and an interval that says how sure we are."
    )
    answered = (
        f"{order[0]['name']} is estimated to have the highest risk: {middle}, with 95 % interval {low} to {high}. "
        f"Of all areas, {sure} {'is' if sure == 1 else 'are'} among the {top} highest with a probability above 95 %; "
        "the others in the table could change places with areas below them, as their intervals of rank say."
    )
    meant = (
        "Risk is counted from the average area, which has 0. A difference of 1 means that of 100 comparisons of two "
        "areas about 73 would find the riskier one riskier; a difference of 2, about 88."
    )
    return Section(
        "The risk map",
        (asked, answered, meant),
        picture=maps.risk_map(fit),
        table=tables.highest_risk(fit),
    )


def _how_sure(fit: Fit) -> Section:
    spread = fit.areas["risk_sd"].to_numpy()
    least, most = fit.map.names[int(spread.argmin())], fit.map.names[int(spread.argmax())]
    neighbours = "; so are areas with few neighbours" if fit.info["model"] == "spatial" else ""
    text = (
        f"The answers say most about {least} (standard deviation {spread.min():.2f}) and least about {most} "
        f"({spread.max():.2f}). Areas that were seldom compared, and areas at the ends of the scale, are harder to "
        f"place{neighbours}."
    )
    return Section("How sure we are", (text,), picture=maps.uncertainty_map(fit))


def _how_near(fit: Fit, study: SimulatedStudy, found: Recovery) -> Section:
    areas = len(found.covered)
    text = (
        "The answers were simulated, so the true risk is known, and the estimates can be held against it. "
        f"Their correlation is {found.correlation:.3f}, and {found.n_covered} of {areas} intervals "
        f"({100 * found.n_covered / areas:.0f} %) hold the true risk; 95 % should, give or take a few."
    )
    picture = figures.truth_against_estimate(fit, study.true_risk)
    return Section("How near the estimates come to the truth", (text,), picture=picture)


def _how(fit: Fit) -> Section:
    """Say how it was done, from the fit's own record."""
    info = fit.info
    plan, diagnostics = info["plan"], info["diagnostics"]
    chains, draws = fit.posterior.sizes["chain"], fit.posterior.sizes["draw"]
    facts = (
        ("Model", MODELS.get(info["model"], info["model"])),
        ("Risk", info["risk"]),
        ("Sampler", SAMPLERS.get(info["sampler"], info["sampler"])),
        ("Draws", f"{chains} chains of {draws:,} draws, after {plan['warmup']:,} to warm up"),
        ("Seed", str(info["seed"])),
        ("Largest R-hat", f"{diagnostics['rhat_max']:.3f} (should be at most 1.01)"),
        (
            "Smallest effective sample size",
            f"{diagnostics['ess_bulk_min']:,.0f}, for {diagnostics['ess_bulk_min_of']} (should be at least 400)",
        ),
        ("Time", f"{info['seconds']:.2f} seconds"),
        ("Software", ", ".join(f"{name} {version}" for name, version in info["versions"].items())),
        ("Data", f"SHA-256 {info['data']['sha256'][:16]}…"),
    )
    verdict = (
        "The checks of the sampling found nothing wrong."
        if not fit.warnings
        else "The checks of the sampling found something to put right; it is listed below."
    )
    return Section("How this was done", (verdict,), facts=facts, remarks=(*fit.warnings, *info["notes"]))


def _unbroken(value: object) -> object:
    """Keep a number and its per cent sign on one line."""
    return value.replace(" %", "\u00a0%") if isinstance(value, str) else value


def _environment() -> Environment:
    return Environment(
        finalize=_unbroken,
        loader=PackageLoader("judgemap.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
