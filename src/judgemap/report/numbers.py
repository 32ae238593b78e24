"""Numbers as people read them. Nothing heavy is imported here: pages use it too."""


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
