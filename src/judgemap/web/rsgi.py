"""The application as granian calls it, with threads in reserve for judges."""

from judgemap.web.server.gateway import Gateway
from judgemap.web.wsgi import application as django

# Most threads wait for the database, so a process can have many more of them than there are cores.
application = Gateway(django, judges=16, others=8)
