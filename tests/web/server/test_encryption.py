"""Encrypted backups open with their key or passphrase, and with nothing else; whatever is wrong is one sentence."""

import random
import shutil
import stat
import subprocess

import pytest

from judgemap.errors import StudyError
from judgemap.web.server.encryption import Key, Lock, is_encrypted, make_key, needs_passphrase

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


def test_a_passphrase_opens_it_and_no_other(plain, tmp_path):
    path = tmp_path / "words.age"
    Lock(passphrase=WORDS).close(plain, path)
    assert needs_passphrase(path)
    Key(passphrase=WORDS).open(path, tmp_path / "opened")
    assert (tmp_path / "opened").read_bytes() == CONTENT
    with pytest.raises(StudyError, match="does not open with this passphrase"):
        Key(passphrase=WORDS + " ").open(path, tmp_path / "opened")
    with pytest.raises(StudyError, match="encrypted with a passphrase, and none was given"):
        Key().open(path, tmp_path / "opened")


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
