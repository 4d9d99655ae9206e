# One client program, bounded: a private scratch directory, an environment of ours
# alone, a process group of its own, a deadline that this host keeps, capped output.
# Calls: fs_scratch, then fs_lay... and fs_laid for each file, fs_arg, fs_env, fs_env_place,
# fs_return, fs_run.
fs_line_end='
'

fs_not_started() {
    fs_broken=${fs_broken:-yes}
    fs_say PROBLEM "$1"
}
# fs_scratch RUN: RUN tags every process of this run, and names its directory.
fs_scratch() {
    # Handlers, not '': what a shell ignores, its children ignore as well.
    trap : HUP INT PIPE TERM
    fs_run=$1
    fs_argc=0
    fs_environment='' fs_returned=''
    fs_find_rooms
    fs_room=$fs_rooms/fleetsync-$1
    mkdir "$fs_room" || { fs_not_started "cannot make $fs_room"; return; }
    trap fs_leave EXIT
    mkdir "$fs_room/scratch" "$fs_room/own" || fs_not_started "cannot write in $fs_room"
    fs_here=$fs_room/scratch
    fs_own=$fs_room/own
}
fs_leave() {
    rm -rf "$fs_room"
}
# fs_find_rooms: the directory in which scratch directories are made.
fs_find_rooms() {
    case ${TMPDIR-} in
    /*) fs_rooms=${TMPDIR%/} ;;
    *) fs_rooms=/tmp ;;
    esac
}
# fs_lifeline: a run ends when descriptor 3, the standard input of this script, does.
fs_held=
fs_lifeline() {
    fs_held=yes
}
fs_hold() {
    "$fs_sh" -c 'printf "%s\n" "$$" >"$1/hold.pid"; exec cat >/dev/null' sh "$fs_own" <&3
    printf '' >"$fs_own/cut"
}
fs_let_go() {
    read -r fs_pid <"$fs_own/hold.pid" && fs_is_pid "$fs_pid" && kill -s KILL "$fs_pid"
}
# fs_lay NAME: what comes is the content of this file in the scratch directory.
fs_lay() {
    fs_out=$fs_here/$1
    [ -z "$fs_broken" ] || return
    case $1 in
    */*) mkdir -p "${fs_out%/*}" ;;
    esac
    printf '' >"$fs_out" || fs_not_started "cannot write $1"
}
# fs_lay_from NAME LIVE OLD: as fs_lay, built from LIVE, which must still be OLD (- any).
fs_lay_from() {
    fs_lay "$1"
    [ -z "$fs_broken" ] || return
    fs_from=$fs_own/live
    cat <"$2" >"$fs_from" && { [ "$3" = - ] || fs_holds "$fs_from" "$3"; } ||
        fs_not_started "$2 is not what it was when it was read"
}
# The scratch directory's own path, inside a file.
fs_lay_here() {
    [ -n "$fs_broken" ] || printf %s "$fs_here" >>"$fs_out" || fs_broken=write
}
# fs_stdin: what comes is the standard input of the program.
fs_stdin() {
    fs_out=$fs_own/stdin
    [ -n "$fs_broken" ] || printf '' >"$fs_out" || fs_not_started "cannot write"
}
# fs_laid NAME DIGEST: the file is complete; DIGEST - stands for any.
fs_laid() {
    [ -z "$fs_broken" ] || return
    if fs_digest "$fs_here/$1" && case $2 in - | "$fs_sum") ;; *) false ;; esac; then
        fs_say LAID "$1" "$fs_sum"
    else
        fs_not_started "$1 could not be laid as it was planned"
    fi
}
# fs_words PART...: the parts, joined by the scratch directory's path, in fs_word.
fs_words() {
    fs_word=$1
    shift
    for fs_part in "$@"; do
        fs_word=$fs_word$fs_here$fs_part
    done
}
# fs_arg PART...: one more word of the program's command line.
fs_arg() {
    fs_words "$@"
    fs_argc=$((fs_argc + 1))
    eval "fs_arg_$fs_argc=\$fs_word"
}
# fs_env NAME PART...: one variable of its environment.
fs_env() {
    fs_name=$1
    shift
    fs_words "$@"
    fs_environment=$fs_environment$fs_name=$fs_word$fs_line_end
}
# fs_env_place NAME TOLD KIND WHERE NAME: one whose value stands at a place (place.sh).
# TOLD is that place in the operator's words.
fs_env_place() {
    fs_variable=$1 fs_told=$2
    shift 2
    [ -z "$fs_broken" ] || return
    fs_judge_place "$@"
    case $fs_verdict in
    resolves) fs_environment=$fs_environment$fs_variable=$fs_judged$fs_line_end ;;
    *) fs_not_started "$fs_variable has no value at $fs_told any more" ;;
    esac
    fs_value='' fs_judged=''
}
# fs_return NAME: a file in the scratch directory that is sent back after the run.
fs_return() {
    fs_returned=$fs_returned$1$fs_line_end
}
# How to make a process group: each way is tried on something harmless first.
fs_find_leader() {
    fs_leader=
    for fs_tool in setsid perl python3; do
        command -v "$fs_tool" >/dev/null 2>&1 || continue
        fs_leader=$fs_tool
        (fs_lead true) </dev/null >/dev/null 2>&1 && return
    done
    fs_leader=none
    # Some shells ignore set -m without a terminal, zsh and posh even leave: hence the
    # subshell, and the look whether a group was made.
    (
        set -m
        (exec sleep 2) &
        fs_child=$!
        kill -s 0 -- "-$fs_child"
        fs_status=$?
        kill -s KILL "$fs_child"
        exit "$fs_status"
    ) >/dev/null 2>&1 && fs_leader=jobs
}
# fs_lead COMMAND...: become COMMAND, as the leader of a new session.
fs_lead() {
    case $fs_leader in
    setsid) exec setsid "$@" ;;
    perl) exec perl -MPOSIX -e 'POSIX::setsid(); exec {$ARGV[0]} @ARGV; exit 127' "$@" ;;
    python3) exec python3 -c 'import os, sys; os.setsid(); os.execvp(sys.argv[1], sys.argv[1:])' "$@" ;;
    *) exec "$@" ;;
    esac
}
# fs_signal SIGNAL: to the whole group. `--` before the number is the one spelling
# that no shell reads as "every process"; where no group could be made, one process.
fs_signal() {
    fs_is_pid "$fs_child" || return
    case $fs_leader in
    none) kill -s "$1" "$fs_child" ;;
    *) kill -s "$1" -- "-$fs_child" ;;
    esac
}
# Processes that carry our tag in their environment, wherever they moved to.
fs_tagged() {
    if [ -r /proc/self/environ ]; then
        grep -lsaF "FLEETSYNC_RUN=$fs_run" /proc/[0-9]*/environ | while IFS=/ read -r fs_x fs_x fs_pid fs_x; do
            printf '%s\n' "$fs_pid"
        done
    else
        ps -axwwE -o pid=,command= | grep -F "FLEETSYNC_RUN=$fs_run" | while read -r fs_pid fs_line; do
            case $fs_line in
            *grep*) ;;
            *) printf '%s\n' "$fs_pid" ;;
            esac
        done
    fi
}
# End what outlived the program: its group, then the daemons that left the group.
fs_sweep() {
    fs_signal KILL
    fs_swept=0
    for fs_round in 1 2 3 4 5; do
        fs_pids=$(fs_tagged)
        [ -n "$fs_pids" ] || break
        for fs_pid in $fs_pids; do
            fs_is_pid "$fs_pid" && [ "$fs_pid" != "$$" ] || continue
            kill -s KILL "$fs_pid" && [ "$fs_round" = 1 ] && fs_swept=$((fs_swept + 1))
        done
        fs_tick
    done
}
# The program, in a subshell that survives it and tells how it ended. env -i starts
# with our tag alone: its words are visible to everyone on the host, so the real
# environment comes through a pipe, is read and exported by builtins, then closed.
fs_launch() {
    cd "$fs_here" || return
    [ "$fs_leader" != jobs ] || set -m
    (
        trap - HUP INT PIPE TERM
        fs_lead env -i "FLEETSYNC_RUN=$fs_run" "$fs_sh" -c '
            while IFS= read -r fs_line <&3 && [ -n "$fs_line" ]; do export "$fs_line"; done
            exec 3<&-
            exec "$@"' sh "$@"
    ) 3<"$fs_own/env" <"$fs_input" >"$fs_own/out.pipe" 2>"$fs_own/err.pipe" &
    fs_child=$!
    [ "$fs_leader" != jobs ] || set +m
    printf '%s\n' "$fs_child" >"$fs_own/child.new"
    mv "$fs_own/child.new" "$fs_own/child"
    wait "$fs_child"
    fs_status=$?
    fs_moment
    printf '%s %s\n' "$fs_status" "$fs_now" >"$fs_own/status.new"
    mv "$fs_own/status.new" "$fs_own/status"
}
fs_ended() {
    [ -e "$fs_own/status" ] || [ ! -d "$fs_own" ]
}
# fs_watch SECONDS: TERM at the limit or when the link is lost, KILL two seconds later. Time
# is counted by the clock and by our own ticks: whichever says first that it is over.
fs_watch() {
    fs_clock
    fs_start=$fs_now
    fs_ticks=0
    until fs_ended; do
        fs_tick
        fs_ticks=$((fs_ticks + 1))
        fs_clock
        if [ "$((fs_now - fs_start))" -gt "$1" ] || [ "$fs_ticks" -ge "$(($1 * 10))" ]; then
            printf '' >"$fs_own/late"
        elif [ ! -e "$fs_own/cut" ]; then
            continue
        fi
        read -r fs_child <"$fs_own/child"
        fs_signal TERM
        fs_grace
        fs_ended || fs_signal KILL
        fs_grace
        # What even KILL does not end hangs in the kernel: it is not waited for.
        fs_ended || { printf '137 0\n' >"$fs_own/status"; kill -s KILL "$fs_launcher"; }
    done
    # Nobody is left to answer: then nobody else tidies up.
    kill -0 "$$" || { fs_sweep; rm -rf "$fs_room"; }
}
fs_grace() {
    fs_ticks=0
    until fs_ended || [ "$fs_ticks" -ge 20 ]; do
        fs_tick
        fs_ticks=$((fs_ticks + 1))
    done
}
# fs_drink NAME: the output of the program, as it comes, up to the cap; the rest is
# drained, so that the program does not notice. The size limit binds cat alone. (head
# holds bytes back, and the feeder looks for a line while the program still runs.)
fs_drink() {
    exec <"$fs_own/$1.pipe"
    "$fs_sh" -c 'printf "%s\n" "$$" >"$1.pid"; ulimit -c 0; ulimit -f "$2"; exec cat >"$1"' \
        sh "$fs_own/$1" "$fs_blocks"
    "$fs_sh" -c 'printf "%s\n" "$$" >"$1.pid"; exec cat >/dev/null' sh "$fs_own/$1"
    printf '' >"$fs_own/$1.end"
}
# fs_feed UNTIL: the input, then an open pipe until a whole line that holds UNTIL came.
fs_feed() {
    exec 4>"$fs_own/in"
    cat "$fs_own/stdin" >&4
    [ -n "$1" ] || return
    until fs_ended; do
        grep -qF -e "$1" "$fs_own/out" && [ -z "$(tail -c 1 "$fs_own/out")" ] && return
        fs_tick
    done
}
# A process that left no trace in /proc can hold the output open: it is not waited for.
fs_close_output() {
    for fs_name in out err; do
        fs_ticks=0
        until [ -e "$fs_own/$fs_name.end" ] || [ "$fs_ticks" -ge 20 ]; do
            [ "$fs_ticks" -lt 10 ] || {
                read -r fs_pid <"$fs_own/$fs_name.pid" && fs_is_pid "$fs_pid" && kill -s KILL "$fs_pid"
            }
            fs_tick
            fs_ticks=$((fs_ticks + 1))
        done
    done
}
# fs_run SECONDS CAP UNTIL: start it, wait, clean up, answer.
fs_run() {
    [ "$fs_broken" != write ] || fs_not_started "no space to lay the files"
    [ -z "$fs_broken" ] || return
    fs_sh=$(command -v sh)
    fs_child=
    fs_blocks=$(($2 / 512 + 1))
    fs_find_leader
    mkfifo "$fs_own/env" "$fs_own/in" "$fs_own/out.pipe" "$fs_own/err.pipe" ||
        { fs_not_started "cannot make a pipe"; return; }
    printf '' >"$fs_own/out"
    fs_drink out >/dev/null &
    fs_helpers=$!
    fs_drink err >/dev/null &
    fs_helpers="$fs_helpers $!"
    # No printf: where it is a program, the values would show in the process list.
    fs_put "$fs_environment$fs_line_end" >"$fs_own/env" &
    fs_helpers="$fs_helpers $!"
    fs_input=/dev/null
    if [ -e "$fs_own/stdin" ]; then
        fs_input=$fs_own/in
        fs_feed "$3" >/dev/null &
        fs_helpers="$fs_helpers $!"
    fi
    fs_environment=
    fs_moment
    fs_began=$fs_now
    eval "fs_launch $(fs_argument_names)" >/dev/null &
    fs_launcher=$!
    fs_watch "$1" >/dev/null &
    fs_helpers="$fs_helpers $!"
    [ -z "$fs_held" ] || { fs_hold & fs_helpers="$fs_helpers $!"; }
    # A signal to this shell ends `wait`, not the program.
    until fs_ended || ! kill -0 "$fs_launcher"; do
        wait "$fs_launcher"
    done
    read -r fs_child <"$fs_own/child"
    fs_sweep
    fs_close_output
    for fs_pid in $fs_helpers; do
        kill -s KILL "$fs_pid"
    done
    [ -z "$fs_held" ] || fs_let_go
    wait
    fs_answer "$2"
    fs_leave
}
# The words of the command line as sh text: references only, so nothing is quoted.
fs_argument_names() {
    fs_n=0
    while [ "$fs_n" -lt "$fs_argc" ]; do
        fs_n=$((fs_n + 1))
        printf '"$fs_arg_%s" ' "$fs_n"
    done
}
# fs_moment: hundredths of a second in fs_now, by the clock of fs_clock.
fs_moment() {
    fs_now=$(date +%s)00
    [ ! -r /proc/uptime ] || read -r fs_now fs_line </proc/uptime
    case $fs_now in
    *.??) fs_now=$((${fs_now%.*} * 100 + 1${fs_now#*.} - 100)) ;;
    esac
}
# fs_answer CAP: how it ended, as the shell tells: above 128 it was a signal.
fs_answer() {
    read -r fs_status fs_now <"$fs_own/status" || fs_status=137 fs_now=0
    [ "$fs_now" != 0 ] || fs_moment
    fs_by=0
    [ "$fs_status" -le 256 ] || fs_status=$((fs_status - 128))
    [ "$fs_status" -le 128 ] || { fs_by=$((fs_status - 128)); fs_status=0; }
    fs_late=0 fs_over=0
    [ ! -e "$fs_own/late" ] || fs_late=1
    for fs_name in out err; do
        fs_within "$1" "$fs_own/$fs_name"
    done
    fs_send_back "$1"
    fs_say RAN "$fs_status" "$fs_by" "$fs_late" "$fs_over" "$fs_swept" "$((fs_now - fs_began))"
    fs_say OUT
    fs_raw head -c "$1" "$fs_own/out"
    fs_say ERR
    fs_raw head -c "$1" "$fs_own/err"
}
fs_within() {
    [ "$(($(wc -c <"$2")))" -le "$1" ] || fs_over=1
}
# fs_send_back CAP: the files that were asked for, where they are regular files and no
# link leads out of the scratch directory.
fs_send_back() {
    fs_base=$(cd -P "$fs_here" && pwd -P)
    while [ -n "$fs_returned" ]; do
        fs_name=${fs_returned%%"$fs_line_end"*}
        fs_returned=${fs_returned#*"$fs_line_end"}
        fs_file=$fs_here/$fs_name
        fs_dir=$(cd -P "${fs_file%/*}" && pwd -P)
        case $fs_dir/ in
        "$fs_base"/*) [ -f "$fs_file" ] && [ ! -L "$fs_file" ] || continue ;;
        *) continue ;;
        esac
        fs_within "$1" "$fs_file"
        fs_say FILE "$fs_name"
        fs_raw head -c "$1" "$fs_file"
    done
}
