"""The application as granian calls it, with threads reserved for judges."""

import os

from judgemap.web.server.database import use_pool
from judgemap.web.server.gateway import Gateway, observer
from judgemap.web.server.supervise import SERVER
from judgemap.web.wsgi import application as django

if SERVER in os.environ:
    use_pool()
# Most threads wait for the database, so a process can have many more of them than there are cores.
application = Gateway(django, judges=16, others=8, observe=observer())
