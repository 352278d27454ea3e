#!/bin/sh
if [ -z "${BASH_VERSION-}" ] && command -v bash >/dev/null; then exec bash "$0" "$@"; fi
flux run a
flux queue idle