"""${message[0].upper()}${message[1:]}."""

import sqlalchemy as sa
from alembic import op
${imports if imports else ""}
revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}


def upgrade() -> None:
    """Make the tables of this revision."""
    ${upgrades if upgrades else "pass"}


def downgrade() -> None:
    """Make those of the one before."""
    ${downgrades if downgrades else "pass"}
