"""The application as granian calls it."""

import os

from django.core.wsgi import get_wsgi_application

from judgemap.web.server.supervise import end_with_server

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "judgemap.web.settings")
application = get_wsgi_application()
end_with_server()
