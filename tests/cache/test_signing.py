"""Signed entries and the key they are signed with."""

from __future__ import annotations

import os
import random
import stat
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from app.cache.signing import BadEntryError, Opened, Signer, load_or_make_key

SECRET = b"s" * 32
META = st.dictionaries(
    st.text(max_size=8),
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.text() | st.binary(),
        lambda inner: st.lists(inner, max_size=3),
        max_leaves=8,
    ),
    max_size=5,
)


@given(key=st.text(max_size=80), meta=META, content=st.binary(max_size=300))
def test_open_undoes_seal(key, meta, content):
    signer = Signer(SECRET)
    assert signer.open(key, signer.seal(key, meta, content)) == Opened(meta, content)


@given(entry=st.binary(max_size=200))
def test_bytes_that_nobody_sealed_are_refused(entry):
    with pytest.raises(BadEntryError):
        Signer(SECRET).open("k", entry)


def test_every_bit_matters():
    signer = Signer(SECRET)
    entry = signer.seal("l2/abc", {"cpu_features": ["avx2"], "n": 1}, os.urandom(400))
    for bit in range(8 * len(entry)):
        flipped = bytearray(entry)
        flipped[bit // 8] ^= 1 << bit % 8
        with pytest.raises(BadEntryError):
            signer.open("l2/abc", bytes(flipped))


def test_every_length_matters():
    signer = Signer(SECRET)
    entry = signer.seal("k", {"a": 1}, b"content")
    for length in range(len(entry)):
        with pytest.raises(BadEntryError):
            signer.open("k", entry[:length])
    with pytest.raises(BadEntryError):
        signer.open("k", entry + b"\0")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda entry: entry[:36], "truncated"),
        (lambda entry: b"", "truncated"),
        (lambda entry: b"\x02" + entry[1:], "version"),
        (lambda entry: entry[:-1] + b"?", "signature"),
    ],
)
def test_the_reason_is_told(change, reason):
    signer = Signer(SECRET)
    with pytest.raises(BadEntryError, match=reason):
        signer.open("k", change(signer.seal("k", {}, b"content!")))


def test_an_entry_is_bound_to_its_key_and_its_secret():
    entry = Signer(SECRET).seal("prog/a", {}, b"x")
    for signer, key in ((Signer(SECRET), "prog/b"), (Signer(b"t" * 32), "prog/a")):
        with pytest.raises(BadEntryError, match="signature"):
            signer.open(key, entry)


def test_the_border_between_key_and_content_is_signed():
    signer = Signer(SECRET)
    entry = signer.seal("ab", {}, b"")
    with pytest.raises(BadEntryError):
        signer.open("a", entry)


def test_a_short_secret_is_refused():
    with pytest.raises(ValueError, match="at least 16"):
        Signer(b"short")


def test_a_key_is_made_once_and_kept_private(tmp_path):
    path = tmp_path / "data" / "signing.key"
    key = load_or_make_key(path)
    assert len(key) == 32
    assert load_or_make_key(path) == key
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [item.name for item in path.parent.iterdir()] == ["signing.key"]


def test_processes_that_start_at_once_agree_on_a_key(tmp_path):
    path = tmp_path / "signing.key"
    program = (
        "import sys, pathlib; from app.cache.signing import load_or_make_key; "
        "sys.stdin.read(1); print(load_or_make_key(pathlib.Path(sys.argv[1])).hex())"
    )
    started = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    for process in started:
        process.stdin.write("!")
        process.stdin.flush()
    keys = {process.communicate(timeout=30)[0].strip() for process in started}
    assert keys == {load_or_make_key(path).hex()}


@pytest.mark.parametrize("content", ["", "not hex", "abcd", "é" * 40])
def test_a_file_without_a_key_is_told(tmp_path, content):
    path = tmp_path / "signing.key"
    path.write_text(content)
    with pytest.raises(ValueError, match="holds no signing key"):
        load_or_make_key(path)


def test_a_key_that_others_can_read_is_warned_of(tmp_path):
    path = tmp_path / "signing.key"
    load_or_make_key(path)
    path.chmod(0o644)
    with capture_logs() as logs:
        load_or_make_key(path)
    assert [line["log_level"] for line in logs] == ["warning"]


def test_random_damage_is_refused():
    signer, dice = Signer(SECRET), random.Random(1)
    entry = signer.seal("k", {"a": [1, 2, 3]}, bytes(1000))
    for _ in range(2000):
        damaged = bytearray(entry)
        for _ in range(dice.randint(1, 20)):
            damaged[dice.randrange(len(damaged))] = dice.randrange(256)
        start, end = sorted(dice.sample(range(len(damaged) + 1), 2))
        for candidate in (damaged, damaged[start:end], damaged[:start] + damaged[end:]):
            if bytes(candidate) != entry:
                with pytest.raises(BadEntryError):
                    signer.open("k", bytes(candidate))
