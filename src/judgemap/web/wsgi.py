"""The application as any WSGI server calls it, and as granian does, with threads reserved for judges."""

import os

from django.core.wsgi import get_wsgi_application
from django.urls import get_resolver

from judgemap.core.threads import one_thread
from judgemap.web.server.database import use_pool
from judgemap.web.server.gateway import Gateway
from judgemap.web.server.health import observer
from judgemap.web.server.supervise import NO_WORKERS, SERVER, end_with_server

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "judgemap.web.settings")
application = get_wsgi_application()
_ = get_resolver().url_patterns  # loads every page, which is the better part of a second, before anybody waits for one
one_thread()  # judges' requests come at the same time, and for their small matrices threads only wait for each other
end_with_server()
if NO_WORKERS in os.environ:
    from judgemap.web.server.worker import watch_for_lost  # its models can be imported only now

    watch_for_lost()
if SERVER in os.environ:
    use_pool()
# Most threads wait for the database, so a process can have many more of them than there are cores.
gateway = Gateway(application, judges=16, others=8, observe=observer())
