#!/bin/sh
# The jobs of MiniCluster mc, one a line of its command; ends with the highest of their exit codes.
logs='/data/out put'
mkdir -p -- "$logs" || exit 1
jobs='' worst=0

job() {
    number=$1
    shift
    if id=$(flux submit --output="$logs/job-$number.out" --error="$logs/job-$number.err" "$@"); then
        jobs="$jobs $number:$id"
    else
        ended "$number" 1
    fi
}

ended() {
    echo "job $1 ended with $2: $logs/job-$1.out, $logs/job-$1.err"
    [ "$2" -le "$worst" ] || worst=$2
}

job 0 echo one

for each in $jobs; do
    flux job attach "${each#*:}" >/dev/null 2>&1
    ended "${each%%:*}" "$?"
done
exit "$worst"
