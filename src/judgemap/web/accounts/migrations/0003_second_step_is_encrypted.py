"""The secrets of the second step, which version 0.1.0 kept as they are, are encrypted."""

from collections.abc import Callable

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps


def change_secrets(apps: StateApps, alias: str, change: Callable[[str], str]) -> None:
    rows = apps.get_model("mfa", "Authenticator").objects.using(alias)
    for row in rows.filter(type__in=["totp", "recovery_codes"]):
        row.data |= {name: change(row.data[name]) for name in ("secret", "seed") if name in row.data}
        row.save(update_fields=["data"])


def encrypt_secrets(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    from judgemap.web.accounts.second_step import encrypt

    change_secrets(apps, schema_editor.connection.alias, encrypt)


def decrypt_secrets(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    from judgemap.web.accounts.second_step import decrypt

    change_secrets(apps, schema_editor.connection.alias, decrypt)


class Migration(migrations.Migration):
    dependencies = [("accounts", "0002_links_and_counts"), ("mfa", "0003_authenticator_type_uniq")]
    operations = [migrations.RunPython(encrypt_secrets, decrypt_secrets)]
