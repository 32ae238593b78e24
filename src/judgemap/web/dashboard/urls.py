"""Addresses of a study's dashboard."""

from django.urls import path

from judgemap.web.dashboard import judge_views, reliability_views, views

HERE = "studies/<slug:slug>/dashboard"
app_name = "dashboard"
urlpatterns = [
    path(HERE, views.live, name="live"),
    path(f"{HERE}/now", views.now, name="now"),
    path(f"{HERE}/areas", views.areas, name="areas"),
    path(f"{HERE}/judges", judge_views.judges, name="judges"),
    path(f"{HERE}/judges/act", judge_views.act, name="act"),
    path(f"{HERE}/judges/<slug:name>", judge_views.judge, name="judge"),
    path(f"{HERE}/reliability", reliability_views.reliability, name="reliability"),
    path(f"{HERE}/forecast", reliability_views.forecast, name="forecast"),
    path(f"{HERE}/forecast/news", reliability_views.forecast_news, name="forecast_news"),
]
