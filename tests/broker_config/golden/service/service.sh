#!/bin/sh
# How a sidecar or a service container starts.
# First of all: the kernel drops a signal for which the first process of a container has no trap.
trap 'exit 143' TERM
run=${MINICLUSTER_RUN:-/run/minicluster}
child='' nap='' signal='' early='' index=''

say() {
    printf 'minicluster[%s]: %s\n' "${index:-service}" "$*" >&2
}

warn() {
    printf 'minicluster[%s]: %s\n' "${index:-service}" "$*" >&2
}

die() {
    warn "$@"
    fatal=$*
    exit 1
}

# send_signal NAME PID, to a child. Some shells (dash) lose a signal that a child gets between fork and exec: there it
# has its shell's command line.
send_signal() {
    tries=20
    while [ "$tries" -gt 0 ] && [ -e "/proc/$2" ] && [ "$(command_line "$2")" = "$(command_line $$)" ]; do
        sleep 0.1
        tries=$((tries - 1))
    done
    kill "-$1" "$2" 2>/dev/null
}

command_line() {
    { tr '\0' ' ' <"/proc/$1/cmdline"; } 2>/dev/null # it may have ended
}

# Hundredths of a second since the machine started: no program is needed to tell the time.
now() {
    read -r ticks _ </proc/uptime
    printf '%s\n' "${ticks%.*}${ticks#*.}"
}

# Puts the first flux on PATH that is flux-core (or the embedded instance): a GitOps tool has the same name.
find_flux() {
    rest=$PATH: other=''
    while [ -n "$rest" ]; do
        dir=${rest%%:*}
        rest=${rest#*:}
        [ -f "${dir:=.}/flux" ] && [ -x "$dir/flux" ] || continue
        if grep -q -e FLUX_EXEC_PATH -e minicluster.embedded "$dir/flux" || "$dir/flux" --version 2>/dev/null </dev/null | grep -q libflux-core; then
            [ -z "$other" ] || PATH=$dir:$PATH
            export PATH
            return
        fi
        other=$dir/flux
    done
    [ -z "$other" ] || die "$other is not flux-core's flux (another tool has that name): put flux-core's directory on PATH, or enable the Flux view"
    die "no flux on PATH ($PATH): use an image with Flux, or enable the Flux view (flux.container.disable: false)"
}

exec sh -c 'nginx -g '\''daemon off;'\'''
