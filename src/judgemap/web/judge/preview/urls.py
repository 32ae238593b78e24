"""The judge's addresses once more, for a preview: the study's name stands where the token would."""

from django.urls import path

from judgemap.web.judge.preview import views

app_name = "judge"
urlpatterns = [
    path("try/<slug:token>/", views.home, name="home"),
    path("try/<slug:token>/consent", views.consent, name="consent"),
    path("try/<slug:token>/answer", views.answer, name="answer"),
    path("try/<slug:token>/last", views.last, name="last"),
    path("try/<slug:token>/begin", views.end_practice, name="end_practice"),
    path("try/<slug:token>/go-on", views.go_on, name="go_on"),
    path("try/<slug:token>/language", views.language, name="language"),
    path("try/<slug:token>/areas", views.areas, name="areas"),
    path("try/<slug:token>/link", views.link, name="link"),
    path("try/<slug:token>/jump", views.jump, name="jump"),
    path("try-withdraw", views.withdraw, name="withdraw"),
]
