"""The application as granian calls it."""

import os

from judgemap.web.server.gateway import Gateway
from judgemap.web.server.metrics import observer
from judgemap.web.server.pooling import use_pool
from judgemap.web.server.supervise import THREADS
from judgemap.web.wsgi import application as django

threads = int(os.environ[THREADS])
use_pool()
application = Gateway(django, judges=threads - threads // 3, others=threads // 3, observe=observer())
