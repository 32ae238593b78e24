"""Addresses of a study's dashboard."""

from django.urls import path

from judgemap.web.dashboard import judges, live, planning, reliability

HERE = "studies/<slug:slug>/dashboard"
app_name = "dashboard"
urlpatterns = [
    path(HERE, live.live, name="live"),
    path(f"{HERE}/now", live.now, name="now"),
    path(f"{HERE}/map.svg", live.picture, name="picture"),
    path(f"{HERE}/areas", live.areas, name="areas"),
    path(f"{HERE}/judges", judges.judges, name="judges"),
    path(f"{HERE}/judges/act", judges.act, name="act"),
    path(f"{HERE}/judges/<slug:name>", judges.judge, name="judge"),
    path(f"{HERE}/reliability", reliability.reliability, name="reliability"),
    path(f"{HERE}/forecast", reliability.forecast, name="forecast"),
    path(f"{HERE}/planning", planning.planning, name="planning"),
    path(f"{HERE}/plan", planning.plan, name="plan"),
    path(f"{HERE}/plan/news", planning.plan_news, name="plan_news"),
    path(f"{HERE}/forecast/news", reliability.forecast_news, name="forecast_news"),
]
