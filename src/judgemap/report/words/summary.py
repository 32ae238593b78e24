"""A fit in a few lines of text, for `judgemap fit` and `fit.summary()`."""

from judgemap.report.words.tables import cluster_table, highest_risk
from judgemap.study.assess.beside import beside
from judgemap.study.assess.findings import NOT_CAUSE
from judgemap.study.assess.verdict import Verdict
from judgemap.study.fit.clusters import ClusterFit
from judgemap.study.fit.judges import PanelFit
from judgemap.study.fit.record import NoteKind
from judgemap.study.fit.result import Fit


class Lines(str):
    """Text that a notebook shows as it is, without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def summary(fit: Fit) -> Lines:
    """Say in a few lines what came out: the ten highest risks, clusters, how it was sampled, and the verdict."""
    record, data = fit.record, fit.record.data
    judges = {0: "", 1: " by 1 judge"}.get(data.judges, f" by {data.judges:,} judges")
    asked = f"{data.used:,} comparisons of {data.areas:,} areas{judges}"
    drawn = f"{fit.posterior.sizes['chain']} × {fit.posterior.sizes['draw']:,} draws in {record.seconds:.1f} s"
    judged = f"effective sample size at least {record.diagnostics.ess_bulk_min:,.0f}"
    lines = [f"{asked}, seed {record.seed}.", record.made_by, *panel_lines(fit), "", highest_risk(fit).text(), ""]
    if isinstance(fit, ClusterFit):
        table = cluster_table(fit)
        lines += [table.caption, table.text(), "", *between_lines(fit)]
    lines += [
        f"{drawn}; {judged}, largest R-hat {record.diagnostics.rhat_max:.3f}.",
        *(f"{'Warning' if note.kind is NoteKind.JUDGES_DIFFER else 'Note'}: {note.text}" for note in record.notes),
        *figure_lines(fit),
        "",
        *verdict_lines(fit.verdict),
    ]
    return Lines("\n".join(lines).rstrip())


def figure_lines(fit: Fit) -> list[str]:
    """Say how far the map follows each figure, what stands out from the one it follows most, and what that is not."""
    if fit.map.figures is None:
        return []
    told = beside(fit, fit.map.figures)
    lines = [f"Note: {note}" for note in told.notes]
    for each in told.follows.values():
        lines += [each.sentence, *(f"- {area.words(each.column)}" for area in each.out[:3])]
    return [*lines, *([NOT_CAUSE] if told.follows else [])]


def verdict_lines(verdict: Verdict) -> list[str]:
    """Write the verdict, a line for each reason, and an empty line."""
    headline, *reasons = verdict.lines
    return [f"Verdict: {headline}", *(f"- {reason}" for reason in reasons), ""]


def panel_lines(fit: Fit) -> list[str]:
    """Say what was found out about judges, ties and smoothness."""
    return [fit.words] if isinstance(fit, ClusterFit | PanelFit) and fit.words else []


def between_lines(fit: ClusterFit) -> list[str]:
    """Name up to five areas that could belong to either of two clusters."""
    doubtful = fit.best.between
    if not doubtful:
        return []
    shown = [f"{fit.map.names[each.area]} ({each.cluster} or {each.other})" for each in doubtful[:5]]
    more = f" and {len(doubtful) - 5:,} more" if len(doubtful) > 5 else ""
    return [f"Between two clusters: {', '.join(shown)}{more}.", ""]
