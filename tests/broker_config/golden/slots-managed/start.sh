#!/bin/sh
# How every broker of MiniCluster mc starts.
#   sh start.sh        a broker: index 0 is the lead, the others follow it
#   sh start.sh main   what the lead's broker runs once enough brokers have joined
#   sh start.sh relay, sh start.sh shell [-- COMMAND...]   for people, in the container of the lead's broker

# First of all: the kernel drops a signal for which the first process of a container has no trap.
early=''
[ $# -gt 0 ] || trap 'early=15' TERM

config=${MINICLUSTER_CONFIG:-/etc/minicluster}
run=${MINICLUSTER_RUN:-/run/minicluster}
state=${MINICLUSTER_STATE:-$run/state}
index=${JOB_COMPLETION_INDEX-}
role=${JOB_COMPLETION_INDEX:+follower}
[ "$index" != 0 ] || role=lead
archive=
uri=local://$run/local
broker='' starting='' nap='' signal='' caught='' killed='' leaving='' code='' ordered='' saved='' refusal='' fatal=''

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

# Which engine is on PATH.
embedded() {
    grep -q minicluster.embedded "$(command -v flux)"
}

# Ends this script as the Job's pod failure policy expects it. A follower is to be replaced (75), whatever
# ended it, unless the lead ended the instance. A lead whose broker was killed, or that was told to go, is to be
# replaced as well (137, 143); but its program cannot ask for that: its 75, 137 and 143 become 1. The true code
# goes to the termination log; of a lead that saved before its program ended, what it saved (and one that was ordered to
# is to be replaced: 75); of any broker that cannot start, why.
finish() {
    set +eu
    trap - EXIT
    trap '' TERM INT HUP
    [ -z "$fatal" ] || refusal="{\"error\": \"$(printf '%s' "$fatal" | tr '\001-\037' ' ' | sed 's/[\\"]/\\&/g')\"}"
    report=${MINICLUSTER_TERMINATION_LOG:-/dev/termination-log}
    if [ "$role" != lead ] && [ -z "$refusal" ]; then
        :
    elif [ -n "${MINICLUSTER_TERMINATION_LOG-}" ] || [ -e "$report" ]; then
        printf '%s\n' "${saved:-${refusal:-$1}}" 2>/dev/null >"$report" || warn "cannot write the exit code to $report"
    fi
    if [ "$role" != lead ]; then
        [ "$1" = "$INSTANCE_ENDED" ] && exit 0
        exit 75
    fi
    [ -z "$saved" ] || [ -z "$ordered" ] || exit 75
    [ -z "$signal$killed" ] || exit "$1"
    case $1 in 75 | 137 | 143) exit 1 ;; esac
    exit "$1"
}
INSTANCE_ENDED=ended

on_signal() {
    signal=$1 caught=yes
    [ -z "$nap" ] || kill -KILL "$nap" 2>/dev/null
    if [ -n "$broker" ]; then
        case $role$leaving in
            *now) return ;; # who waits for jobs ends the broker next
            leaddone) [ -z "$archive" ] || return ;; # a second SIGTERM would end Flux's dump
            lead) leave ;;
        esac
        send_signal TERM "$broker"
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
    resources
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

# The container asks for no CPU: then this broker has what it may use. R comes with one core in its place.
resources() {
    count_cores
    range=0
    [ "$cores" -eq 1 ] || range=0-$((cores - 1))
    IFS= read -r line <"$config/R"
    rm -f -- /run/minicluster/R
    begin=''
    for entry in 1 2; do
        begin="$begin${line%%'"core": "0"'*}\"core\": \"$range\""
        line=${line#*'"core": "0"'}
    done
    printf '%s\n' "$begin$line" 2>/dev/null >/run/minicluster/R ||
        die "cannot write "/run/minicluster/R": is its volume writable, with room left?"
    say "no CPU is asked for: $cores cores a broker, as this container may use"
}

# The CPU affinity, bounded by the cgroup's quota (version 2, then 1): whole cores, at least one.
count_cores() {
    cores=0
    while read -r key list; do
        [ "$key" = Cpus_allowed_list: ] || continue
        while [ -n "$list" ]; do
            range=${list%%,*}
            cores=$((cores + ${range#*-} - ${range%-*} + 1))
            case $list in *,*) list=${list#*,} ;; *) list='' ;; esac
        done
    done </proc/self/status
    cgroup=${MINICLUSTER_CGROUP:-/sys/fs/cgroup} quota='' period=''
    if [ -r "$cgroup/cpu.max" ]; then
        read -r quota period <"$cgroup/cpu.max"
    elif [ -r "$cgroup/cpu/cpu.cfs_quota_us" ]; then
        read -r quota <"$cgroup/cpu/cpu.cfs_quota_us"
        read -r period <"$cgroup/cpu/cpu.cfs_period_us"
    fi
    case $quota in '' | max | -*) ;; *) [ $((quota / period)) -ge "$cores" ] || cores=$((quota / period)) ;; esac
    [ "$cores" -ge 1 ] || cores=1
}

# Real Flux's job shells read what they find beside their initrc: theirs, what brings orders to malleable jobs, and
# what binds tasks to their cores.
shells() {
    shell_rc='' builtin=$(flux config builtin shell_initrc) || return 0
    [ -r "$builtin" ] || return 0
    rm -rf -- "$run/shell"
    mkdir -p -- "$run/shell/lua.d" || die "cannot write to $run: is its volume writable, with room left?"
    ln -s -- "$builtin" "$run/shell/initrc.lua" || die "cannot write to $run/shell"
    for file in "${builtin%/*}"/lua.d/* "$config/minicluster-malleable.lua" "$config/minicluster-placement.lua"; do
        [ ! -r "$file" ] || ln -s -- "$file" "$run/shell/lua.d"
    done
    shell_rc=$run/shell/initrc.lua
}

# Whether this follower may lose its lead for good, as one of a burst does.
fenced() {
    [ "$role" = follower ] && [ -n "${MINICLUSTER_FENCE-}${MINICLUSTER_LEAVE_AFTER-}" ]
}

# Starts what watches over the broker (minicluster/fence), and waits until it does: no broker runs without it.
guard() {
    rm -f -- "$run/watching" "$run/unwatched" "$run/broker"
    watch &
    guard=$!
    until [ -e "$run/watching" ]; do
        [ ! -e "$run/unwatched" ] || die "the fence cannot be started, see above: the broker is not started without it"
        sleep 0.05
    done
}

# Waits until nothing is left of what the broker had started.
unguard() {
    while kill -0 "$guard" 2>/dev/null; do wait "$guard"; done
    [ ! -e "$run/unwatched" ] || die "the fence could not be started again, see above: the broker was killed"
}

# The fence, started again whenever it fails. It ends with 0 when nothing is left of the broker.
watch() {
    trap - EXIT TERM INT HUP
    trap '' PIPE # who reads the messages may be gone; what is left of the broker is not to stay
    failures=0
    until fence $$ "$run" "$uri" "${MINICLUSTER_FENCE:-0}" "${MINICLUSTER_LEAVE_AFTER:-0}"; do
        failures=$((failures + 1))
        [ ! -e "$run/watching" ] || [ ! -e "$run/broker" ] || failures=1
        rm -f -- "$run/watching"
        if [ "$failures" -ge 3 ]; then
            : >"$run/unwatched"
            [ ! -e "$run/broker" ] || kill -KILL "$(cat "$run/broker")" 2>/dev/null
            return
        fi
        warn "the fence failed; it is started again"
        sleep 0.5
    done
}

fence() {
    if embedded; then
        flux minicluster-fence "$@"
    else
        flux python -c 'import sys
sys.path.insert(0, sys.argv.pop(1))
from minicluster.fence.flux_command import main
sys.exit(main(sys.argv[1:]))' "$config/flux_modules.zip" "$@"
    fi
}

# Runs the broker with "$@" added to its options; leaves its exit code in $code.
run_broker() {
    embedded || shells
    rm -rf -- "$run/flux" "$run/local"
    mkdir -m 700 -- "$run/flux" || die "cannot make $run/flux: is the volume of $run writable, with room left?"
    starting=yes fatal=''
    ! fenced || guard
    # A background process reads /dev/null unless its standard input is handed over explicitly.
    exec 3<&0
    flux broker -c "$config/broker.toml" \
        -Srundir="$run/flux" -Sstatedir="$state" -Slocal-uri="$uri" \
        -Shostname="${MINICLUSTER_HOST:-mc-$index}" \
        ${shell_rc:+"-Sconf.shell_initrc=$shell_rc"} -Slog-stderr-mode=local -Slog-stderr-level=6 -Sbroker.quorum=2 -Stbon.connect_timeout=5s "$@" <&3 3<&- &
    broker=$!
    ! fenced || { printf '%s\n' "$broker" >"$run/broker.new" && mv -- "$run/broker.new" "$run/broker"; }
    starting=''
    exec 3<&-
    [ -z "$signal" ] || on_signal "$signal"
    await_broker
    broker=''
    ! fenced || unguard
    [ "$code" -eq 0 ] || [ -n "$signal$ordered" ] || [ -s "$run/exit-code" ] || check_flux
}

# A broker that failed may never have run: in an image with an older C library than Flux was built with, for example.
check_flux() {
    said=$(unset FLUX_URI; flux --version 2>&1 </dev/null) && { check_version; return; }
    hint=''
    case $said in *GLIBC* | *"shared libraries"* | *"not found"*)
        hint=" (is its C library, glibc, older than the one that Flux was built with?)" ;;
    esac
    die "flux cannot run in this image$hint: $(printf '%s\n' "$said" | head -n 1)"
}

# A broker that failed in order: that may be for want of what an older Flux does not have. A follower tries again.
check_version() {
    version=$(printf '%s\n' "$said" | sed -n 's/^libflux-core:[[:space:]]*//p')
    minor=${version#0.} minor=${minor%%.*}
    case $version in 0.*.*) ;; *) return 0 ;; esac
    case $minor in '' | *[!0-9]*) return 0 ;; esac
    [ "$code" -lt 128 ] && [ "$minor" -lt 88 ] || return 0
    fatal="the broker ended with $code, and this image's flux-core $version is older than 0.88, the oldest that is tested: use an image with a newer Flux, or enable the Flux view (flux.container.disable: false)"
    warn "$fatal"
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
    leaving=now
    export FLUX_URI="$uri"
    # Else jobs that wait would be placed on those that go, and fail; a start with this state starts the queues.
    embedded || flux queue stop --all >/dev/null 2>&1
    if [ ! -s "$run/exit-code" ] && ! embedded; then
        for range in $(flux resource status -s online -no '{ranks}' 2>/dev/null | tr , ' '); do
            rank=${range%-*}
            while [ "$rank" -le "${range#*-}" ]; do
                [ "$rank" -eq 0 ] || flux overlay disconnect "$rank" >/dev/null 2>&1
                rank=$((rank + 1))
            done
        done
    fi
    leaving=done
}

pause() {
    sleep "$1" &
    nap=$!
    wait "$nap" 2>/dev/null
    nap=''
    [ -z "$signal" ] || exit $((128 + signal))
}

# Real Flux finds the scheduler with our queue policies in the same way; broker.toml says that it wants it.
scheduler() {
    for file in flux_scheduler.zip minicluster-sched.py minicluster-sched-modprobe.toml minicluster-sched-rc1.py \
        minicluster-malleable.lua minicluster-placement.lua; do
        [ -r "$config/$file" ] ||
            die "cannot read $config/$file, which brings the queue policy to real Flux: the MiniCluster's ConfigMap must hold it"
    done
    modprobe=$run/modprobe-sched
    rm -rf -- "$modprobe"
    { mkdir -p -- "$modprobe/modprobe.d" "$modprobe/rc1.d" &&
        ln -s -- "$config/minicluster-sched-modprobe.toml" "$modprobe/modprobe.d/minicluster-sched.toml" &&
        ln -s -- "$config/minicluster-sched-rc1.py" "$modprobe/rc1.d/minicluster-sched.py"; } ||
        die "cannot write to $modprobe: is its volume writable, with room left?"
    FLUX_MODPROBE_PATH_APPEND=${FLUX_MODPROBE_PATH_APPEND:+$FLUX_MODPROBE_PATH_APPEND:}$modprobe
    FLUX_MODULE_PATH_PREPEND=$config${FLUX_MODULE_PATH_PREPEND:+:$FLUX_MODULE_PATH_PREPEND}
    export FLUX_MODPROBE_PATH_APPEND FLUX_MODULE_PATH_PREPEND
}

lead() {
    rm -f -- "$run/save" "$run/saving" "$run/settled" "$run/kept" "$run/restarted"
    embedded || scheduler
    restore=${MINICLUSTER_RESTORE-}
    MINICLUSTER_RESTORED=
    if [ -e "$state/restoring" ]; then
        say "an earlier start did not come to the end of its restore: it is begun anew"
        rm -rf -- "$state"/*
    fi
    if [ -n "$restore" ]; then
        [ -r "$restore" ] || die "cannot read $restore, which is to be restored"
    elif [ -n "$(ls -A -- "$state" 2>/dev/null)" ]; then
        MINICLUSTER_RESTORED=yes
    elif [ -n "$archive" ] && [ -e "$archive" ]; then
        restore=$archive
    fi
    { mkdir -p -- "$state" && chmod 700 "$state"; } 2>/dev/null ||
        die "cannot make the state directory $state private to uid $(id -u): its volume must be writable by this user"
    if [ -n "$restore" ]; then
        restorable
        say "restoring from $restore"
        MINICLUSTER_RESTORED=yes
    fi
    live
    if [ -e "$state/restoring" ] && [ -z "$signal$ordered" ] && [ "$code" -gt 0 ] && [ "$code" -lt 128 ]; then
        die "cannot restore from $restore: the broker ended with $code, see its messages above (has the volume of $state room enough?)"
    fi
    if [ -s "$run/exit-code" ]; then
        read -r code <"$run/exit-code"
        signal='' saved=''
    elif [ -n "$signal" ]; then
        code=$((128 + signal))
    elif [ "$code" -gt 128 ] && [ -e "${uri#local://}" ]; then
        killed=yes # a broker that ends in order removes its socket
        warn "the lead's broker was killed (signal $((code - 128)))"
    fi
    exit "$code"
}

# One life of the lead's broker.
live() {
    rm -f -- "$run/exit-code" "$run/main-started"
    set --
    [ -z "$restore" ] || set -- "$@" "-Scontent.restore=$restore"
    export MINICLUSTER_RESTORED
    # The lead's server does not report them as stopped before.
    export MINICLUSTER_STARTS_QUEUES=yes
    starter=''
    if [ -n "$MINICLUSTER_RESTORED" ]; then
        restored &
        starter=$!
    fi
    run_broker "$@" sh "$config/start.sh" main
    [ -z "$starter" ] || kill "$starter" 2>/dev/null
}

# Beside a broker that takes up jobs, until it has.
restored() {
    trap - EXIT TERM INT HUP USR1
    export FLUX_URI="$uri"
    until flux queue status >/dev/null 2>&1; do sleep 1; done
    rm -f -- "$state/restoring"
}

start_queues() {
    # Flux keeps which queues were started. Those of slots stay stopped until somebody knows that their nodes are there.
    flux queue stop --all >/dev/null || warn "cannot stop the queues of bursts: jobs in them may hold up others"
    open_queues >/dev/null || warn "cannot start the queues"
}

# Not the queue in which jobs wait for a burst, nor those of slots: `flux queue start` takes one at a time.
open_queues() {
    closed=''
    for queue in default debug big; do
        flux queue start "$queue" || closed=yes
    done
    [ -z "$closed" ]
}

# A dump that cannot be restored must not be overwritten by the next one: so the instance does not start without it.
restorable() {
    if [ "$(head -c 15 -- "$restore")" = "SQLite format 3" ] && ! embedded; then
        die "$restore was written by the embedded instance, and flux-core is on PATH here: it cannot read it. Restore it where no Flux is installed"
    fi
    # What was restored in part must not be taken for the instance's own state.
    [ -n "$(ls -A -- "$state" 2>/dev/null)" ] || : >"$state/restoring"
}

# How long this follower may be without its lead, where it may lose it for good: in whole seconds, empty for ever.
limits() {
    for limit in "MINICLUSTER_FENCE=${MINICLUSTER_FENCE-}" "MINICLUSTER_LEAVE_AFTER=${MINICLUSTER_LEAVE_AFTER-}"; do
        case ${limit#*=} in
            0* | *[!0-9]*) die "$limit: a whole number of seconds, 1 or more, is right" ;;
        esac
    done
    began=$(now) refusals=0
    printf '%s\n' "$began" >"$run/answered" || die "cannot write to $run: is its volume writable, with room left?"
}

# Gives up where the lead has never answered a burst's follower whose broker ended three times: it is not one of the lead's.
refused_for_good() {
    fenced || return 0
    refusals=$((refusals + 1))
    read -r answered <"$run/answered"
    [ "$answered" != "$began" ] || [ "$refusals" -lt 3 ] ||
        die "the lead has turned this broker away: it has another list of hosts or another version of Flux than the lead"
}

# Ends for good where the lead has not answered for so long; the fence notes in $run/answered when it did.
leave_for_good() {
    [ -n "${MINICLUSTER_LEAVE_AFTER-}" ] || return 0
    read -r answered <"$run/answered"
    if [ $(($(now) - answered)) -ge "${MINICLUSTER_LEAVE_AFTER}00" ]; then
        warn "no lead for $MINICLUSTER_LEAVE_AFTER s: this follower leaves for good"
        [ "$answered" != "$began" ] ||
            fatal="no lead has answered in $MINICLUSTER_LEAVE_AFTER s: it cannot be reached from here, or has another certificate"
        finish "$INSTANCE_ENDED"
    fi
}

follower() {
    delay=1
    limits
    while :; do
        uptime=$(now)
        run_broker
        [ -z "$signal" ] || exit 75
        if [ "$code" -eq 0 ]; then
            say "the lead ended the instance"
            finish "$INSTANCE_ENDED"
        fi
        leave_for_good
        refused_for_good
        [ $(($(now) - uptime)) -lt 6000 ] || delay=1
        warn "the broker ended with $code: its lead went away or turned it away; it is started again in $delay s"
        pause "$delay"
        leave_for_good
        delay=$((delay * 2))
        [ "$delay" -le 15 ] || delay=15
    done
}

# The main job carries an attribute, so that a restored instance knows it: then it is not submitted again.
# One that was started again carries it as well: the newest is meant, but no copy that was given up.
#   main_job .               the main job
#   main_job '"restart_of"'  the main job, if it was started again
main_job() {
    given_up=''
    for entry in $(flux jobs -a -c 0 -n -o '{id.dec}:{result}' | sort -rn); do
        flux job info "${entry%%:*}" jobspec | grep '"minicluster": *{[^}]*"main": *true' | grep -q -e "$1" || continue
        case $entry in
            *:CANCELED) given_up=${given_up:-${entry%%:*}} ;;
            *) printf '%s\n' "${entry%%:*}"; return ;;
        esac
    done
    [ -z "$given_up" ] || printf '%s\n' "$given_up"
}

main() {
    job=''
    if [ -n "${MINICLUSTER_RESTORED-}" ]; then
        rm -f -- "$state/restoring"
        start_queues
        job=$(main_job .)
    else
        # Queues that have names begin stopped.
        open_queues >/dev/null || warn "cannot start the queues"
    fi
    # A local run shows from this file that the bring-up is over.
    : >"$run/main-started"
    program
    code=$?
    if [ "$code" -ne 0 ] && broker_died; then
        exit "$code" # for want of the broker: that is no result of the command's
    fi
    # Before a save, or where its broker leaves, the main job may be started again, under a new id.
    while [ "$code" -ne 0 ] && again=$(main_job '"restart_of"') && [ "${again:-0}" -gt "${job:-0}" ]; do
        job=$again
        say "the main job was started again: attaching to it"
        flux job attach "$job"
        code=$?
    done
    printf '%s\n' "$code" >"$run/exit-code"
    exit "$code"
}

# Whether the broker that runs this program has ended, or is about to: its sockets are closed a moment before.
broker_died() {
    stat=$(cat "/proc/$PPID/stat" 2>/dev/null) || return 0
    set -- ${stat##*) } # proc(5): the state is the first, the flags are the seventh
    case $1 in Z | X) return 0 ;; esac
    [ $(($7 & 4)) -ne 0 ] # PF_EXITING
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
    if embedded; then
        exec flux minicluster-relay "$uri"
    fi
    exec flux python -c 'import sys
sys.path.insert(0, sys.argv.pop(1))
from minicluster.broker_link.flux_helper import main
sys.exit(main())' "$config/flux_modules.zip" "$uri"
}

case ${1-} in relay | shell) visit "$@" ;; esac

( : <&0 ) 2>/dev/null || exec </dev/null
trap 'finish "$?"' EXIT
trap 'on_signal 15' TERM
trap 'on_signal 2' INT
trap 'on_signal 1' HUP
[ -z "$early" ] || on_signal "$early"
MINICLUSTER_NAME=mc MINICLUSTER_CONFIG=$config MINICLUSTER_RUN=$run
export MINICLUSTER_NAME MINICLUSTER_CONFIG MINICLUSTER_RUN
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
