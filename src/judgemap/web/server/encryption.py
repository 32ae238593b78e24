"""Encrypted backups, in the format of `age` (https://age-encryption.org), so that `age` itself can open them too.

A backup is encrypted to public keys, whose secret keys the server never sees, or with a passphrase.
"""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import pyrage
from pyrage import passphrase as scrypt
from pyrage import ssh, x25519

from judgemap.errors import StudyError

BEGINNING = b"age-encryption.org/v1\n"
WITH_PASSPHRASE = BEGINNING + b"-> scrypt "
SHORTEST_PASSPHRASE = 12


@dataclass(frozen=True, slots=True)
class Lock:
    """What a backup is encrypted to: public keys, or a passphrase; with neither, it is not encrypted."""

    recipients: tuple[str, ...] = ()
    passphrase: str = ""

    def __post_init__(self) -> None:
        if self.recipients and self.passphrase:
            raise StudyError("a backup is encrypted to public keys or with a passphrase; choose one of them")
        if self.passphrase and len(self.passphrase) < SHORTEST_PASSPHRASE:
            raise StudyError(f"the passphrase is short; use {SHORTEST_PASSPHRASE} characters or more")
        for each in self.recipients:
            read_recipient(each)

    def __bool__(self) -> bool:
        return bool(self.recipients or self.passphrase)

    def close(self, source: Path, target: Path) -> None:
        """Copy a file, encrypted if it has a lock; with a passphrase, all of it is held in memory."""
        if not self:
            shutil.copyfile(source, target)
        elif self.passphrase:
            target.write_bytes(scrypt.encrypt(source.read_bytes(), self.passphrase))
        else:
            pyrage.encrypt_file(str(source), str(target), [read_recipient(each) for each in self.recipients])


@dataclass(frozen=True, slots=True)
class Key:
    """What opens a backup: a file with the secret key, or a passphrase."""

    file: Path | None = None
    passphrase: str = ""

    def open(self, source: Path, target: Path) -> None:
        """Decrypt a file, or copy one that is not encrypted."""
        if not is_encrypted(source):
            shutil.copyfile(source, target)
        elif needs_passphrase(source):
            self._with_passphrase(source, target)
        else:
            self._with_file(source, target)

    def _with_passphrase(self, source: Path, target: Path) -> None:
        if not self.passphrase:
            raise StudyError(f"{source} is encrypted with a passphrase, and none was given")
        try:
            target.write_bytes(scrypt.decrypt(source.read_bytes(), self.passphrase))
        except pyrage.DecryptError as error:
            raise _unopened(source, error, "this passphrase") from None

    def _with_file(self, source: Path, target: Path) -> None:
        if self.file is None:
            raise StudyError(f"{source} is encrypted; name the file with its secret key: --key FILE")
        try:
            pyrage.decrypt_file(str(source), str(target), read_identities(self.file))
        except (pyrage.DecryptError, OSError) as error:  # OSError if the content was changed
            raise _unopened(source, error, f"the key in {self.file}") from None


NO_LOCK = Lock()
NO_KEY = Key()


def is_encrypted(path: Path) -> bool:
    """Say whether a file is encrypted, going by its first bytes."""
    return _beginning(path).startswith(BEGINNING)


def needs_passphrase(path: Path) -> bool:
    """Say whether a file opens with a passphrase, and not with a key."""
    return _beginning(path).startswith(WITH_PASSPHRASE)


def read_recipient(text: str) -> x25519.Recipient | ssh.Recipient:
    """Read a public key: one of age, or an RSA or Ed25519 key of SSH.

    >>> read_recipient("age1nobody")
    Traceback (most recent call last):
    judgemap.errors.StudyError: 'age1nobody' is not a public key; ...
    """
    kind = ssh if text.startswith("ssh-") else x25519
    try:
        return kind.Recipient.from_str(text)
    except pyrage.RecipientError:
        raise StudyError(
            f"{text!r} is not a public key; it begins with 'age1' or 'ssh-', and 'judgemap study backup-key' makes one"
        ) from None


def read_identities(path: Path) -> list[x25519.Identity | ssh.Identity]:
    """Read the secret keys in a file: lines in age's format, or an SSH key without a passphrase of its own."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise StudyError(f"{path} cannot be read ({error.strerror}); name the file with the secret key") from None
    lines = [line.strip() for line in content.decode(errors="replace").splitlines()]
    try:
        if keys := [x25519.Identity.from_str(line) for line in lines if line.startswith("AGE-SECRET-KEY-")]:
            return list(keys)
        return [ssh.Identity.from_buffer(content)]
    except pyrage.IdentityError:
        raise StudyError(
            f"{path} holds no secret key of age or SSH; name the file that 'judgemap study backup-key' wrote"
        ) from None


def make_key(path: Path) -> str:
    """Write a new secret key into a new file that only its owner can read; return the public key."""
    key = x25519.Identity.generate()
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise StudyError(f"{path} already exists; choose another name for the key") from None
    except OSError as error:
        raise StudyError(f"{path} cannot be written ({error.strerror}); name another file") from None
    with os.fdopen(descriptor, "w") as file:
        file.write(f"# public key: {key.to_public()}\n{key}\n")
    return str(key.to_public())


def _beginning(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(len(WITH_PASSPHRASE))
    except OSError as error:
        raise StudyError(f"{path} cannot be read ({error.strerror}); check who may read it") from None


def _unopened(path: Path, error: Exception, key: str) -> StudyError:
    said = " ".join(str(error).split())  # age's own words may be several lines
    return StudyError(
        f"{path} does not open with {key} ({said}); either it was encrypted to another, or the file is damaged"
    )
