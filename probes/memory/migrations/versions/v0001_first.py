"""The first schema: runs with all that belongs to them, figures, turns, alerts, notices, marks."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    _runs()
    _calls()
    _found()
    _canary()


def _runs() -> None:
    op.create_table(
        "runs",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("entry", sa.Text(), nullable=True),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("vantage", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("ended", sa.BigInteger(), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=False),
        sa.Column("failed", sa.Boolean(), nullable=False),
        sa.Column("requests", sa.BigInteger(), nullable=False),
        sa.Column("input_tokens", sa.BigInteger(), nullable=False),
        sa.Column("output_tokens", sa.BigInteger(), nullable=False),
        sa.Column("usd", sa.Float(), nullable=True),
        sa.Column("writer", sa.Text(), nullable=False),
        sa.Column("document", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("runs_by_state", "runs", ["state"])
    op.create_index("runs_by_target", "runs", ["target", "at"])
    op.create_index("runs_by_time", "runs", ["at"])


def _calls() -> None:
    op.create_table(
        "calls",
        sa.Column("run", sa.Text(), nullable=False),
        sa.Column("seq", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("n", sa.Integer(), nullable=True),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("case_id", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("vantage", sa.Text(), nullable=False),
        sa.Column("client", sa.Text(), nullable=False),
        sa.Column("route", sa.Text(), nullable=False),
        sa.Column("not_sent", sa.Text(), nullable=True),
        sa.Column("asks", sa.Boolean(), nullable=False),
        sa.Column("good", sa.Boolean(), nullable=False),
        sa.Column("limited", sa.Boolean(), nullable=False),
        sa.Column("rolled", sa.Boolean(), nullable=False),
        sa.Column("ttft", sa.Float(), nullable=True),
        sa.Column("tpot", sa.Float(), nullable=True),
        sa.Column("total", sa.Float(), nullable=True),
        sa.Column("requests", sa.BigInteger(), nullable=False),
        sa.Column("input_tokens", sa.BigInteger(), nullable=False),
        sa.Column("output_tokens", sa.BigInteger(), nullable=False),
        sa.Column("usd", sa.Float(), nullable=True),
        sa.Column("document", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["run"], ["runs.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run", "seq"),
    )
    op.create_index("calls_by_client", "calls", ["target", "client", "good", "at"])
    op.create_index("calls_by_time", "calls", ["at"])
    op.create_table(
        "exchanges",
        sa.Column("run", sa.Text(), nullable=False),
        sa.Column("seq", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("hop", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("code", sa.Text(), nullable=True),
        sa.Column("layer", sa.Text(), nullable=True),
        sa.Column("product", sa.Text(), nullable=True),
        sa.Column("vendor_code", sa.Text(), nullable=True),
        sa.Column("first_byte", sa.Float(), nullable=True),
        sa.Column("total", sa.Float(), nullable=True),
        sa.Column("body_bytes", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["run", "seq"], ["calls.run", "calls.seq"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run", "seq", "hop"),
    )


def _found() -> None:
    op.create_table(
        "rollups",
        sa.Column("grain", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("vantage", sa.Text(), nullable=False),
        sa.Column("client", sa.Text(), nullable=False),
        sa.Column("n", sa.BigInteger(), nullable=False),
        sa.Column("good", sa.BigInteger(), nullable=False),
        sa.Column("limited", sa.BigInteger(), nullable=False),
        sa.Column("passed", sa.BigInteger(), nullable=True),
        sa.Column("ttft", sa.Text(), nullable=False),
        sa.Column("tpot", sa.Text(), nullable=False),
        sa.Column("total", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("grain", "at", "target", "vantage", "client"),
    )
    op.create_table(
        "findings",
        sa.Column("run", sa.Text(), nullable=False),
        sa.Column("n", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("case_id", sa.Text(), nullable=False),
        sa.Column("client", sa.Text(), nullable=True),
        sa.Column("code", sa.Text(), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=False),
        sa.Column("layer", sa.Text(), nullable=False),
        sa.Column("product", sa.Text(), nullable=True),
        sa.Column("vendor_code", sa.Text(), nullable=True),
        sa.Column("accepted", sa.Boolean(), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["run"], ["runs.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run", "n"),
    )
    op.create_table(
        "outcomes",
        sa.Column("run", sa.Text(), nullable=False),
        sa.Column("n", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("case_id", sa.Text(), nullable=False),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("client", sa.Text(), nullable=False),
        sa.Column("route", sa.Text(), nullable=False),
        sa.Column("code", sa.Text(), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=False),
        sa.Column("layer", sa.Text(), nullable=False),
        sa.Column("product", sa.Text(), nullable=True),
        sa.Column("vendor_code", sa.Text(), nullable=True),
        sa.Column("ttft", sa.Float(), nullable=True),
        sa.Column("tpot", sa.Float(), nullable=True),
        sa.Column("total", sa.Float(), nullable=True),
        sa.ForeignKeyConstraint(["run"], ["runs.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run", "n"),
    )
    op.create_index("outcomes_by_case", "outcomes", ["case_id", "at"])


def _canary() -> None:
    op.create_table(
        "alerts",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("opened", sa.BigInteger(), nullable=False),
        sa.Column("resolved", sa.BigInteger(), nullable=True),
        sa.Column("document", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("alerts_by_state", "alerts", ["state", "opened"])
    op.create_table(
        "marks",
        sa.Column("at", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("at", "id"),
    )
    op.create_table(
        "notices",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("alert", sa.Text(), nullable=False),
        sa.Column("sink", sa.Text(), nullable=False),
        sa.Column("made", sa.BigInteger(), nullable=False),
        sa.Column("delivered", sa.BigInteger(), nullable=True),
        sa.Column("document", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("notices_by_delivery", "notices", ["delivered", "made"])
    op.create_table(
        "turns",
        sa.Column("entry", sa.Text(), nullable=False),
        sa.Column("due", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("ended", sa.BigInteger(), nullable=True),
        sa.Column("run", sa.Text(), nullable=True),
        sa.Column("conclusive", sa.Boolean(), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("entry", "due"),
    )
    op.create_index("turns_by_end", "turns", ["entry", "conclusive", "ended"])
