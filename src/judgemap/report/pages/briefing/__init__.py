"""The briefing: what a decision maker reads. A front page that stands on its own, then the details behind it."""

from judgemap.report.pages.briefing.about import About, Gallery, read_about
from judgemap.report.pages.briefing.document import briefing

__all__ = ["About", "Gallery", "briefing", "read_about"]
