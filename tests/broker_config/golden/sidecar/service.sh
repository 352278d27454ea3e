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

# The documents' hooks were written for bash as well: its `source` is POSIX's dot.
source() {
    . "$@"
}

# Runs one of the document's hooks in this very shell, so that what it exports stays.
hook() {
    eval "$2" || warn "$1 ended with $?; logging.strict would end the start here"
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

hook commands.init 'echo init'
PATH=$PATH:/mnt/flux/view/bin:/mnt/flux/bin
export PATH
export A='b c'
# The broker in this pod opens its socket once it runs.
while [ ! -S "$run/local" ]; do
    sleep 1
done
FLUX_URI=local://$run/local fluxsocket=local://$run/local
export FLUX_URI fluxsocket
hook commands.servicePre 'echo service'
on_signal() {
    signal=$1
    [ -z "$nap" ] || kill -KILL "$nap"
    if [ -n "$child" ]; then
        send_signal "$1" "$child"
    else
        early=$1
    fi
}
trap 'on_signal TERM' TERM
trap 'on_signal INT' INT
sh -c 'sleep infinity' &
child=$!
[ -z "$early" ] || send_signal "$early" "$child"
while :; do
    caught=$signal
    wait "$child"
    code=$?
    [ "$caught" = "$signal" ] && break
done
( eval 'echo post' ) || warn "commands.post ended with $?"
child=''
# Kubernetes starts a sidecar that ends again and again, a clean end or not.
[ "$code" -ne 0 ] || say "the command has ended with 0; its container stays until the pod ends"
while [ "$code" -eq 0 ] && [ -z "$signal" ]; do
    sleep 2147483647 &
    nap=$!
    # A child that is not yet sleep itself could swallow any other signal.
    [ -z "$signal" ] || kill -KILL "$nap"
    wait "$nap" 2>/dev/null
done
exit "$code"
