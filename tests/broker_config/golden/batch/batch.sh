#!/bin/sh
# The jobs of MiniCluster mc, one a line of its command; ends with the highest of their exit codes.
jobs='' worst=0

job() {
    number=$1
    shift
    if id=$(flux submit "$@"); then
        jobs="$jobs $number:$id"
    else
        ended "$number" 1
    fi
}

ended() {
    echo "job $1 ended with $2"
    [ "$2" -le "$worst" ] || worst=$2
}

job 0 echo one
job 1 sh -c 'echo two; exit 2'

for each in $jobs; do
    flux job attach "${each#*:}"
    ended "${each%%:*}" "$?"
done
exit "$worst"
