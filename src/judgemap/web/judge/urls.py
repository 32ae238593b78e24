"""The judge's addresses."""

from django.urls import path, register_converter

from judgemap.web.judge import (
    ground,
    places_page,
    preview,
    views,
)
from judgemap.web.studies.basemap import pages as base_map
from judgemap.web.studies.basemap.pictures import PlacesConverter

register_converter(PlacesConverter, "places")
app_name = "judge"
urlpatterns = [
    path("j/<slug:token>", views.short),
    path("j/<slug:token>/", views.home, name="home"),
    path("j/<slug:token>/consent", views.consent, name="consent"),
    path("j/<slug:token>/answer", views.answer, name="answer"),
    path("j/<slug:token>/last", views.last, name="last"),
    path("j/<slug:token>/begin", views.end_practice, name="end_practice"),
    path("j/<slug:token>/go-on", views.go_on, name="go_on"),
    path("j/<slug:token>/language", views.language, name="language"),
    path("j/<slug:token>/areas", views.areas, name="areas"),
    path("j/<slug:token>/places", places_page.places, name="places"),
    path("j/<slug:token>/link", views.link, name="link"),
    path("j/<slug:token>/tiles/<int:key>/<places:places>", ground.tiles, name="tiles"),
    path("j/<slug:token>/ground/<int:key>/<int:position>.svg", ground.ground_picture, name="picture"),
    path("s/<slug:code>/", views.join, name="join"),
    path("withdraw", views.withdraw, name="withdraw"),
]
preview_urls = (
    [
        path("try/<slug:token>/", preview.home, name="home"),
        path("try/<slug:token>/consent", preview.consent, name="consent"),
        path("try/<slug:token>/answer", preview.answer, name="answer"),
        path("try/<slug:token>/last", preview.last, name="last"),
        path("try/<slug:token>/begin", preview.end_practice, name="end_practice"),
        path("try/<slug:token>/go-on", preview.go_on, name="go_on"),
        path("try/<slug:token>/language", preview.language, name="language"),
        path("try/<slug:token>/areas", preview.areas, name="areas"),
        path("try/<slug:token>/places", preview.places, name="places"),
        path("try/<slug:token>/link", preview.link, name="link"),
        path("try/<slug:slug>/tiles/<int:key>/<places:places>", base_map.tiles, name="tiles"),
        path("try/<slug:slug>/ground/<int:key>/<int:position>.svg", preview.ground_picture, name="picture"),
        path("try/<slug:token>/jump", preview.jump, name="jump"),
        path("try-withdraw", preview.withdraw, name="withdraw"),
    ],
    "judge",
)
"""The judge's addresses again, for previews: the study's name takes the place of the token."""
