"""The judge's addresses."""

from django.urls import path, register_converter

from judgemap.web.judge import answering, ground, pages
from judgemap.web.studies.basemap.pictures import PlacesConverter

register_converter(PlacesConverter, "places")
app_name = "judge"
urlpatterns = [
    path("j/<slug:token>", pages.short),
    path("j/<slug:token>/", pages.home, name="home"),
    path("j/<slug:token>/consent", pages.consent, name="consent"),
    path("j/<slug:token>/answer", pages.answer, name="answer"),
    path("j/<slug:token>/last", pages.last, name="last"),
    path("j/<slug:token>/begin", pages.acting(answering.end_practice), name="end_practice"),
    path("j/<slug:token>/go-on", pages.acting(answering.go_on), name="go_on"),
    path("j/<slug:token>/language", pages.language, name="language"),
    path("j/<slug:token>/areas", pages.areas, name="areas"),
    path("j/<slug:token>/places", pages.places, name="places"),
    path("j/<slug:token>/link", pages.link, name="link"),
    path("j/<slug:token>/jump", pages.jump, name="jump"),
    path("j/<slug:token>/tiles/<int:key>/<places:places>", ground.tiles, name="tiles"),
    path("j/<slug:token>/ground/<int:key>/<int:position>.svg", ground.ground_picture, name="picture"),
    path("s/<slug:code>/", pages.join, name="join"),
    path("withdraw", pages.withdraw, name="withdraw"),
]
