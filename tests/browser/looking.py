"""What every page is looked at for, in a real browser."""

WIDTHS = (390, 1280)


def look(page, what: str = "the page", widths: tuple[int, ...] = WIDTHS) -> None:
    """Check a state of a page: axe finds nothing, and nothing sticks out at any width."""
    from axe_playwright_python.sync_playwright import Axe

    for width in widths:
        page.set_viewport_size({"width": width, "height": 800})
        page.wait_for_timeout(100)
        out = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert out <= 0, f"{what} is too wide at {width}"
        found = Axe().run(page)
        assert found.violations_count == 0, f"{what} at {width}: {found.generate_report()}"
