"""The numbers of a text file, counted before they are read and read all at once.

Knows which line every number stands on, so that a wrong one can be named. NumPy only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from app.core.errors import InvalidBody

LONG = 18
"""Digits that certainly fit 64 bits; longer integers are read one by one."""

_COMMENT = re.compile(rb"^[ \t]*%[^\n]*", re.MULTILINE)
_FORTRAN = bytes.maketrans(b"dD", b"ee")


@dataclass(frozen=True, slots=True)
class Tokens:
    """``text`` holds the numbers; token i spans ``starts[i]:ends[i]`` on file line ``lines[i]``."""

    text: bytes
    starts: np.ndarray
    ends: np.ndarray
    lines: np.ndarray

    @classmethod
    def of(cls, text: bytes, line: int) -> Tokens:
        """The tokens of ``text``, whose first line is the file's line ``line``."""
        if b"%" in text:
            text = _COMMENT.sub(b"", text)
        bytes_ = np.frombuffer(text, np.uint8)
        inked = np.zeros(len(bytes_) + 2, bool)
        inked[1:-1] = bytes_ > 32
        edges = np.flatnonzero(inked[1:] != inked[:-1])
        starts, ends = edges[::2], edges[1::2]
        newlines = np.flatnonzero(bytes_ == 10)
        lines = np.searchsorted(newlines, starts) + line
        return cls(text, starts, ends, lines)

    def check(self, *, lines: int, per_line: int) -> None:
        """There are ``lines`` lines of ``per_line`` numbers (blank ones not counted)."""
        begins = np.flatnonzero(np.diff(self.lines, prepend=-1))
        found = len(begins)
        counts = np.diff(begins, append=len(self.lines))
        if (counts != per_line).any():
            at = int(np.argmax(counts != per_line))
            if at < lines:
                raise InvalidBody(
                    f"{counts[at]} numbers stand where {per_line} belong",
                    line=int(self.lines[begins[at]]),
                )
        if found < lines:
            raise InvalidBody(f"the file is cut off: {lines} lines announced, {found} present")
        if found > lines:
            raise InvalidBody(
                f"there are more lines than the {lines} announced",
                line=int(self.lines[begins[lines]]),
            )

    def floats(self) -> np.ndarray:
        """Every token as float64; Fortran's D exponents count, beyond range is an infinity."""
        return self._parse(self.text.translate(_FORTRAN), np.dtype(np.float64))

    def integers(self, dtype: np.dtype) -> np.ndarray:
        """Every token as an integer of ``dtype``; one beyond its range is named."""
        for at in np.flatnonzero(self.ends - self.starts > LONG).tolist():
            self._check_long(at, dtype)
        negative = b"-" in self.text and dtype.kind == "u"
        values = self._parse(self.text, np.dtype(np.int64) if negative else dtype)
        if negative and (values < 0).any():
            raise self.refusal(int(np.argmax(values < 0)), "is negative in an unsigned file")
        return values.astype(dtype, copy=False)

    def index(self, column: np.ndarray, bound: int, what: str) -> np.ndarray:
        """1-based indices of a table's column as 0-based int32; one outside is named."""
        whole = column if column.dtype.kind in "iu" else np.floor(column)
        bad = ~((whole == column) & (column >= 1) & (column <= bound))
        if bad.any():
            at = int(np.argmax(bad))
            line = int(self.lines[at * (len(self.lines) // len(column))])
            raise InvalidBody(f"{what} index {column[at]:g} is not in 1 … {bound}", line=line)
        return (whole - column.dtype.type(1)).astype(np.int32)

    def refusal(self, at: int, why: str) -> InvalidBody:
        """The error that token ``at`` deserves."""
        word = self.text[self.starts[at] : self.ends[at]][:40].decode("latin-1")
        return InvalidBody(f"{word!r} {why}", line=int(self.lines[at]))

    def _parse(self, text: bytes, dtype: np.dtype) -> np.ndarray:
        if not len(self.starts):
            return np.zeros(0, dtype)
        try:
            values = np.fromstring(text, dtype, sep=" ")
        except ValueError:
            values = np.zeros(0, dtype)
        if len(values) != len(self.starts):
            raise self._first_bad(text, dtype)
        return values

    def _first_bad(self, text: bytes, dtype: np.dtype) -> InvalidBody:
        read = float if dtype.kind == "f" else int
        for at, word in enumerate(text.split()):
            try:
                read(word)
            except ValueError:
                kind = "a number" if dtype.kind == "f" else "an integer"
                return self.refusal(at, f"is not {kind}")
        return InvalidBody("the numbers cannot be read")

    def _check_long(self, at: int, dtype: np.dtype) -> None:
        word = self.text[self.starts[at] : self.ends[at]]
        if len(word) > 1000:
            raise self.refusal(at, "is not an integer of 64 bits")
        try:
            value = int(word)
        except ValueError:
            raise self.refusal(at, "is not an integer") from None
        limits = np.iinfo(dtype)
        if not limits.min <= value <= limits.max:
            raise self.refusal(at, f"is out of the range of {dtype.name}")
