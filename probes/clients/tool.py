"""What does a request look like that a model has to answer by calling a tool?"""

from __future__ import annotations

from typing import Any

QUESTION = (
    "Write down the five largest cities of Europe, each with its country and population, by calling the tool."
)
NAME = "write_down"
_ABOUT = "Writes down what is given."
_PARAMETERS = {
    "type": "object",
    "properties": {"notes": {"type": "array", "items": {"type": "string"}}},
    "required": ["notes"],
}


def body(endpoint: str) -> dict[str, Any]:
    """The members that offer the tool and demand its use, in the words of each endpoint."""
    if endpoint == "messages":
        offered: dict[str, Any] = {"name": NAME, "description": _ABOUT, "input_schema": _PARAMETERS}
        return {"tools": [offered], "tool_choice": {"type": "tool", "name": NAME}}
    function = {"name": NAME, "description": _ABOUT, "parameters": _PARAMETERS}
    if endpoint == "responses":
        return {
            "tools": [{"type": "function", **function}],
            "tool_choice": {"type": "function", "name": NAME},
        }
    choice = {"type": "function", "function": {"name": NAME}}
    return {"tools": [{"type": "function", "function": function}], "tool_choice": choice}
