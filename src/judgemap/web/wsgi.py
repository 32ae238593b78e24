"""The application as any WSGI server calls it; granian calls `judgemap.web.rsgi`."""

import os

from django.core.wsgi import get_wsgi_application

from judgemap.web.server.supervise import NO_FITTERS, end_with_server

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "judgemap.web.settings")
application = get_wsgi_application()
end_with_server()
if NO_FITTERS in os.environ:
    from judgemap.web.server.worker import watch_for_lost  # its models can be imported only now

    watch_for_lost()
