"""What the log may not say."""

import logging
import re

SECRET_PATHS = re.compile(r"/(j|s|first|invitation)/[^/\s'\"?]+")


class WithoutTokens(logging.Filter):
    """Cut the tokens of personal links out of what is logged.

    >>> record = logging.LogRecord("web", logging.ERROR, "", 1, "Internal error: %s", ("/j/dGhlIHRva2Vu/answer",), None)
    >>> WithoutTokens().filter(record), record.getMessage()
    (True, 'Internal error: /j/…/answer')
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Rewrite the message, and let it through."""
        record.msg, record.args = SECRET_PATHS.sub(r"/\1/…", record.getMessage()), ()
        return True
