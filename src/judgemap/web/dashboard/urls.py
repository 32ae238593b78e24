"""Addresses of a study's dashboard."""

from django.urls import path

from judgemap.web.dashboard import live

HERE = "studies/<slug:slug>/dashboard"
app_name = "dashboard"
urlpatterns = [
    path(HERE, live.live, name="live"),
    path(f"{HERE}/now", live.now, name="now"),
    path(f"{HERE}/map.svg", live.picture, name="picture"),
    path(f"{HERE}/areas", live.areas, name="areas"),
]
