"""Encrypted backups open with their key or passphrase, and with nothing else; whatever is wrong is one sentence."""

import base64
import hashlib
import hmac
import random
import shutil
import stat
import subprocess

import pytest
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from judgemap.errors import StudyError
from judgemap.web.server.backup import Key, Lock, is_encrypted, make_key, needs_passphrase

CONTENT = b"SQLite format 3\0" + random.Random(1).randbytes(200_000)
WORDS = "nine plain words that nobody else would think of"


@pytest.fixture
def plain(tmp_path):
    path = tmp_path / "plain"
    path.write_bytes(CONTENT)
    return path


@pytest.fixture
def keyed(plain, tmp_path):
    """A file encrypted to two public keys, and the files of their secret keys."""
    keys = [tmp_path / "first", tmp_path / "second"]
    Lock(tuple(make_key(each) for each in keys)).close(plain, tmp_path / "keyed.age")
    return tmp_path / "keyed.age", keys


def test_either_key_opens_it_and_no_other(keyed, tmp_path):
    path, keys = keyed
    for key in keys:
        Key(key).open(path, tmp_path / "opened")
        assert (tmp_path / "opened").read_bytes() == CONTENT
    make_key(tmp_path / "third")
    with pytest.raises(StudyError, match=r"does not open with the key in .*third .*encrypted to another, or the file"):
        Key(tmp_path / "third").open(path, tmp_path / "opened")
    with pytest.raises(StudyError, match="is encrypted; name the file with its secret key: --key FILE"):
        Key().open(path, tmp_path / "opened")


def check_passphrase(path, tmp_path):
    assert needs_passphrase(path)
    Key(passphrase=WORDS).open(path, tmp_path / "opened")
    assert (tmp_path / "opened").read_bytes() == CONTENT
    with pytest.raises(StudyError, match="does not open with this passphrase"):
        Key(passphrase=WORDS + " ").open(path, tmp_path / "opened")
    with pytest.raises(StudyError, match="encrypted with a passphrase, and none was given"):
        Key().open(path, tmp_path / "opened")


def age_with_passphrase(content: bytes, words: str, work: int) -> bytes:
    """Encrypt as https://age-encryption.org/v1 says, with a key that takes 2^work steps to derive; age takes 2^18."""

    def derive(salt: bytes, purpose: bytes) -> bytes:
        return HKDF(SHA256(), 32, salt, purpose).derive(file_key)

    def plain(value: bytes) -> bytes:
        return base64.b64encode(value).rstrip(b"=")

    file_key, salt, nonce = (random.Random(seed).randbytes(16) for seed in range(3))
    wrapping = hashlib.scrypt(
        words.encode(), salt=b"age-encryption.org/v1/scrypt" + salt, n=2**work, r=8, p=1, dklen=32
    )
    wrapped = ChaCha20Poly1305(wrapping).encrypt(bytes(12), file_key, None)
    head = b"age-encryption.org/v1\n-> scrypt %b %d\n%b\n---" % (plain(salt), work, plain(wrapped))
    seal = hmac.digest(derive(b"", b"header"), head, "sha256")
    cipher, pieces = ChaCha20Poly1305(derive(nonce, b"payload")), range(0, len(content), 65536)
    sealed = [
        cipher.encrypt(number.to_bytes(11) + bytes([at == pieces[-1]]), content[at : at + 65536], None)
        for number, at in enumerate(pieces)
    ]
    return b"%b %b\n%b%b" % (head, plain(seal), nonce, b"".join(sealed))


def test_a_passphrase_opens_it_and_no_other(tmp_path):
    path = tmp_path / "words.age"
    path.write_bytes(age_with_passphrase(CONTENT, WORDS, 8))
    check_passphrase(path, tmp_path)


@pytest.mark.slow  # each key takes seconds to derive; what we hand to age and get back is tested above and below
def test_what_we_encrypt_with_a_passphrase_opens(plain, tmp_path):
    Lock(passphrase=WORDS).close(plain, tmp_path / "words.age")
    check_passphrase(tmp_path / "words.age", tmp_path)


def test_a_passphrase_is_what_a_file_is_encrypted_with(plain, tmp_path, quick_passphrases):
    Lock(passphrase=WORDS).close(plain, tmp_path / "words.age")
    check_passphrase(tmp_path / "words.age", tmp_path)


def test_nothing_of_the_content_is_in_it(keyed):
    content = keyed[0].read_bytes()
    assert is_encrypted(keyed[0])
    assert not needs_passphrase(keyed[0])
    assert b"SQLite" not in content
    assert all(CONTENT[at : at + 16] not in content for at in range(0, len(CONTENT), 1000))


def test_a_file_that_was_cut_or_edited_does_not_open(keyed, tmp_path):
    path, keys = keyed
    whole, rng = path.read_bytes(), random.Random(2)
    damaged = [whole[: int(len(whole) * share)] for share in (0.002, 0.3, 0.99)] + [whole[:-1], whole + b"x"]
    for _ in range(40):
        place = rng.randrange(len("age-encryption.org/v1"), len(whole))
        damaged.append(whole[:place] + bytes([whole[place] ^ 1 << rng.randrange(8)]) + whole[place + 1 :])
    for content in damaged:
        path.write_bytes(content)
        with pytest.raises(StudyError, match="does not open"):
            Key(keys[0]).open(path, tmp_path / "opened")


def test_a_key_is_its_owners_and_is_not_overwritten(tmp_path):
    path = tmp_path / "key"
    recipient = make_key(path)
    assert recipient in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(StudyError, match="already exists"):
        make_key(path)
    with pytest.raises(StudyError, match="cannot be written"):
        make_key(tmp_path / "nowhere" / "key")


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"recipients": ("age1x",)}, "'age1x' is not a public key; it begins with 'age1' or 'ssh-'"),
        ({"recipients": ("ssh-rsa x",)}, "is not a public key"),
        ({"passphrase": "short"}, "use 12 characters or more"),
        ({"recipients": ("age1x",), "passphrase": WORDS}, "choose one of them"),
    ],
)
def test_a_lock_that_would_not_hold_is_refused(given, sentence):
    with pytest.raises(StudyError, match=sentence):
        Lock(**given)


@pytest.mark.parametrize(("content", "sentence"), [("hello", "holds no secret key"), (None, "cannot be read")])
def test_a_file_without_a_key(keyed, tmp_path, content, sentence):
    if content:
        (tmp_path / "other").write_text(content)
    with pytest.raises(StudyError, match=sentence):
        Key(tmp_path / "other").open(keyed[0], tmp_path / "opened")


@pytest.mark.skipif(not shutil.which("age"), reason="there is no age: apt-get install age")
def test_age_itself_opens_it(keyed):
    path, keys = keyed
    done = subprocess.run(["age", "--decrypt", "--identity", keys[0], path], capture_output=True, check=True)
    assert done.stdout == CONTENT


@pytest.mark.skipif(not shutil.which("ssh-keygen"), reason="there is no ssh-keygen: apt-get install openssh-client")
def test_a_key_of_ssh_will_do(plain, tmp_path):
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "id"], check=True)
    Lock(((tmp_path / "id.pub").read_text().strip(),)).close(plain, tmp_path / "ssh.age")
    Key(tmp_path / "id").open(tmp_path / "ssh.age", tmp_path / "opened")
    assert (tmp_path / "opened").read_bytes() == CONTENT
