"""What does the database hold?

Tables of SQLAlchemy Core, without anything that only SQLite has. Columns are what is looked up by; where a row has a
`document`, that is the whole of it. A change here is a new migration and a new `VERSION`.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Boolean, Column, ForeignKey, ForeignKeyConstraint, Index, Integer, MetaData, Table

from probes.memory.columns import Count, Document, Measure, Moment, Packed, Words

VERSION = "0003"

metadata = MetaData()


def _run() -> Column[Any]:
    return Column("run", Words, ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True)


runs = Table(
    "runs",
    metadata,
    Column("id", Words, primary_key=True),
    Column("entry", Words),
    Column("target", Words, nullable=False),
    Column("vantage", Words, nullable=False),
    Column("at", Moment, nullable=False),
    Column("ended", Moment),
    Column("state", Words, nullable=False),
    Column("verdict", Words, nullable=False),
    Column("failed", Boolean, nullable=False),
    Column("requests", Count, nullable=False),
    Column("input_tokens", Count, nullable=False),
    Column("output_tokens", Count, nullable=False),
    Column("usd", Measure),
    Column("writer", Words, nullable=False),
    Column("document", Packed, nullable=False),
    Index("runs_by_target", "target", "at"),
    Index("runs_by_time", "at"),
    Index("runs_by_state", "state"),
)
calls = Table(
    "calls",
    metadata,
    _run(),
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("n", Integer),
    Column("id", Words, nullable=False),
    Column("case_id", Words, nullable=False),
    Column("at", Moment, nullable=False),
    Column("target", Words, nullable=False),
    Column("vantage", Words, nullable=False),
    Column("client", Words, nullable=False),
    Column("route", Words, nullable=False),
    Column("not_sent", Words),
    Column("asks", Boolean, nullable=False),
    Column("good", Boolean, nullable=False),
    Column("limited", Boolean, nullable=False),
    Column("rolled", Boolean, nullable=False),
    Column("ttft", Measure),
    Column("tpot", Measure),
    Column("total", Measure),
    Column("requests", Count, nullable=False),
    Column("input_tokens", Count, nullable=False),
    Column("output_tokens", Count, nullable=False),
    Column("usd", Measure),
    Column("document", Packed, nullable=False),
    Index("calls_by_client", "target", "client", "good", "at"),
    Index("calls_by_time", "at"),
)
exchanges = Table(
    "exchanges",
    metadata,
    Column("run", Words, primary_key=True),
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("hop", Integer, primary_key=True, autoincrement=False),
    Column("id", Words, nullable=False),
    Column("status", Integer),
    Column("error", Words),
    Column("code", Words),
    Column("layer", Words),
    Column("product", Words),
    Column("vendor_code", Words),
    Column("first_byte", Measure),
    Column("total", Measure),
    Column("body_bytes", Count),
    ForeignKeyConstraint(["run", "seq"], ["calls.run", "calls.seq"], ondelete="CASCADE"),
)
findings = Table(
    "findings",
    metadata,
    _run(),
    Column("n", Integer, primary_key=True, autoincrement=False),
    Column("case_id", Words, nullable=False),
    Column("client", Words),
    Column("code", Words, nullable=False),
    Column("verdict", Words, nullable=False),
    Column("layer", Words, nullable=False),
    Column("product", Words),
    Column("vendor_code", Words),
    Column("accepted", Boolean, nullable=False),
    Column("document", Document, nullable=False),
)
outcomes = Table(
    "outcomes",
    metadata,
    _run(),
    Column("n", Integer, primary_key=True, autoincrement=False),
    Column("at", Moment, nullable=False),
    Column("case_id", Words, nullable=False),
    Column("target", Words, nullable=False),
    Column("client", Words, nullable=False),
    Column("route", Words, nullable=False),
    Column("code", Words, nullable=False),
    Column("verdict", Words, nullable=False),
    Column("layer", Words, nullable=False),
    Column("product", Words),
    Column("vendor_code", Words),
    Column("ttft", Measure),
    Column("tpot", Measure),
    Column("total", Measure),
    Index("outcomes_by_case", "case_id", "at"),
)
rollups = Table(
    "rollups",
    metadata,
    Column("grain", Words, primary_key=True),
    Column("at", Moment, primary_key=True, autoincrement=False),
    Column("target", Words, primary_key=True),
    Column("vantage", Words, primary_key=True),
    Column("client", Words, primary_key=True),
    Column("route", Words, primary_key=True),
    Column("n", Count, nullable=False),
    Column("good", Count, nullable=False),
    Column("limited", Count, nullable=False),
    Column("passed", Moment),
    Column("ttft", Document, nullable=False),
    Column("tpot", Document, nullable=False),
    Column("total", Document, nullable=False),
)
turns = Table(
    "turns",
    metadata,
    Column("entry", Words, primary_key=True),
    Column("due", Moment, primary_key=True, autoincrement=False),
    Column("ended", Moment),
    Column("run", Words),
    Column("conclusive", Boolean, nullable=False),
    Column("document", Document, nullable=False),
    Index("turns_by_end", "entry", "conclusive", "ended"),
)
alerts = Table(
    "alerts",
    metadata,
    Column("id", Words, primary_key=True),
    Column("state", Words, nullable=False),
    Column("opened", Moment, nullable=False),
    Column("resolved", Moment),
    Column("document", Document, nullable=False),
    Index("alerts_by_state", "state", "opened"),
)
notices = Table(
    "notices",
    metadata,
    Column("id", Words, primary_key=True),
    Column("alert", Words, nullable=False),
    Column("sink", Words, nullable=False),
    Column("made", Moment, nullable=False),
    Column("delivered", Moment),
    Column("document", Document, nullable=False),
    Index("notices_by_delivery", "delivered", "made"),
)
marks = Table(
    "marks",
    metadata,
    Column("at", Moment, primary_key=True, autoincrement=False),
    Column("id", Words, primary_key=True),
    Column("document", Document, nullable=False),
)
pauses = Table(
    "pauses",
    metadata,
    Column("target", Words, primary_key=True),
    Column("until", Moment, nullable=False),
    Column("document", Document, nullable=False),
)
