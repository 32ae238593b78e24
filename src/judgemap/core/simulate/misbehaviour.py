"""Judges who do not answer as the model says: simulations of the ways in which real panels misbehave.

Every behaviour is a function (rng, setting) → `PanelAnswers`: true strengths from the prior, a number of judges,
uniformly drawn pairs, and the judges' answers. Each comes with its remedy: the parts of the panel model designed for
it.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from judgemap.core.model.counts import JudgedCounts, count_judged
from judgemap.core.model.graph import AreaGraph
from judgemap.core.model.judges import Panel, Parts, Reach, answer
from judgemap.core.model.outcomes import TieRule, log_chances, odds
from judgemap.core.model.prior import Covariance, independent
from judgemap.core.simulate.trials import draw_pairs
from judgemap.core.types import BoolArray, FloatArray, IntArray

UNEQUAL = (11, 27, 62, 344, 131, 1, 36, 81, 8, 3, 81, 1063)
"""How many answers each of the twelve judges of the Nottinghamshire study gave (Seymour et al., Table 3)."""
CARELESS = 0.2
LEAN = 1.0
TIES = 0.27
VIEW = 1.0
"""The standard deviation of a judge's own view of an area."""
NEAR, FAR = 0.25, 1.5
"""The same for areas near a judge's home, and for areas at the other end of the map."""
KNOWN = 0.5
"""The share of the map that each judge knows in `own_part`."""
HOT, HEAT, CALM = 0.1, 2.0, 1 / 3
"""The share of areas that are hot spots, how many times α they stand out by, and the spread of the others, in α."""


class Setting(NamedTuple):
    """The map, α, the number of judges and the number of comparisons."""

    graph: AreaGraph
    covariance: Covariance
    alpha: float
    judges: int
    comparisons: int


class PanelAnswers(NamedTuple):
    """The truth and the answers: judge, left area, right area, and 1 for left, −1 for right, 0 for a tie."""

    strengths: FloatArray
    judge: IntArray
    left: IntArray
    right: IntArray
    choice: IntArray

    def counts(self, n_judges: int) -> JudgedCounts:
        """Count by judge, pair and side."""
        return count_judged(
            self.judge, self.left, self.right, self.choice, n_areas=len(self.strengths), n_judges=n_judges
        )


class Behaviour(NamedTuple):
    """A way of answering, and the remedy for it."""

    simulate: Callable[[np.random.Generator, Setting], PanelAnswers]
    remedy: Callable[[Setting], Parts]


def as_modelled(rng: np.random.Generator, setting: Setting) -> PanelAnswers:
    """All judges answer as the model says."""
    return ask(rng, setting, _from_prior(rng, setting))


def careless(rng: np.random.Generator, setting: Setting) -> PanelAnswers:
    """One judge in five answers without looking."""
    panel = _from_prior(rng, setting)
    idle = max(1, round(CARELESS * setting.judges))
    return ask(rng, setting, panel._replace(lapse=np.where(np.arange(setting.judges) < idle, 1.0, 0.0)))


def adversary(rng: np.random.Generator, setting: Setting) -> PanelAnswers:
    """One judge takes the question the wrong way round."""
    panel = _from_prior(rng, setting)
    return ask(rng, setting, panel._replace(attention=np.where(np.arange(setting.judges) < 1, -1.0, 1.0)))


def leaning(rng: np.random.Generator, setting: Setting) -> PanelAnswers:
    """All judges lean to the left by one logit."""
    return ask(rng, setting, _from_prior(rng, setting)._replace(side=np.full(setting.judges, LEAN)))


def tying(rule: TieRule) -> Callable[[np.random.Generator, Setting], PanelAnswers]:
    """Judges say "about the same" in 27 of 100 answers, following a tie rule."""

    def simulate(rng: np.random.Generator, setting: Setting) -> PanelAnswers:
        return ask(rng, setting, _from_prior(rng, setting), rule)

    return simulate


def own_views(rng: np.random.Generator, setting: Setting) -> PanelAnswers:
    """Each judge has their own view, independent from area to area."""
    views = VIEW * rng.standard_normal((setting.judges, setting.graph.n_areas))
    return ask(rng, setting, _from_prior(rng, setting)._replace(views=views))


def own_smooth_views(rng: np.random.Generator, setting: Setting) -> PanelAnswers:
    """Each judge has their own view, which is smooth on the map."""
    views = VIEW * setting.covariance.draw(rng, setting.judges)
    return ask(rng, setting, _from_prior(rng, setting)._replace(views=views))


def unequal_views(rng: np.random.Generator, setting: Setting) -> PanelAnswers:
    """As `own_smooth_views`, with as unequal numbers of answers per judge as in the paper."""
    views = VIEW * setting.covariance.draw(rng, setting.judges)
    return ask(rng, setting, _from_prior(rng, setting)._replace(views=views), shares=unequal_shares(setting))


def familiar(rng: np.random.Generator, setting: Setting) -> PanelAnswers:
    """Each judge knows the areas near home well, and errs more the further away an area is."""
    spread = NEAR + (FAR - NEAR) * _distance_share(setting.graph)[_homes(rng, setting)]
    views = spread * rng.standard_normal(spread.shape)
    return ask(rng, setting, _from_prior(rng, setting)._replace(views=views))


def own_part(rng: np.random.Generator, setting: Setting) -> PanelAnswers:
    """Each judge knows one part of the map, and guesses about all other pairs."""
    answered = ask(rng, setting, _from_prior(rng, setting))
    sure = _known_pairs(rng, setting, answered)
    guess = 2 * rng.integers(2, size=len(sure)) - 1
    return answered._replace(choice=np.where(sure, answered.choice, guess))


def asked_part(rng: np.random.Generator, setting: Setting) -> PanelAnswers:
    """Each judge knows one part of the map, said so, and is asked about that part alone."""
    more = setting._replace(comparisons=round(4 * setting.comparisons / KNOWN**2))
    answered = ask(rng, more, _from_prior(rng, setting))
    sure, each = _known_pairs(rng, setting, answered), setting.comparisons // setting.judges
    rows = [np.flatnonzero(sure & (answered.judge == judge))[:each] for judge in range(setting.judges)]
    kept = np.concatenate(rows)
    return PanelAnswers(answered.strengths, *(column[kept] for column in answered[1:]))


def _known_pairs(rng: np.random.Generator, setting: Setting, asked: PanelAnswers) -> BoolArray:
    """Let each judge know the part of the map around a home, and say which of the pairs lie in it."""
    distance = _distance_share(setting.graph)[_homes(rng, setting)]
    knows = distance <= np.quantile(distance, KNOWN, axis=1, keepdims=True)
    return knows[asked.judge, asked.left] & knows[asked.judge, asked.right]


def hot_spots(rng: np.random.Generator, setting: Setting) -> PanelAnswers:
    """One area in ten stands far out from its neighbours, which differ little: the map is not smooth."""
    panel = _from_prior(rng, setting)
    return ask(rng, setting, panel._replace(strengths=heated(rng, setting, panel.strengths)))


def rough(rng: np.random.Generator, setting: Setting) -> PanelAnswers:
    """Half of the variance of the strengths is smooth on the map; the other half is independent between areas."""
    panel = _from_prior(rng, setting)
    own = setting.alpha * rng.standard_normal(setting.graph.n_areas)
    return ask(rng, setting, panel._replace(strengths=(panel.strengths + own) / np.sqrt(2)))


def _differ(setting: Setting) -> Parts:
    return Parts(disagreement=setting.covariance)


def _differ_anywhere(setting: Setting) -> Parts:
    return Parts(disagreement=independent(setting.graph.n_areas))


BEHAVIOURS = {
    "as-modelled": Behaviour(as_modelled, lambda _: Parts()),
    "careless": Behaviour(careless, lambda _: Parts(lapses=True)),
    "adversary": Behaviour(adversary, lambda _: Parts(attention=True)),
    "leaning": Behaviour(leaning, lambda _: Parts(side=True)),
    "ties-rao-kupper": Behaviour(tying(TieRule.RAO_KUPPER), lambda _: Parts(ties=TieRule.RAO_KUPPER)),
    "ties-davidson": Behaviour(tying(TieRule.DAVIDSON), lambda _: Parts(ties=TieRule.DAVIDSON)),
    "own-views": Behaviour(own_views, _differ_anywhere),
    "own-smooth-views": Behaviour(own_smooth_views, _differ),
    "unequal-views": Behaviour(unequal_views, _differ),
    "familiar": Behaviour(familiar, _differ_anywhere),
    "own-part": Behaviour(own_part, lambda at: Parts(reach=Reach.on(at.graph))),
    "hot-spots": Behaviour(hot_spots, lambda _: Parts(smoothness=True)),
    "rough": Behaviour(rough, lambda _: Parts(smoothness=True)),
    "asked-part": Behaviour(asked_part, lambda _: Parts()),
}
"""Each way of answering, by name. Add new ones at the end, because the position here is part of a simulation's seed."""


def attentive(setting: Setting, strengths: FloatArray) -> Panel:
    """Return judges who all see these strengths and answer as the model says."""
    nothing = np.zeros(setting.judges)
    return Panel(strengths, np.zeros((setting.judges, len(strengths))), nothing, nothing + 1, nothing, {})


def _from_prior(rng: np.random.Generator, setting: Setting) -> Panel:
    """Draw true strengths, and judges who all see them."""
    return attentive(setting, setting.alpha * setting.covariance.draw(rng, 1)[0])


def unequal_shares(setting: Setting) -> FloatArray:
    """Return how the judges share the answers if they do so as unequally as in the paper."""
    return np.resize(np.array(UNEQUAL, dtype=np.float64), setting.judges)


def heated(rng: np.random.Generator, setting: Setting, strengths: FloatArray) -> FloatArray:
    """Calm a map, and make one area in ten a hot spot."""
    n = setting.graph.n_areas
    hot = rng.permutation(n)[: max(1, round(HOT * n))]
    strengths = CALM * strengths
    strengths[hot] -= HEAT * setting.alpha
    return strengths


def ask(
    rng: np.random.Generator,
    setting: Setting,
    panel: Panel,
    rule: TieRule | None = None,
    shares: FloatArray | None = None,
) -> PanelAnswers:
    """Ask uniform pairs, equally many per judge or by ``shares``. With a tie rule, ties are set to 27 % of answers."""
    parts = np.ones(setting.judges) if shares is None else shares
    ends = np.round(np.cumsum(parts) / parts.sum() * setting.comparisons).astype(np.int64)
    judge = np.searchsorted(ends, np.arange(setting.comparisons), side="right")
    left, right = draw_pairs(rng, len(panel.strengths), setting.comparisons).T
    if rule is not None:
        eta = panel.strengths[left] - panel.strengths[right]
        at = odds(eta)

        def excess(p: float) -> float:
            return float(np.exp(log_chances(rule, eta, at, np.array(p))[2]).mean() - TIES)

        panel = panel._replace(scales={"tie_chance": float(brentq(excess, 1e-6, 1 - 1e-6))})
    return PanelAnswers(panel.strengths, judge, left, right, answer(rng, panel, rule, judge, left, right))


def _homes(rng: np.random.Generator, setting: Setting) -> IntArray:
    return rng.integers(setting.graph.n_areas, size=setting.judges)


def _distance_share(graph: AreaGraph) -> FloatArray:
    """Borders between two areas, as a share of the maximum; unreachable areas count as the maximum."""
    distance = graph.distances()
    most = distance[np.isfinite(distance)].max()
    return np.minimum(distance, most) / max(most, 1.0)
