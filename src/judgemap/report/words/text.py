"""Names and numbers as people read them, in sentences and in tables. Cheap to import, because web pages use it too."""

import unicodedata
from collections.abc import Sequence

from judgemap.study.assess.findings import Grouping

DESIGNS = {
    "uniform": "uniform design",
    "naive": "naive spatial design",
    "principal": "principal component design",
    "optimal": "optimal design",
    "adaptive": "adaptive design",
    "weights": "design with given weights",
}
"""What designs are called in a sentence."""
MODELS = {
    "spatial": ("spatial", "neighbouring areas are assumed to have similar risk, unless the answers suggest otherwise"),
    "clusters": (
        "clustering",
        "neighbouring areas are assumed to share a level of risk, in clusters whose number the answers decide",
    ),
    "standard": ("standard", "an area tells us nothing about its neighbours"),
}
"""What a model is called in a sentence, and what it assumes."""
NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def isolated(name: str) -> str:
    """Isolate a name written from right to left, so that it does not disturb the order of the words around it.

    >>> isolated("Loop")
    'Loop'
    >>> len(isolated("حي السلام")) - len("حي السلام")
    2
    """
    from_right = any(unicodedata.bidirectional(letter) in ("R", "AL") for letter in name)
    return f"\u2068{name}\u2069" if from_right else name


def listed(names: Sequence[str], most: int = 5) -> str:
    """List names in a sentence, counting those beyond the first few.

    >>> listed(["Ash", "Elm"]), listed(["Ash", "Elm", "Fir", "Yew"], most=2)
    ('Ash and Elm', 'Ash, Elm and two more')
    """
    shown = [isolated(name) for name in names[:most]]
    if len(names) > most:
        shown.append(f"{in_words(len(names) - most)} more")
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def in_words(number: int) -> str:
    """Write a whole number: in letters up to twelve, in digits beyond.

    >>> in_words(3), in_words(1848)
    ('three', '1,848')
    """
    return NUMBERS[number] if 0 <= number < len(NUMBERS) else f"{number:,}"


def counted(number: int, thing: str) -> str:
    """Write a number and what is counted.

    >>> counted(1, "area"), counted(77, "area")
    ('one area', '77 areas')
    """
    return f"{in_words(number)} {thing}{'' if number == 1 else 's'}"


def capital(sentence: str) -> str:
    """Begin with a capital letter, unless that letter is a symbol.

    >>> capital("twelve judges"), capital("α has a prior")
    ('Twelve judges', 'α has a prior')
    """
    first = sentence[:1]
    return (first.upper() if first.isascii() else first) + sentence[1:]


def shortened(name: str, most: int) -> str:
    """Cut a name that is longer than ``most`` letters.

    >>> shortened("Loop", 10), shortened("Washington Heights", 12)
    ('Loop', 'Washington…')
    """
    return name if len(name) <= most else f"{name[: most - 1].rstrip()}…"


def percentage(chance: float) -> str:
    """Write a probability in per cent, never rounding to certainty.

    >>> percentage(0.514), percentage(0.9991), percentage(0.002)
    ('51 %', '> 99 %', '< 1 %')
    """
    if chance > 0.99:
        return "> 99 %"
    return "< 1 %" if chance < 0.01 else f"{100 * chance:.0f} %"


def per_cent(chance: float) -> str:
    """Write a probability so that it can be read aloud, never rounding to certainty.

    >>> per_cent(0.514), per_cent(0.9991)
    ('51 per cent', 'more than 99 per cent')
    """
    return percentage(chance).replace("> ", "more than ").replace("< ", "less than ").replace("%", "per cent")


def times_in_ten(chance: float) -> str:
    """Write how often something happens, for people who do not read probabilities; never as 'always' or 'never'.

    >>> times_in_ten(0.912), times_in_ten(0.7), times_in_ten(0.03), times_in_ten(0.9991)
    ('9.1 times in 10', '7 times in 10', '3 times in 100', 'more than 99 times in 100')
    """
    if not 0.005 <= chance <= 0.995:
        return "more than 99 times in 100" if chance > 0.5 else "less than once in 100"
    if 0.05 <= chance <= 0.95:
        return f"{_times(round(10 * chance, 1))} in 10"
    return f"{_times(round(100 * chance))} in 100"


def _times(count: float) -> str:
    return "once" if count == 1 else f"{count:g} times"


def share(part: float) -> str:
    """Write a share in per cent, with one decimal if it is small; unlike a probability, it may be 0 or 100.

    >>> share(0.123), share(0.0213), share(0)
    ('12 %', '2.1 %', '0 %')
    """
    value = 100 * part
    return f"{plain(round(value, 1 if value < 10 else 0))} %"


def signed(value: float, decimals: int = 2) -> str:
    """Write a risk, or another number of either sign, with a true minus sign.

    >>> signed(-0.125), signed(-0.001), signed(0.8765, 3)
    ('−0.12', '0.00', '0.876')
    """
    return f"{round(value, decimals) + 0.0:.{decimals}f}".replace("-", "−")


def number(value: float) -> str:
    """Write a round number: a tick of an axis, a limit of a class.

    >>> number(-0.5), number(1e-12), number(20.0)
    ('−0.5', '0', '20')
    """
    return f"{value:.4g}".replace("-", "−") if abs(value) > 1e-9 else "0"


def plain(value: float) -> str:
    """Write a number to one decimal, or two if it is below 10, without trailing zeros.

    >>> plain(1234.0), plain(0.251), plain(12.54), plain(0.4)
    ('1,234', '0.25', '12.5', '0.4')
    """
    text = f"{value:,.1f}" if abs(value) >= 10 else f"{value:.2f}"
    return text.rstrip("0").rstrip(".")


def measured(value: float) -> str:
    """Write a measurement with as many decimals as its size calls for.

    >>> measured(1288.9), measured(76.42), measured(-0.123)
    ('1,289', '76.4', '−0.12')
    """
    decimals = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    return f"{value:,.{decimals}f}".replace("-", "−")


RARE = 0.02
"""Numbers of clusters less probable than this are pooled, at either end."""


def numbers_of_clusters(numbers: Sequence[tuple[int, float]]) -> str:
    """Write the distribution of the number of clusters, with rare numbers at either end pooled.

    >>> numbers_of_clusters([(1, 0.001), (2, 0.06), (3, 0.31), (4, 0.38), (5, 0.18), (6, 0.06), (7, 0.009)])
    '2: 6 %, 3: 31 %, 4: 38 %, 5: 18 %, 6: 6 %, more: < 1 %'
    """
    known = sorted(numbers)
    usual = [k for k, chance in known if chance >= RARE]
    fewest, most = usual[0], usual[-1]
    fewer = sum(chance for k, chance in known if k < fewest)
    more = sum(chance for k, chance in known if k > most)
    parts = [f"fewer: {percentage(fewer)}"] if fewer >= RARE / 4 else []
    parts += [f"{k}: {percentage(chance)}" for k, chance in known if fewest <= k <= most]
    parts += [f"more: {percentage(more)}"] if more >= RARE / 4 else []
    return ", ".join(parts)


def number_sentence(numbers: Sequence[tuple[int, float]]) -> str:
    """Say how many clusters there may be.

    >>> number_sentence([(2, 0.2), (3, 0.8)])
    'The number of clusters is uncertain; by probability, 2: 20 %, 3: 80 %.'
    """
    if max(numbers, key=lambda each: each[1])[0] == 1:
        alone = "The answers do not support splitting the map into groups."
        return f"{alone} The number of groups, by probability, {numbers_of_clusters(numbers)}."
    if len(numbers) == 1:
        return f"In every draw there are {numbers[0][0]} clusters."
    return f"The number of clusters is uncertain; by probability, {numbers_of_clusters(numbers)}."


def partition_sentence(shown: Grouping) -> str:
    """Say how probable the partition shown on a map is.

    >>> from judgemap.study.assess.findings import Group
    >>> groups = [Group(3, 1.0, 0.5, 1.5), Group(4, -1.0, -1.5, -0.5)]
    >>> partition_sentence(Grouping(groups, 0.003, 0.81, [(2, 0.06), (3, 0.94)]))
    'The grouping shown has two clusters (probability 6 %). Exactly this grouping has a probability of < 1 %; for 81 %
    of pairs of areas it is expected to be right about whether they belong together.'
    """
    count = len(shown.groups)
    clusters = "one cluster" if count == 1 else f"{in_words(count)} clusters"
    return (
        f"The grouping shown has {clusters} (probability {percentage(shown.number_chance)}). Exactly this grouping has "
        f"a probability of {percentage(shown.chance)}; for {percentage(shown.agreement)} of pairs of areas it is "
        "expected to be right about whether they belong together."
    )
