"""Every address of the study server."""

from django.urls import include, path

from judgemap.web.api.urls import interface
from judgemap.web.results.urls import fits_urls, reading_urls
from judgemap.web.server.health import healthz

urlpatterns = [
    path("healthz", healthz, name="healthz"),
    path("", include("judgemap.web.judge.urls")),
    path("", include("judgemap.web.people.urls")),
    path("", include("judgemap.web.studies.urls")),
    path("", include("judgemap.web.dashboard.urls")),
    path("", include(fits_urls)),
    path("", include(reading_urls)),
    path("", include("judgemap.web.results.urls")),
    path("", include("judgemap.web.api.urls")),
    path("", include("judgemap.web.accounts.urls")),
    *interface,
]
handler400 = "judgemap.web.server.errors.bad_request"
handler403 = "judgemap.web.server.errors.forbidden"
handler404 = "judgemap.web.server.errors.not_found"
handler500 = "judgemap.web.server.errors.server_error"
