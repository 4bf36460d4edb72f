"""The figures of each route apart; of those before it is not recorded which they are of."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.rename_table("rollups", "rollups_before")
    op.create_table(
        "rollups",
        sa.Column("grain", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("vantage", sa.Text(), nullable=False),
        sa.Column("client", sa.Text(), nullable=False),
        sa.Column("route", sa.Text(), nullable=False),
        sa.Column("n", sa.BigInteger(), nullable=False),
        sa.Column("good", sa.BigInteger(), nullable=False),
        sa.Column("limited", sa.BigInteger(), nullable=False),
        sa.Column("passed", sa.BigInteger(), nullable=True),
        sa.Column("ttft", sa.Text(), nullable=False),
        sa.Column("tpot", sa.Text(), nullable=False),
        sa.Column("total", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("grain", "at", "target", "vantage", "client", "route"),
    )
    op.execute(
        "INSERT INTO rollups (grain, at, target, vantage, client, route, n, good, limited, passed, ttft, tpot, total)"
        " SELECT grain, at, target, vantage, client, '', n, good, limited, passed, ttft, tpot, total FROM rollups_before"
    )
    op.drop_table("rollups_before")
