"""Whose map a page shows: the fit's own or, if judges differ, the panel's or one judge's."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from urllib.parse import urlencode

from django.http import Http404
from django.urls import reverse
from django.utils.translation import gettext as _

from judgemap.study.assess.findings import AreaFinding, RiskRow
from judgemap.study.fit.settings import View
from judgemap.web.results.models import FitRun, FitView
from judgemap.web.results.pages import read_findings
from judgemap.web.studies.models import Study


@dataclass(frozen=True, slots=True)
class SeenMap:
    """A fit's map as somebody sees it; ``kept`` is None for the fit's own."""

    run: FitRun
    kept: FitView | None = None

    @property
    def words(self) -> str:
        """Whose view the map shows, in a sentence."""
        if self.kept is None:
            return self.run.record.view.words
        if self.kept.judge:
            return _("The map shows the view of judge %(judge)s alone, as far as the answers show it.") % {
                "judge": self.kept.judge
            }
        return View.PANEL.words

    @property
    def view(self) -> str:
        """Whose view it is, in one word, for files."""
        if self.kept is None:
            return self.run.record.view.value
        return self.kept.judge or View.PANEL.value

    @property
    def query(self) -> dict[str, str]:
        """The parameters with which an address asks for it."""
        if self.kept is None:
            return {}
        return {"judge": self.kept.judge} if self.kept.judge else {"view": View.PANEL.value}

    @property
    def address(self) -> str:
        """The same, encoded for an address."""
        return urlencode(self.query)

    @property
    def rows(self) -> Sequence[RiskRow]:
        """The table of areas."""
        return kept_rows(self.run.pk, self.run.finished_at) if self.kept is None else self.kept.rows

    @property
    def top(self) -> Mapping[int, Sequence[float]]:
        """P(among the k highest) by k, as far as it was worked out."""
        if self.kept is None:
            return read_findings(self.run, "top").top
        return {int(k): chances for k, chances in self.kept.findings.get("top", {}).items()}

    def density(self, position: int, own: AreaFinding) -> tuple[Sequence[float], Sequence[float]]:
        """Return the draws of an area's risk in bins, and the bins' edges; ``own`` has those of the fit's own map."""
        if self.kept is None:
            return own.density, read_findings(self.run, "risk_edges").risk_edges
        densities, edges = (self.kept.findings.get(part, ()) for part in ("density", "risk_edges"))
        return (densities[position], edges) if densities else ((), ())


@lru_cache(maxsize=2)
def kept_rows(fit_id: int, finished_at: datetime | None) -> Sequence[RiskRow]:  # noqa: ARG001 - tells fits apart
    """Return the table of a fit that is done, which never changes; that of a nation is megabytes of JSON to read."""
    return tuple(FitRun.objects.values_list("rows", flat=True).get(pk=fit_id))


def seen_map(run: FitRun, given: Mapping[str, str]) -> SeenMap:
    """Read from an address whose map is wanted; the fit's own if that makes no sense."""
    judge, view = given.get("judge", ""), given.get("view", "")
    wanted = (judge and judge.isalnum()) or view == View.PANEL
    return SeenMap(run, FitView.objects.filter(fit=run, judge=judge).first() if wanted else None)


def wanted_map(run: FitRun, given: Mapping[str, str]) -> SeenMap:
    """Do the same for a file, but answer 404 for a map that does not exist instead of showing another."""
    seen = seen_map(run, given)
    asked = {name: given[name] for name in ("judge", "view") if given.get(name)}
    if asked not in (seen.query, {"view": run.record.view.value}):
        raise Http404
    return seen


def view_links(study: Study, run: FitRun, seen: SeenMap) -> list[tuple[str, str, bool]]:
    """Return the views that a map can be switched to: label, address, and whether it is the one shown."""
    if run.record.view is View.POOLED or not FitView.objects.filter(fit=run).exists():
        return []
    here = reverse("results:map", args=[study.slug, run.number])
    links = [
        ("The population’s", here, seen.kept is None),
        ("These judges’", f"{here}?view={View.PANEL.value}", seen.query.get("view") == View.PANEL.value),
    ]
    if seen.query.get("judge"):
        links.append((_("Judge %(judge)s’s") % {"judge": seen.query["judge"]}, f"{here}?{seen.address}", True))
    return [*links, ("Each judge’s", reverse("results:judge_maps", args=[study.slug, run.number]), False)]
