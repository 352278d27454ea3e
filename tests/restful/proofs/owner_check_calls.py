"""Which functions check who may do what, and which of their calls the list of mutants has not."""

CHECKS = {
    "access": {"cluster", "scopes", "usable"},
    "visibility": {"job", "many", "any_job"},
    "principal": {"may"},
    "found": {"may"},
    "": {
        *("requires", "owner_of", "require_login", "require_scopes", "at_cluster", "effective"),
        *(
            "csrf_matches",
            "same_origin",
            "require_same_origin",
            "_active",
            "revoke_family",
            "of_user",
            "by_keys",
        ),
    },
}
"""Functions that check, by the last name of what they are called on; empty: by their own name alone."""

ELSEWHERE = {
    ("clusters/access.py", "at_cluster"): "in the list as what it returns",
    (
        "identity/identities.py",
        "effective",
    ): "of a token that is issued: it is compared again when it is shown",
    ("identity/token_answers.py", "effective"): "what an answer states of a token",
    ("routes/oauth.py", "effective"): "what an answer states of a token",
    ("routes/me.py", "at_cluster"): "what an answer states of a token",
    ("identity/user_changes.py", "require_scopes"): "an admin chooses the scopes of a service account",
    (
        "identity/user_changes.py",
        "require_login",
    ): "of the first password: the page alone asks, with a cookie",
    ("identity/login_links.py", "require_login"): "the same",
    ("routes/access.py", "same_origin"): "without a login: tests/restful/routes/test_loopback.py",
    ("page/browser_sessions.py", "require_same_origin"): "in the list as what it compares",
    ("identity/web_sessions.py", "revoke_family"): "ends the session of the cookie itself",
    ("identity/token_answers.py", "revoke_family"): "ends the family of the refresh token itself",
    ("jobs/request_opener.py", "by_keys"): "in the list as what it asks",
    ("routes/me.py", "of_user"): "in the list as what it asks",
    ("jobs/jobs.py", "any_job"): "in the list as the scope that is seen to before it",
    ("routes/queues.py", "may"): "what it counts by checks again",
    ("routes/me.py", "requires"): "any token will do",
    ("routes/access.py", "_active"): "of logins: to disable a user ends them as well",
    ("routes/access.py", "effective"): "of logins: another role ends them as well",
}
"""Calls that are not in the list by themselves, with the reason."""
UNTRIED = {
    *(("page/job_form.py", "usable"), ("page/job_list.py", "usable"), ("page/job_list.py", "cluster")),
    *(("page/job_list.py", "owner_of"), ("page/job_page.py", "cluster"), ("page/job_ticks.py", "cluster")),
    *(("page/job_ticks.py", "owner_of"), ("page/navigation.py", "may"), ("page/nodes.py", "scopes")),
    *(
        ("page/account.py", "of_user"),
        ("identity/web_sessions.py", "of_user"),
        ("routes/quotas.py", "usable"),
    ),
    *(("routes/quotas.py", "cluster"), ("clusters/views.py", "cluster")),
    *(
        ("jobs/usage_report.py", "usable"),
        ("page/admin/access.py", "may"),
        ("page/admin/clients.py", "of_user"),
    ),
    ("page/admin/users.py", "of_user"),
    ("page/usage.py", "may"),
    *(("store/job_counts.py", "_active"),),  # another function of this name
}
"""Calls that no mutant is written for yet: pages show by them what else is refused behind them."""
