"""A few instructions of classic BPF, as seccomp reads them, and a filter built from rules.

A rule is a system call's number and a check of its arguments, or no check. Every rule is its own
short block, so that no jump is longer than the 255 instructions that one may span.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

LOAD = 0x20
JUMP_EQUAL = 0x15
JUMP_AT_LEAST = 0x35
JUMP_ANY_BIT = 0x45
RETURN = 0x06

NUMBER, ARCHITECTURE, ARGUMENTS = 0, 4, 16

ALLOW = 0x7FFF0000
ERRNO = 0x00050000
KILL = 0x80000000

Check = tuple[int, int, int]
"""(opcode, index of the argument, constant): allowed if it holds; 32 low bits are compared."""


def instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    """One ``struct sock_filter``."""
    return struct.pack("=HBBI", code, if_true, if_false, value)


def block(number: int, checks: Sequence[tuple[bool, Check]], otherwise: int) -> list[bytes]:
    """Allow one system call if every check (wanted outcome, check) holds, else ``otherwise``."""
    size = 2 * len(checks) + 1
    refuse = 1 if checks else 0
    lines = [instruction(JUMP_EQUAL, number, 0, size + refuse)]
    for place, (wanted, (code, argument, value)) in enumerate(checks):
        to_refusal = size - 2 * place - 2
        lines.append(instruction(LOAD, ARGUMENTS + 8 * argument))
        lines.append(
            instruction(code, value, 0, to_refusal)
            if wanted
            else instruction(code, value, to_refusal, 0)
        )
    lines.append(instruction(RETURN, ALLOW))
    if checks:
        lines.append(instruction(RETURN, otherwise))
    return lines


def refusals(numbers: Mapping[int, int]) -> list[bytes]:
    """Answer these system calls with these errno values."""
    lines = []
    for number, errno in numbers.items():
        lines.append(instruction(JUMP_EQUAL, number, 0, 1))
        lines.append(instruction(RETURN, ERRNO | errno))
    return lines


def program(architecture: int, body: Sequence[bytes], default: int, *, x32: bool) -> bytes:
    """The whole filter: another architecture is killed, the body decides, else ``default``."""
    lines = [
        instruction(LOAD, ARCHITECTURE),
        instruction(JUMP_EQUAL, architecture, 1, 0),
        instruction(RETURN, KILL),
        instruction(LOAD, NUMBER),
    ]
    if x32:
        lines += [instruction(JUMP_AT_LEAST, 0x40000000, 0, 1), instruction(RETURN, KILL)]
    return b"".join([*lines, *body, instruction(RETURN, default)])
