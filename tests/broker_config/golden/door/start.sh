#!/bin/sh
# How every broker of MiniCluster mc starts.
#   sh start.sh        a broker: index 0 is the lead, the others follow it
#   sh start.sh main   what the lead's broker runs once enough brokers have joined
#   sh start.sh relay, sh start.sh shell [-- COMMAND...]   for people, in the container of the lead's broker

config=${MINICLUSTER_CONFIG:-/etc/minicluster}
run=${MINICLUSTER_RUN:-/run/minicluster}
state=${MINICLUSTER_STATE:-$run/state}
index=${JOB_COMPLETION_INDEX-}
role=${JOB_COMPLETION_INDEX:+follower}
[ "$index" != 0 ] || role=lead
archive=/data/state.tgz
uri=local://$run/local
broker='' starting='' nap='' signal='' caught='' killed='' leaving='' code=''

say() {
    printf 'minicluster[%s]: %s\n' "${index:-service}" "$*" >&2
}

warn() {
    printf 'minicluster[%s]: %s\n' "${index:-service}" "$*" >&2
}

die() {
    warn "$@"
    exit 1
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

# Ends this script as the Job's pod failure policy expects it. A follower is to be replaced (75), whatever
# ended it, unless the lead ended the instance. A lead whose broker was killed, or that was told to go, is to be
# replaced as well (137, 143); but its program cannot ask for that: its 75, 137 and 143 become 1. The true code
# goes to the termination log.
finish() {
    set +eu
    trap - EXIT
    trap '' TERM INT HUP
    if [ "$role" != lead ]; then
        [ "$1" = "$INSTANCE_ENDED" ] && exit 0
        exit 75
    fi
    report=${MINICLUSTER_TERMINATION_LOG:-/dev/termination-log}
    if [ -n "${MINICLUSTER_TERMINATION_LOG-}" ] || [ -e "$report" ]; then
        printf '%s\n' "$1" 2>/dev/null >"$report" || warn "cannot write the exit code to $report"
    fi
    [ -z "$signal$killed" ] || exit "$1"
    case $1 in 75 | 137 | 143) exit 1 ;; esac
    exit "$1"
}
INSTANCE_ENDED=ended

on_signal() {
    signal=$1 caught=yes
    [ -z "$nap" ] || kill "$nap" 2>/dev/null
    if [ -n "$broker" ]; then
        [ "$role" != lead ] || [ -n "$leaving" ] || leave
        kill -TERM "$broker" 2>/dev/null
    elif [ -z "$starting" ]; then
        exit $((128 + $1))
    fi
}

prepare() {
    case $index in '' | *[!0-9]*)
        die "JOB_COMPLETION_INDEX is '$index': the indexed Job sets it to this broker's number, 0 for the lead" ;;
    esac
    for file in broker.toml R; do
        [ -r "$config/$file" ] || die "cannot read $config/$file: the MiniCluster's ConfigMap must be mounted at $config (or MINICLUSTER_CONFIG name its place), readable by uid $(id -u)"
    done
    { mkdir -p -- "$run" && chmod 700 "$run"; } 2>/dev/null ||
        die "cannot make $run private to uid $(id -u): mount an emptyDir there, or let MINICLUSTER_RUN name a directory of this user"
    certificate
}

# Flux refuses a certificate that others can read, and a mounted Secret cannot be made private: so copy it.
certificate() {
    source=${MINICLUSTER_CURVE:-/etc/minicluster-curve/curve.cert}
    target=/run/minicluster/curve.cert
    [ -r "$source" ] || die "cannot read the CURVE certificate $source: the MiniCluster's Secret must be mounted there (or MINICLUSTER_CURVE name the file), readable by uid $(id -u)"
    if [ "$source" = "$target" ]; then
        mode=$(ls -lLd -- "$source")
        case $mode in -r[-w]-------*) return ;; esac
        die "the CURVE certificate $source can be read by others (${mode%% *}): it holds the secret key, so: chmod 400 $source"
    fi
    rm -f -- "$target"
    (umask 377 && cat -- "$source" >"$target") 2>/dev/null ||
        die "cannot copy the CURVE certificate to $target: its directory must be writable by uid $(id -u)"
}

# Runs the broker with "$@" added to its options; leaves its exit code in $code.
run_broker() {
    rm -rf -- "$run/flux" "$run/local"
    mkdir -m 700 -- "$run/flux" || die "cannot make $run/flux: is the volume of $run writable, with room left?"
    starting=yes
    # A background process reads /dev/null unless its standard input is handed over explicitly.
    exec 3<&0
    flux broker -c "$config/broker.toml" \
        -Srundir="$run/flux" -Sstatedir="$state" -Slocal-uri="$uri" \
        -Shostname="${MINICLUSTER_HOST:-mc-$index}" \
        -Slog-stderr-mode=local -Slog-stderr-level=6 -Sbroker.quorum=2 -Stbon.connect_timeout=5s "$@" <&3 3<&- &
    broker=$! starting=''
    exec 3<&-
    [ -z "$signal" ] || on_signal "$signal"
    await_broker
    broker=''
}

# A trapped signal interrupts `wait`; then the broker's own code is still to come.
await_broker() {
    again=''
    while :; do
        caught=''
        wait "$broker"
        status=$?
        [ -n "$again" ] && [ "$status" -eq 127 ] || code=$status
        [ -n "$caught" ] || return 0
        again=yes
    done
}

# The lead was told to go, and will be back elsewhere: followers of an instance that ends in order would end
# for good (with 0), so they are sent off before; they start again and wait for the lead to return. The embedded
# instance's lead tells them by itself.
leave() {
    leaving=yes
    export FLUX_URI="$uri"
    settle
    if [ ! -s "$run/exit-code" ] && ! grep -q minicluster.embedded "$(command -v flux)"; then
        for range in $(flux resource status -s online -no '{ranks}' 2>/dev/null | tr , ' '); do
            rank=${range%-*}
            while [ "$rank" -le "${range#*-}" ]; do
                [ "$rank" -eq 0 ] || flux overlay disconnect "$rank" >/dev/null 2>&1
                rank=$((rank + 1))
            done
        done
    fi
}

pause() {
    sleep "$1" &
    nap=$!
    wait "$nap"
    nap=''
    [ -z "$signal" ] || exit $((128 + signal))
}

# Flux cancels what still runs when it shuts down; so nothing new starts, and what runs may finish.
settle() {
    say "saving to $archive: no job starts any more, running ones have 60 s"
    flux queue stop --all >/dev/null || warn "cannot stop the queues"
    flux queue idle --timeout=60s >/dev/null 2>&1 && return
    for late in $(flux jobs -n -o '{id.dec}' --filter=running 2>/dev/null); do
        if again=$(flux job info "$late" jobspec | renamed "$late" | flux job submit 2>/dev/null); then
            warn "after 60 s (drainTimeoutSeconds) job $(flux job id --to=f58 "$late") still runs: it is started again after the restore, as $again"
        else
            warn "after 60 s (drainTimeoutSeconds) job $(flux job id --to=f58 "$late") still runs, and is lost"
        fi
    done
}

# A jobspec (JSON) with the id that the job had before put into attributes.user.minicluster. In a text of the
# jobspec each quote is escaped, so that only keys match.
renamed() {
    old="\"restart_of\": $1"
    sed -e "s/\"minicluster\": *{ *}/\"minicluster\": {$old}/;t" \
        -e "s/\"minicluster\": *{/\"minicluster\": {$old, /;t" \
        -e "s/\"user\": *{ *}/\"user\": {\"minicluster\": {$old}}/;t" \
        -e "s/\"user\": *{/\"user\": {\"minicluster\": {$old}, /;t" \
        -e "s/\"attributes\": *{/\"attributes\": {\"user\": {\"minicluster\": {$old}}, /"
}

# Real Flux finds the lead's door by modprobe, which wants directories; a mounted ConfigMap has none. (The embedded
# instance loads it by its configuration.)
modules() {
    for file in flux_modules.zip minicluster-door.py minicluster-modprobe.toml minicluster-rc1.py; do
        [ -r "$config/$file" ] || { warn "cannot read $config/$file: real Flux runs without the lead's door"; return; }
    done
    modprobe=$run/modprobe
    rm -rf -- "$modprobe"
    { mkdir -p -- "$modprobe/modprobe.d" "$modprobe/rc1.d" &&
        ln -s -- "$config/minicluster-modprobe.toml" "$modprobe/modprobe.d/minicluster.toml" &&
        ln -s -- "$config/minicluster-rc1.py" "$modprobe/rc1.d/minicluster.py"; } ||
        { warn "cannot write to $modprobe: real Flux runs without the lead's door"; return; }
    FLUX_MODPROBE_PATH_APPEND=${FLUX_MODPROBE_PATH_APPEND:+$FLUX_MODPROBE_PATH_APPEND:}$modprobe
    FLUX_MODULE_PATH_PREPEND=$config${FLUX_MODULE_PATH_PREPEND:+:$FLUX_MODULE_PATH_PREPEND}
    export FLUX_MODPROBE_PATH_APPEND FLUX_MODULE_PATH_PREPEND
}

lead() {
    rm -f -- "$run/exit-code" "$run/main-started"
    modules
    restore=${MINICLUSTER_RESTORE-}
    MINICLUSTER_RESTORED=
    if [ -n "$restore" ]; then
        [ -r "$restore" ] || die "cannot read $restore, which is to be restored"
    elif [ -n "$(ls -A -- "$state" 2>/dev/null)" ]; then
        MINICLUSTER_RESTORED=yes
    elif [ -n "$archive" ] && [ -e "$archive" ]; then
        restore=$archive
    fi
    { mkdir -p -- "$state" && chmod 700 "$state"; } 2>/dev/null ||
        die "cannot make the state directory $state private to uid $(id -u): its volume must be writable by this user"
    set --
    if [ -n "$restore" ]; then
        if [ "$(head -c 15 -- "$restore")" = "SQLite format 3" ] && ! grep -q minicluster.embedded "$(command -v flux)"; then
            die "$restore was written by the embedded instance, and flux-core is on PATH here: it cannot read it. Restore it where no Flux is installed"
        fi
        say "restoring from $restore"
        MINICLUSTER_RESTORED=yes
        set -- "$@" "-Scontent.restore=$restore"
    fi
    dump=$(dirname -- "$archive")/.saving.$(basename -- "$archive")
    mkdir -p -- "$(dirname -- "$archive")" || die "cannot make the directory of $archive (archive.path): its volume must be writable"
    rm -f -- "$dump"
    set -- "$@" "-Scontent.dump=$dump"
    export MINICLUSTER_RESTORED
    run_broker "$@" sh "$config/start.sh" main
    keep_dump
    if [ -s "$run/exit-code" ]; then
        read -r code <"$run/exit-code"
        signal=''
    elif [ -n "$signal" ]; then
        code=$((128 + signal))
    elif [ "$code" -gt 128 ] && [ -e "${uri#local://}" ]; then
        killed=yes # a broker that ends in order removes its socket
        warn "the lead's broker was killed (signal $((code - 128)))"
    fi
    exit "$code"
}

# Flux ends with the command's code even where it could not write the dump: the older one is kept until a whole
# one is there.
keep_dump() {
    if whole_dump; then
        mv -f -- "$dump" "$archive" && say "saved to $archive"
    else
        warn "nothing was saved to $archive, what it held is kept: see the broker's messages above"
        rm -f -- "$dump"
    fi
}

# A dump that was cut short lacks its compressor's check sum, or tar's two last blocks of zeros. The embedded instance gives
# a dump its name only when it is whole.
whole_dump() {
    [ -s "$dump" ] || return
    [ "$(head -c 15 -- "$dump")" != "SQLite format 3" ] || return 0
    case $archive in
        *.tar) [ -z "$(tail -c 1024 -- "$dump" | tr -d '\000')" ]; return ;;
        *gz) tester=gzip ;;
        *.bz2) tester=bzip2 ;;
        *.xz) tester=xz ;;
        *.zst) tester=zstd ;;
        *) tester='' ;;
    esac
    if [ -n "$tester" ] && command -v "$tester" >/dev/null; then
        "$tester" -t <"$dump" >/dev/null 2>&1
    else
        warn "nobody here can tell whether the dump is whole: ${tester:-a name ending in .tar, gz, bz2, xz or zst} would be needed"
    fi
}

follower() {
    delay=1
    while :; do
        uptime=$(now)
        run_broker
        [ -z "$signal" ] || exit 75
        if [ "$code" -eq 0 ]; then
            say "the lead ended the instance"
            finish "$INSTANCE_ENDED"
        fi
        [ $(($(now) - uptime)) -lt 6000 ] || delay=1
        warn "the broker ended with $code: its lead went away or turned it away; it is started again in $delay s"
        pause "$delay"
        delay=$((delay * 2))
        [ "$delay" -le 15 ] || delay=15
    done
}

# The main job carries an attribute, so that a restored instance knows it: then it is not submitted again.
# One that was started again carries it as well: the newest is meant.
restored_job() {
    for id in $(flux jobs -a -c 0 -n -o '{id.dec}' | sort -rn); do
        if flux job info "$id" jobspec | grep -q '"minicluster": *{"main": *true'; then
            printf '%s\n' "$id"
            return
        fi
    done
}

main() {
    job=''
    if [ -n "${MINICLUSTER_RESTORED-}" ]; then
        flux queue start --all >/dev/null
        job=$(restored_job)
    fi
    # A local run shows from this file that the bring-up is over.
    : >"$run/main-started"
    program
    code=$?
    printf '%s\n' "$code" >"$run/exit-code"
    settle
    exit "$code"
}

program() {
    if [ -n "$job" ]; then
        say "the restored instance has the main job: attaching to it"
        flux job attach "$job"
        return
    fi
    flux submit -n1 --setattr=user.minicluster.main=true --quiet --watch hostname
}

if [ "${1-}" = main ]; then
    main
fi

# People come beside a running broker, with what it has after all hooks: the environment, the directory.
remember() {
    (umask 077 && export -p >"$run/environment") || warn "cannot write $run/environment: jobs cannot be sent from outside"
}

visit() {
    terminal=${TERM-}
    [ -r "$run/environment" ] || die "the broker of this pod has not begun yet, or is none: there is no $run/environment"
    . "$run/environment"
    [ -z "$terminal" ] || export TERM="$terminal"
    cd -- "$PWD" 2>/dev/null
    export FLUX_URI="$uri"
    if [ "$1" = shell ]; then
        shift
        [ "${1-}" != -- ] || shift
        [ $# -gt 0 ] || set -- "$(command -v bash || command -v sh)"
        exec "$@"
    fi
    if grep -q minicluster.embedded "$(command -v flux)"; then
        exec flux minicluster-relay "$uri"
    fi
    exec flux python -c 'import sys
sys.path.insert(0, sys.argv.pop(1))
from minicluster.instance.flux_helper import main
sys.exit(main())' "$config/flux_modules.zip" "$uri"
}

case ${1-} in relay | shell) visit "$@" ;; esac

( : <&0 ) 2>/dev/null || exec </dev/null
trap 'finish "$?"' EXIT
trap 'on_signal 15' TERM
trap 'on_signal 2' INT
trap 'on_signal 1' HUP
MINICLUSTER_CONFIG=$config MINICLUSTER_RUN=$run
export MINICLUSTER_CONFIG MINICLUSTER_RUN
PATH=$PATH:/mnt/flux/view/bin:/mnt/flux/bin
export PATH
find_flux
prepare
if [ "$role" = lead ]; then
    remember
    lead
else
    follower
fi
