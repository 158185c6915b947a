"""What the shapes of rule files are made of: strict models, texts, lists that may be one item."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, StringConstraints

Severity = Literal["info", "warning", "critical"]


def listed(value: Any) -> Any:
    """Let one item stand for a list of one."""
    return [value] if isinstance(value, str | dict) else value


Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Texts = Annotated[list[Text], BeforeValidator(listed, json_schema_input_type=Text | list[Text])]


class Strict(BaseModel):
    """Unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, populate_by_name=False)
