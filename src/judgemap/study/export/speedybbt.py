"""A fit's data for the R package speedyBBT, to check the results there."""

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from judgemap.core.model.prior import InverseGamma
from judgemap.errors import StudyError
from judgemap.study.data.comparisons import Comparisons
from judgemap.study.fit.folder import new_folder
from judgemap.study.fit.result import Fit

MARK = "speedybbt.R"
"""The script, which also distinguishes such a folder from somebody's other files."""
FILES = (MARK, "comparisons.csv", "areas.csv", "covariance.csv")

SCRIPT = """# Written by judgemap: fits its {model} model again with speedyBBT, and shows both results side by side.
# install.packages("speedyBBT")
library(speedyBBT)

comparisons <- read.csv("comparisons.csv")
areas <- read.csv("areas.csv")
covariance <- as.matrix(read.csv("covariance.csv", header = FALSE))
dimnames(covariance) <- NULL

# item1 is always the winner and outcome always 1, as in speedyBBT's own examples.
given <- list(outcome = comparisons$outcome, covariance = covariance, n.iter = 5000, chi = {scale}, psi = {shape})
if (exists("speedy_BBTm")) {{ # since version 1.0.0.9000
  draws <- speedy_BBTm(given$outcome, comparisons$item1, comparisons$item2, item.prior.var = covariance,
                       n.iter = given$n.iter, chi = given$chi, psi = given$psi)
  lambda <- as.matrix(draws)[, paste0("lambda[", areas$item, "]")]
}} else {{
  draws <- speedyBBTm(given$outcome, comparisons$item1, comparisons$item2, player.prior.var = covariance,
                      n.iter = given$n.iter, chi = given$chi, psi = given$psi)
  lambda <- parameter(draws, "lambda")
}}
risk <- {sign} * (lambda - rowMeans(lambda))
areas$speedybbt_mean <- colMeans(risk)
areas$speedybbt_sd <- apply(risk, 2, sd)
print(areas)
cat("Correlation of the means:", cor(areas$risk_mean, areas$speedybbt_mean), "\\n")
"""


def export_speedybbt(fit: Fit, data: Comparisons, folder: str | Path) -> int:
    """Write what speedyBBT reads: comparisons by number, prior covariance, our results, and a script to run it.

    speedyBBT's model is ours with α² inferred and no ties. Return the number of decided answers it will read.

    >>> import tempfile, judgemap as jm
    >>> areas, data = jm.example_study(seed=1)
    >>> fit = jm.fit_spatial(data, areas, seed=1, chains=2, draws=100)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     export_speedybbt(fit, data, Path(folder, "speedybbt"))
    ...     Path(folder, "speedybbt", "comparisons.csv").read_text().splitlines()[0]
    1848
    'judge,item1,item2,outcome'
    """
    prior = fit.record.hyperparameters
    if not isinstance(prior, InverseGamma) or fit.record.of_panel:
        raise StudyError(
            "speedyBBT has the standard and the spatial model with α² inferred and judges alike; fit one of these first"
        )
    if tuple(data.ids) != fit.map.ids:
        raise StudyError("the comparisons and the fit are of different areas; give the file that was fitted")
    decided = np.flatnonzero(data.decided)
    first_won = data.outcome[decided] == 0
    winner = np.where(first_won, data.left[decided], data.right[decided]) + 1
    loser = np.where(first_won, data.right[decided], data.left[decided]) + 1
    judges = [data.judges[code] if code >= 0 else "" for code in data.judge[decided]]
    script = SCRIPT.format(
        model=fit.record.model, scale=f"{prior.scale:g}", shape=f"{prior.shape:g}", sign=f"{fit.record.sign:g}"
    )
    with new_folder(Path(folder), FILES) as draft:
        rows = zip(judges, winner.tolist(), loser.tolist(), [1] * len(decided), strict=True)
        _write(draft / "comparisons.csv", ("judge", "item1", "item2", "outcome"), rows)
        table = fit.areas[["id", "name", "risk_mean", "risk_sd"]]
        numbered = table.assign(item=np.arange(1, len(table) + 1))[["item", *table.columns]]
        numbered.to_csv(draft / "areas.csv", index=False)
        np.savetxt(draft / "covariance.csv", fit.covariance.matrix, delimiter=",", fmt="%.17g")
        (draft / MARK).write_text(script, encoding="utf-8")
    return len(decided)


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)
