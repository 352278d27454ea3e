"""Pages for admins: users, groups, grants, service clients, quotas, and the audit log."""
