"""Names and numbers as people read them, in sentences and in tables. Light to import: web pages use it too."""

import unicodedata
from collections.abc import Sequence

NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def isolated(name: str) -> str:
    """Fence a name that is written from right to left, so that it leaves the order of the words around it alone.

    >>> isolated("Loop")
    'Loop'
    >>> len(isolated("حي السلام")) - len("حي السلام")
    2
    """
    from_right = any(unicodedata.bidirectional(letter) in ("R", "AL") for letter in name)
    return f"\u2068{name}\u2069" if from_right else name


def listed(names: Sequence[str], most: int = 5) -> str:
    """Put names in a row, the rest counted.

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


def per_cent(chance: float) -> str:
    """Write a probability so that it can be read aloud, never rounding to certainty.

    >>> per_cent(0.514), per_cent(0.9991), per_cent(0.002)
    ('51 per cent', 'more than 99 per cent', 'less than 1 per cent')
    """
    if chance > 0.99:
        return "more than 99 per cent"
    return "less than 1 per cent" if chance < 0.01 else f"{100 * chance:.0f} per cent"


def percentage(chance: float) -> str:
    """Write a probability in per cent, never rounding to certainty.

    >>> percentage(0.514), percentage(0.9991), percentage(0.002)
    ('51 %', '> 99 %', '< 1 %')
    """
    if chance > 0.99:
        return "> 99 %"
    return "< 1 %" if chance < 0.01 else f"{100 * chance:.0f} %"


def signed(value: float) -> str:
    """Write a risk with two decimals and a true minus sign.

    >>> signed(-0.125), signed(-0.001)
    ('−0.12', '0.00')
    """
    return f"{round(value, 2) + 0.0:.2f}".replace("-", "−")
