"""First tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the tables of this revision."""
    op.create_table(
        "audit",
        sa.Column("id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("actor", sa.String(length=26), nullable=False),
        sa.Column("token", sa.String(length=26), nullable=False),
        sa.Column("address", sa.String(length=45), nullable=False),
        sa.Column("action", sa.String(length=50), nullable=False),
        sa.Column("object", sa.String(length=300), nullable=False),
        sa.Column("outcome", sa.String(length=20), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("previous", sa.String(length=64), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit")),
    )
    with op.batch_alter_table("audit", schema=None) as batch_op:
        batch_op.create_index("ix_audit_actor_id", ["actor", "id"], unique=False)
        batch_op.create_index(batch_op.f("ix_audit_at"), ["at"], unique=False)

    op.create_table(
        "audit_head",
        sa.Column("one", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("one", name=op.f("pk_audit_head")),
    )
    op.create_table(
        "cluster",
        sa.Column("id", sa.String(length=26), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("namespace", sa.String(length=255), nullable=False),
        sa.Column("uid", sa.String(length=255), nullable=False),
        sa.Column("tenancy", sa.String(length=16), nullable=False),
        sa.Column("owner", sa.String(length=26), nullable=False),
        sa.Column("instance", sa.String(length=26), nullable=False),
        sa.Column("started", sa.String(length=64), nullable=False),
        sa.Column("seen", sa.Double(), nullable=False),
        sa.Column("writer", sa.String(length=26), nullable=False),
        sa.Column("writer_until", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_cluster")),
        sa.UniqueConstraint("name", name=op.f("uq_cluster_name")),
    )
    op.create_table(
        "group",
        sa.Column("id", sa.String(length=26), nullable=False),
        sa.Column("name", sa.String(length=63), nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_group")),
        sa.UniqueConstraint("name", name=op.f("uq_group_name")),
    )
    op.create_table(
        "identity_revision",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_identity_revision")),
    )
    op.create_table(
        "job",
        sa.Column("cluster", sa.String(length=26), nullable=False),
        sa.Column("id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("instance", sa.String(length=26), nullable=False),
        sa.Column("owner", sa.String(length=26), nullable=False),
        sa.Column("request", sa.String(length=26), nullable=False),
        sa.Column("status", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("queue", sa.String(length=255), nullable=False),
        sa.Column("bank", sa.String(length=255), nullable=False),
        sa.Column("urgency", sa.Integer(), nullable=False),
        sa.Column("priority", sa.BigInteger(), nullable=True),
        sa.Column("nnodes", sa.Integer(), nullable=False),
        sa.Column("ntasks", sa.Integer(), nullable=False),
        sa.Column("ncores", sa.Integer(), nullable=False),
        sa.Column("duration", sa.Double(), nullable=False),
        sa.Column("expiration", sa.Double(), nullable=False),
        sa.Column("t_submit", sa.Double(), nullable=False),
        sa.Column("t_listed", sa.Double(), nullable=False),
        sa.Column("t_run", sa.Double(), nullable=False),
        sa.Column("t_cleanup", sa.Double(), nullable=False),
        sa.Column("t_inactive", sa.Double(), nullable=False),
        sa.Column("nodelist", sa.Text(), nullable=False),
        sa.Column("returncode", sa.Integer(), nullable=True),
        sa.Column("exception_type", sa.String(length=64), nullable=False),
        sa.Column("exception_severity", sa.Integer(), nullable=False),
        sa.Column("exception_note", sa.Text(), nullable=False),
        sa.Column("dependencies", sa.Text(), nullable=False),
        sa.Column("annotations", sa.Text(), nullable=False),
        sa.Column("restart_of", sa.BigInteger(), nullable=True),
        sa.Column("charged_until", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("cluster", "id", "instance", name=op.f("pk_job")),
    )
    with op.batch_alter_table("job", schema=None) as batch_op:
        batch_op.create_index("ix_job_all_name", ["cluster", "name", "t_listed", "id"], unique=False)
        batch_op.create_index("ix_job_all_queue", ["cluster", "queue", "t_listed", "id"], unique=False)
        batch_op.create_index("ix_job_all_status", ["cluster", "status", "t_listed", "id"], unique=False)
        batch_op.create_index("ix_job_all_time", ["cluster", "t_listed", "id"], unique=False)
        batch_op.create_index(
            "ix_job_owner_name", ["cluster", "owner", "name", "t_listed", "id"], unique=False
        )
        batch_op.create_index(
            "ix_job_owner_queue", ["cluster", "owner", "queue", "t_listed", "id"], unique=False
        )
        batch_op.create_index(
            "ix_job_owner_status", ["cluster", "owner", "status", "t_listed", "id"], unique=False
        )
        batch_op.create_index("ix_job_owner_time", ["cluster", "owner", "t_listed", "id"], unique=False)
        batch_op.create_index("ix_job_request", ["request"], unique=False)

    op.create_table(
        "login_failure",
        sa.Column("name", sa.String(length=63), nullable=False),
        sa.Column("address", sa.String(length=45), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("next_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("name", "address", name=op.f("pk_login_failure")),
    )
    with op.batch_alter_table("login_failure", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_login_failure_next_at"), ["next_at"], unique=False)

    op.create_table(
        "request_key",
        sa.Column("id", sa.String(length=26), nullable=False),
        sa.Column("user", sa.String(length=26), nullable=False),
        sa.Column("cluster", sa.String(length=26), nullable=False),
        sa.Column("instance", sa.String(length=26), nullable=False),
        sa.Column("key", sa.String(length=255), nullable=True),
        sa.Column("fingerprint", sa.String(length=64), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("job", sa.BigInteger(), nullable=True),
        sa.Column("nodes", sa.Integer(), nullable=False),
        sa.Column("seconds", sa.Double(), nullable=False),
        sa.Column("claimer", sa.String(length=26), nullable=False),
        sa.Column("claimed_until", sa.Double(), nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_request_key")),
        sa.UniqueConstraint("user", "cluster", "key", name=op.f("uq_request_key_user_cluster_key")),
    )
    with op.batch_alter_table("request_key", schema=None) as batch_op:
        batch_op.create_index("ix_request_key_created", ["created"], unique=False)
        batch_op.create_index("ix_request_key_open", ["cluster", "state", "user"], unique=False)

    op.create_table(
        "signing_key",
        sa.Column("kid", sa.String(length=64), nullable=False),
        sa.Column("alg", sa.String(length=16), nullable=False),
        sa.Column("private", sa.LargeBinary(), nullable=False),
        sa.Column("not_before", sa.Double(), nullable=False),
        sa.Column("retire_at", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("kid", name=op.f("pk_signing_key")),
    )
    op.create_table(
        "usage",
        sa.Column("user", sa.String(length=26), nullable=False),
        sa.Column("cluster", sa.String(length=26), nullable=False),
        sa.Column("day", sa.Integer(), nullable=False),
        sa.Column("node_seconds", sa.Double(), nullable=False),
        sa.Column("core_seconds", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("user", "cluster", "day", name=op.f("pk_usage")),
    )
    op.create_table(
        "user",
        sa.Column("id", sa.String(length=26), nullable=False),
        sa.Column("name", sa.String(length=63), nullable=False),
        sa.Column("kind", sa.String(length=8), nullable=False),
        sa.Column("display", sa.String(length=200), nullable=False),
        sa.Column("email", sa.String(length=254), nullable=True),
        sa.Column("role", sa.String(length=8), nullable=False),
        sa.Column("password", sa.String(length=200), nullable=True),
        sa.Column("state", sa.String(length=8), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_user")),
        sa.UniqueConstraint("name", name=op.f("uq_user_name")),
    )
    op.create_table(
        "device_code",
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("user_code", sa.String(length=9), nullable=False),
        sa.Column("client", sa.String(length=100), nullable=False),
        sa.Column("scopes", sa.String(length=1000), nullable=False),
        sa.Column("state", sa.String(length=8), nullable=False),
        sa.Column("user", sa.String(length=26), nullable=True),
        sa.Column("expires", sa.Double(), nullable=False),
        sa.Column("interval", sa.Double(), nullable=False),
        sa.Column("polled_at", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(["user"], ["user.id"], name=op.f("fk_device_code_user"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("hash", name=op.f("pk_device_code")),
        sa.UniqueConstraint("user_code", name=op.f("uq_device_code_user_code")),
    )
    with op.batch_alter_table("device_code", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_device_code_expires"), ["expires"], unique=False)

    op.create_table(
        "grant",
        sa.Column("id", sa.String(length=26), nullable=False),
        sa.Column("cluster", sa.String(length=200), nullable=False),
        sa.Column("user", sa.String(length=26), nullable=True),
        sa.Column("group", sa.String(length=26), nullable=True),
        sa.Column("role", sa.String(length=8), nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.CheckConstraint('"user" IS NULL OR "group" IS NULL', name=op.f("ck_grant_subject")),
        sa.ForeignKeyConstraint(["group"], ["group.id"], name=op.f("fk_grant_group"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["user"], ["user.id"], name=op.f("fk_grant_user"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_grant")),
    )
    with op.batch_alter_table("grant", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_grant_group"), ["group"], unique=False)
        batch_op.create_index(batch_op.f("ix_grant_user"), ["user"], unique=False)
        batch_op.create_index(
            "uq_grant_everyone",
            ["cluster"],
            unique=True,
            sqlite_where=sa.text('"user" IS NULL AND "group" IS NULL'),
            postgresql_where=sa.text('"user" IS NULL AND "group" IS NULL'),
        )
        batch_op.create_index(
            "uq_grant_group",
            ["cluster", "group"],
            unique=True,
            sqlite_where=sa.text('"group" IS NOT NULL'),
            postgresql_where=sa.text('"group" IS NOT NULL'),
        )
        batch_op.create_index(
            "uq_grant_user",
            ["cluster", "user"],
            unique=True,
            sqlite_where=sa.text('"user" IS NOT NULL'),
            postgresql_where=sa.text('"user" IS NOT NULL'),
        )

    op.create_table(
        "group_member",
        sa.Column("group", sa.String(length=26), nullable=False),
        sa.Column("user", sa.String(length=26), nullable=False),
        sa.ForeignKeyConstraint(
            ["group"], ["group.id"], name=op.f("fk_group_member_group"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["user"], ["user.id"], name=op.f("fk_group_member_user"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("group", "user", name=op.f("pk_group_member")),
    )
    with op.batch_alter_table("group_member", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_group_member_user"), ["user"], unique=False)

    op.create_table(
        "identity",
        sa.Column("issuer", sa.String(length=500), nullable=False),
        sa.Column("subject", sa.String(length=255), nullable=False),
        sa.Column("user", sa.String(length=26), nullable=False),
        sa.ForeignKeyConstraint(["user"], ["user.id"], name=op.f("fk_identity_user"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("issuer", "subject", name=op.f("pk_identity")),
    )
    with op.batch_alter_table("identity", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_identity_user"), ["user"], unique=False)

    op.create_table(
        "quota",
        sa.Column("id", sa.String(length=26), nullable=False),
        sa.Column("cluster", sa.String(length=200), nullable=False),
        sa.Column("user", sa.String(length=26), nullable=True),
        sa.Column("group", sa.String(length=26), nullable=True),
        sa.Column("jobs", sa.Integer(), nullable=True),
        sa.Column("queued_jobs", sa.Integer(), nullable=True),
        sa.Column("nodes", sa.Integer(), nullable=True),
        sa.Column("node_seconds", sa.Double(), nullable=True),
        sa.Column("window", sa.Double(), nullable=False),
        sa.CheckConstraint('"user" IS NULL OR "group" IS NULL', name=op.f("ck_quota_subject")),
        sa.ForeignKeyConstraint(["group"], ["group.id"], name=op.f("fk_quota_group"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["user"], ["user.id"], name=op.f("fk_quota_user"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_quota")),
    )
    with op.batch_alter_table("quota", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_quota_group"), ["group"], unique=False)
        batch_op.create_index(batch_op.f("ix_quota_user"), ["user"], unique=False)
        batch_op.create_index(
            "uq_quota_everyone",
            ["cluster"],
            unique=True,
            sqlite_where=sa.text('"user" IS NULL AND "group" IS NULL'),
            postgresql_where=sa.text('"user" IS NULL AND "group" IS NULL'),
        )
        batch_op.create_index(
            "uq_quota_group",
            ["cluster", "group"],
            unique=True,
            sqlite_where=sa.text('"group" IS NOT NULL'),
            postgresql_where=sa.text('"group" IS NOT NULL'),
        )
        batch_op.create_index(
            "uq_quota_user",
            ["cluster", "user"],
            unique=True,
            sqlite_where=sa.text('"user" IS NOT NULL'),
            postgresql_where=sa.text('"user" IS NOT NULL'),
        )

    op.create_table(
        "session",
        sa.Column("id", sa.String(length=26), nullable=False),
        sa.Column("user", sa.String(length=26), nullable=False),
        sa.Column("kind", sa.String(length=8), nullable=False),
        sa.Column("family", sa.String(length=26), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("parent", sa.String(length=26), nullable=True),
        sa.Column("client", sa.String(length=100), nullable=False),
        sa.Column("scopes", sa.String(length=1000), nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.Column("used_at", sa.Double(), nullable=True),
        sa.Column("used_by", sa.String(length=64), nullable=True),
        sa.Column("expires", sa.Double(), nullable=False),
        sa.Column("address", sa.String(length=45), nullable=False),
        sa.Column("agent", sa.String(length=200), nullable=False),
        sa.Column("revoked", sa.Double(), nullable=True),
        sa.Column("csrf", sa.String(length=64), nullable=False),
        sa.Column("network", sa.String(length=45), nullable=False),
        sa.ForeignKeyConstraint(["user"], ["user.id"], name=op.f("fk_session_user"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_session")),
        sa.UniqueConstraint("sha256", name=op.f("uq_session_sha256")),
    )
    with op.batch_alter_table("session", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_session_family"), ["family"], unique=False)
        batch_op.create_index("ix_session_user_network", ["user", "network"], unique=False)

    op.create_table(
        "token",
        sa.Column("id", sa.String(length=26), nullable=False),
        sa.Column("user", sa.String(length=26), nullable=False),
        sa.Column("kind", sa.String(length=8), nullable=False),
        sa.Column("prefix", sa.String(length=8), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("scopes", sa.String(length=1000), nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.Column("expires", sa.Double(), nullable=False),
        sa.Column("last_used", sa.Double(), nullable=True),
        sa.Column("last_address", sa.String(length=45), nullable=True),
        sa.Column("revoked", sa.Double(), nullable=True),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.ForeignKeyConstraint(["user"], ["user.id"], name=op.f("fk_token_user"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_token")),
        sa.UniqueConstraint("sha256", name=op.f("uq_token_sha256")),
    )
    with op.batch_alter_table("token", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_token_user"), ["user"], unique=False)


def downgrade() -> None:
    """Make those of the one before."""
    with op.batch_alter_table("token", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_token_user"))

    op.drop_table("token")
    with op.batch_alter_table("session", schema=None) as batch_op:
        batch_op.drop_index("ix_session_user_network")
        batch_op.drop_index(batch_op.f("ix_session_family"))

    op.drop_table("session")
    with op.batch_alter_table("identity", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_identity_user"))

    op.drop_table("identity")
    with op.batch_alter_table("group_member", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_group_member_user"))

    op.drop_table("group_member")
    with op.batch_alter_table("quota", schema=None) as batch_op:
        batch_op.drop_index(
            "uq_quota_user",
            sqlite_where=sa.text('"user" IS NOT NULL'),
            postgresql_where=sa.text('"user" IS NOT NULL'),
        )
        batch_op.drop_index(
            "uq_quota_group",
            sqlite_where=sa.text('"group" IS NOT NULL'),
            postgresql_where=sa.text('"group" IS NOT NULL'),
        )
        batch_op.drop_index(
            "uq_quota_everyone",
            sqlite_where=sa.text('"user" IS NULL AND "group" IS NULL'),
            postgresql_where=sa.text('"user" IS NULL AND "group" IS NULL'),
        )
        batch_op.drop_index(batch_op.f("ix_quota_user"))
        batch_op.drop_index(batch_op.f("ix_quota_group"))

    op.drop_table("quota")
    with op.batch_alter_table("grant", schema=None) as batch_op:
        batch_op.drop_index(
            "uq_grant_user",
            sqlite_where=sa.text('"user" IS NOT NULL'),
            postgresql_where=sa.text('"user" IS NOT NULL'),
        )
        batch_op.drop_index(
            "uq_grant_group",
            sqlite_where=sa.text('"group" IS NOT NULL'),
            postgresql_where=sa.text('"group" IS NOT NULL'),
        )
        batch_op.drop_index(
            "uq_grant_everyone",
            sqlite_where=sa.text('"user" IS NULL AND "group" IS NULL'),
            postgresql_where=sa.text('"user" IS NULL AND "group" IS NULL'),
        )
        batch_op.drop_index(batch_op.f("ix_grant_user"))
        batch_op.drop_index(batch_op.f("ix_grant_group"))

    op.drop_table("grant")
    with op.batch_alter_table("device_code", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_device_code_expires"))

    op.drop_table("device_code")
    op.drop_table("user")
    op.drop_table("usage")
    op.drop_table("signing_key")
    with op.batch_alter_table("request_key", schema=None) as batch_op:
        batch_op.drop_index("ix_request_key_open")
        batch_op.drop_index("ix_request_key_created")

    op.drop_table("request_key")
    with op.batch_alter_table("login_failure", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_login_failure_next_at"))

    op.drop_table("login_failure")
    with op.batch_alter_table("job", schema=None) as batch_op:
        batch_op.drop_index("ix_job_request")
        batch_op.drop_index("ix_job_owner_time")
        batch_op.drop_index("ix_job_owner_status")
        batch_op.drop_index("ix_job_owner_queue")
        batch_op.drop_index("ix_job_owner_name")
        batch_op.drop_index("ix_job_all_time")
        batch_op.drop_index("ix_job_all_status")
        batch_op.drop_index("ix_job_all_queue")
        batch_op.drop_index("ix_job_all_name")

    op.drop_table("job")
    op.drop_table("identity_revision")
    op.drop_table("group")
    op.drop_table("cluster")
    op.drop_table("audit_head")
    with op.batch_alter_table("audit", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_audit_at"))
        batch_op.drop_index("ix_audit_actor_id")

    op.drop_table("audit")
