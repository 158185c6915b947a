"""Masks secrets in log excerpts: what identifies the kind of secret stays, the secret itself does not."""

from __future__ import annotations

import re
from functools import cache

from diagnoser.patterns import lazily

MASK = "***"

#: Values that say "there is no secret here"; masking them would hide a real answer.
_EMPTY = r"(?!(?:None|null|True|False|true|false|EMPTY|\*{3})\b)"
#: Whose it is may stand before it: ``POSTGRES_PASSWORD``, ``s3-secret-key``.
_NAMES = (
    r"(?:[\w-]{0,80}api[_-]?keys?|(?:[\w-]{0,80}[_-])?"
    r"(?:(?:hf|hub|auth|access|refresh|session|bearer|github|hugging_?face_?hub)[_-]?token"
    r"|(?:aws_?)?secret(?:[_-]?access)?(?:[_-]?key)?|client[_-]?secret|password|passwd|pwd|private[_-]?key))"
)

#: A working folder as shells name it in their environment: a place, not a password.
_PLACE = r"(?!(?<=\bPWD=)/)"

#: Each pattern keeps what stands in its groups "keep" and "end" and loses the rest.
_PATTERNS = (
    # Keys that carry their own name.
    r"\b(?P<keep>sk-(?:ant-|proj-|or-)?)[\w-]{12,}",
    # hf_raise_for_status is a function of huggingface_hub: a token holds no further underscore.
    r"\b(?P<keep>hf_)[A-Za-z0-9]{12,}(?![\w-])",
    r"\b(?P<keep>gh[pousr]_|github_pat_|glpat-|nvapi-|xox[abprs]-|AIza|npm_|pypi-|dckr_pat_|wandb_v1_)[\w-]{12,}",
    r"\b(?P<keep>AKIA|ASIA)[0-9A-Z]{12,}",
    r"\b(?P<keep>eyJ)[\w-]{8,}\.[\w-]{8,}\.[\w-]*",
    r"(?P<keep>-----BEGIN [A-Z ]*PRIVATE KEY-----).*",
    # Headers and URLs.
    r"(?i)\b(?P<keep>bearer\s+)" + _EMPTY + r"[\w.~+/=-]{6,}",
    r"(?i)\b(?P<keep>authorization['\"]?\s*[:=]\s*['\"]?(?:basic|token|apikey)\s+)[\w.~+/=-]{6,}",
    r"(?P<keep>[a-z0-9]://[^\s:/@]*:)[^\s@/]+(?P<end>@)",
    r"(?i)(?P<keep>[?&](?:access_token|token|sig|signature|key|api_?key|x-amz-signature|x-amz-security-token)=)[^&\s'\"]+",
    # name=value, 'name': 'value', 'name': ['a', 'b'], --name value.
    r"(?i)(?P<keep>(?<![\w-])['\"]?" + _NAMES + r"['\"]?\s*[=:]\s*\[)(?!\])[^\]]*(?P<end>\]?)",
    r"(?i)(?P<keep>(?<![\w])['\"]?" + _NAMES + r"['\"]?\s*[=:]\s*['\"]?)" + _EMPTY + _PLACE + r"[^\s'\",;)}\]\[]{4,}",
    r"(?i)(?P<keep>--(?:[\w-]{0,80}-)?(?:api-key|hf-token|password)(?:\s+|=)['\"]?)" + _EMPTY + r"(?!-)[^\s'\"]+",
)
#: Text without any of these words holds nothing that the patterns look for: most lines stop here.
_HINT = lazily(
    r"(?i)sk-|hf_|gh[pousr]_|github_pat|glpat|nvapi|xox|AIza|npm_|pypi-|dckr_|wandb_|A[KS]IA|eyJ"
    r"|private[ _-]?key|bearer|authorization|://|token=|[?&](?:sig|key)|amz-sig|api[_-]?key|hf-token|secret|passw|pwd"
    r"|(?:hf|hub|auth|access|refresh|session|github)[_-]?token"
)


def mask(text: str) -> str:
    """Return the text with every secret replaced by ``***``."""
    if not _HINT.search(text):
        return text
    for pattern in _compiled():
        text = pattern.sub(_replace, text)
    return text


@cache
def _compiled() -> tuple[re.Pattern[str], ...]:
    """Compile the patterns when the first hint of a secret asks for them."""
    return tuple(re.compile(pattern) for pattern in _PATTERNS)


def _replace(found: re.Match[str]) -> str:
    end = found.groupdict().get("end") or ""
    return f"{found['keep']}{MASK}{end}"
