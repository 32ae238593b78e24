"""Researchers' URLs: allauth's, without sign-up and email management, and our own."""

from allauth.account import views as allauth_views
from django.urls import include, path, re_path

from judgemap.web.accounts import views

KEY = r"^account/password/reset/key/(?P<uidb36>[0-9A-Za-z]+)-(?P<key>.+)/$"

own = [
    path("first/<slug:token>/", views.invitation, name="first"),
    path("invitation/<slug:token>/", views.invitation, name="invitation"),
    path("account/", views.account, name="account"),
    path("account/researchers/", views.researchers, name="researchers"),
    path("account/researchers/<int:key>/deactivate", views.deactivate, name="deactivate"),
]
urlpatterns = [
    path("", include((own, "accounts"))),
    path("account/login/", allauth_views.login, name="account_login"),
    path("account/logout/", allauth_views.logout, name="account_logout"),
    path("account/inactive/", allauth_views.account_inactive, name="account_inactive"),
    path("account/signup/", allauth_views.signup, name="account_signup"),
    path("account/confirm/", allauth_views.reauthenticate, name="account_reauthenticate"),
    path("account/password/change/", allauth_views.password_change, name="account_change_password"),
    path("account/password/set/", allauth_views.password_set, name="account_set_password"),
    path("account/password/reset/", views.password_reset, name="account_reset_password"),
    path("account/password/reset/sent/", allauth_views.password_reset_done, name="account_reset_password_done"),
    path(
        "account/password/reset/done/",
        allauth_views.password_reset_from_key_done,
        name="account_reset_password_from_key_done",
    ),
    re_path(KEY, allauth_views.password_reset_from_key, name="account_reset_password_from_key"),
    path("account/two-factor/", include("allauth.mfa.urls")),
]
