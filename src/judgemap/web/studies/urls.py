"""Researchers' addresses of their studies."""

from django.urls import path

from judgemap.web.studies.basemap import pages as base_map
from judgemap.web.studies.pages import maps, studies, texts
from judgemap.web.studies.upload import pages as upload

app_name = "studies"
urlpatterns = [
    path("", studies.list_studies),
    path("studies/", studies.list_studies, name="list"),
    path("studies/<slug:slug>/", studies.overview, name="overview"),
    path("studies/<slug:slug>/map", maps.show_map, name="map"),
    path("studies/<slug:slug>/map/areas/<int:position>", maps.area, name="area"),
    path("studies/<slug:slug>/map-<int:key>.svg", maps.plain_picture, name="picture"),
    path("studies/<slug:slug>/shapes/<int:key>/<int:level>/<int:x>/<int:y>", maps.tile, name="shapes"),
    path("studies/<slug:slug>/base-map", base_map.change, name="base_map"),
    path("studies/<slug:slug>/base-map/news", base_map.news, name="base_map_news"),
    path("studies/<slug:slug>/base-map/<int:key>.svg", base_map.whole, name="whole"),
    path("studies/<slug:slug>/texts", texts.texts, name="texts"),
    path("studies/<slug:slug>/texts/<slug:language>", texts.translate, name="translate"),
    path("studies/<slug:slug>/imprint", texts.imprint, name="imprint"),
    path("studies/<slug:slug>/judging", texts.judging, name="judging"),
    path("studies/<slug:slug>/status", studies.status, name="status"),
    path("studies/<slug:slug>/open", studies.opening, name="open"),
    path("studies/<slug:slug>/close", studies.close, name="close"),
    path("studies/<slug:slug>/reopen", studies.reopen, name="reopen"),
    path("studies/<slug:slug>/delete", studies.delete, name="delete"),
    path("studies/<slug:slug>/undelete", studies.undelete, name="undelete"),
    path("studies/<slug:slug>/duplicate", studies.duplicate, name="duplicate"),
    path("studies/<slug:slug>/colleagues", studies.colleagues, name="colleagues"),
    path("studies/<slug:slug>/share", studies.share, name="share"),
    path("studies/<slug:slug>/log", studies.log, name="log"),
    path("studies/<slug:slug>/study.toml", studies.definition, name="definition"),
    path("new/", upload.upload, name="upload"),
    path("new/<int:upload>/", upload.columns, name="columns"),
    path("making/<int:draft>/", upload.making, name="making"),
    path("making/<int:draft>/cancel", upload.cancel, name="cancel"),
    path("markdown", texts.markdown, name="markdown"),
]
