"""Researchers' addresses of their studies."""

from django.urls import path

from judgemap.web.studies import views, whole_map
from judgemap.web.studies.basemap import pages as base_map
from judgemap.web.studies.upload import pages as upload

app_name = "studies"
urlpatterns = [
    path("", views.list_studies),
    path("studies/", views.list_studies, name="list"),
    path("studies/<slug:slug>/", views.overview, name="overview"),
    path("studies/<slug:slug>/map", views.show_map, name="map"),
    path("studies/<slug:slug>/map/areas/<int:position>", views.area, name="area"),
    path("studies/<slug:slug>/map.svg", whole_map.plain_picture, name="picture"),
    path("studies/<slug:slug>/shapes/<int:level>/<int:x>/<int:y>", whole_map.tile, name="shapes"),
    path("studies/<slug:slug>/base-map", base_map.change, name="base_map"),
    path("studies/<slug:slug>/base-map/news", base_map.news, name="base_map_news"),
    path("studies/<slug:slug>/base-map/<int:key>.svg", base_map.whole, name="whole"),
    path("studies/<slug:slug>/texts", views.texts, name="texts"),
    path("studies/<slug:slug>/texts/<slug:language>", views.translate, name="translate"),
    path("studies/<slug:slug>/judging", views.judging, name="judging"),
    path("studies/<slug:slug>/status", views.status, name="status"),
    path("studies/<slug:slug>/close", views.close, name="close"),
    path("studies/<slug:slug>/delete", views.delete, name="delete"),
    path("studies/<slug:slug>/undelete", views.undelete, name="undelete"),
    path("studies/<slug:slug>/duplicate", views.duplicate, name="duplicate"),
    path("studies/<slug:slug>/colleagues", views.colleagues, name="colleagues"),
    path("studies/<slug:slug>/share", views.share, name="share"),
    path("studies/<slug:slug>/log", views.log, name="log"),
    path("studies/<slug:slug>/study.toml", views.definition, name="definition"),
    path("new/", upload.upload, name="upload"),
    path("new/<int:upload>/", upload.columns, name="columns"),
    path("making/<int:draft>/", upload.making, name="making"),
    path("making/<int:draft>/cancel", upload.cancel, name="cancel"),
    path("markdown", views.markdown, name="markdown"),
]
