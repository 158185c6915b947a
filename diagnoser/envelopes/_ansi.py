"""Terminal codes in log lines: colours, titles, cursor moves, and colours whose ESC byte got lost on the way."""

from __future__ import annotations

from diagnoser.patterns import lazily

#: CSI, OSC (ended by BEL or ST, bounded), and two-byte sequences.
_CODES = lazily(
    r"\x1b(?:\[[0-?]{0,32}[ -/]{0,4}[@-~]|\][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)|[()#][0-9A-Z]|[@-Z\\^_=>78])"
)
#: What an ESC byte becomes when a log is pasted, shown by ``cat -v``, or escaped by a syslog daemon or JSON twice.
_LOST = r"(?:#033|\^\[|␛|\\x1[bB]|\\u001[bB]|\\033|\\e)?"
_CODE = rf"{_LOST}\[[0-9]{{1,3}}+(?:;[0-9]{{1,3}}+){{0,6}}m"
_SGR = lazily(_CODE)
#: Where a colour without ESC is believed: at the start of a line, or right after SGLang's time. Colours quoted in the
#: middle of other text (a prompt, a JSON body) are left alone.
LOST_FIRST = "[#^␛\\"
LOST_HEAD = rf"\[[0-9]{{4}}-[^\]]{{1,60}}+\] (?=[\[#^␛\\]){_CODE}|{_CODE}"


def strip_codes(text: str) -> str:
    """Remove terminal sequences that have their ESC byte; a lone ESC byte goes too."""
    return _CODES.sub("", text).replace("\x1b", "")


def cleaned(text: str) -> str:
    """Take terminal codes, NULs and the carriage return of CRLF away."""
    return strip_codes(text).replace("\0", "").rstrip("\r")


def strip_lost(text: str) -> str:
    """Remove colour codes that lost their ESC byte; call only where ``LOST_HEAD`` matches."""
    return _SGR.sub("", text)
