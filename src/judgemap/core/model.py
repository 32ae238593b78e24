"""A model: the counts, the covariance of the strengths, and what is believed of α². Samplers take nothing else."""

from dataclasses import dataclass

from judgemap.core.comparisons import PairCounts
from judgemap.core.prior import Covariance, VariancePrior


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """logit P(i beats j) = λ_i − λ_j, λ ~ N(0, α² C), α² fixed or inverse-gamma.

    >>> from judgemap.core.comparisons import count_pairs
    >>> from judgemap.core.prior import InverseGamma, independent
    >>> Model(count_pairs([0], [1], n_areas=2), independent(2), InverseGamma()).counts.total
    1
    """

    counts: PairCounts
    covariance: Covariance
    variance: VariancePrior

    def __post_init__(self) -> None:
        if self.counts.n_areas != self.covariance.n_areas:
            raise ValueError(
                f"the comparisons know {self.counts.n_areas} areas, the covariance {self.covariance.n_areas}"
            )
