"""The application as any WSGI server calls it, and as granian does, with threads reserved for judges."""

import os
from pathlib import Path

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.template.loader import get_template
from django.template.utils import get_app_template_dirs
from django.urls import reverse
from django.utils.translation import override

from judgemap.core.threads import one_thread
from judgemap.web.server.database import use_pool
from judgemap.web.server.gateway import Gateway
from judgemap.web.server.health import observer
from judgemap.web.server.supervise import NO_WORKERS, SERVER, end_with_server


def load_pages() -> None:
    """Load every page and its templates, more than a second's work, before anybody waits for one."""
    for language in dict(settings.LANGUAGES):
        with override(language):
            reverse("studies:list")
    for folder in get_app_template_dirs("templates"):
        if folder.is_relative_to(Path(__file__).parent):
            for path in folder.rglob("*.html"):
                get_template(str(path.relative_to(folder)))


os.environ.setdefault("DJANGO_SETTINGS_MODULE", "judgemap.web.settings")
application = get_wsgi_application()
load_pages()
one_thread()  # judges' requests come at the same time, and for their small matrices threads only wait for each other
end_with_server()
if NO_WORKERS in os.environ:
    from judgemap.web.server.worker import watch_for_lost  # its models can be imported only now

    watch_for_lost()
if SERVER in os.environ:
    use_pool()
# Most threads wait for the database, so a process can have many more of them than there are cores.
gateway = Gateway(application, judges=16, others=8, observe=observer())
