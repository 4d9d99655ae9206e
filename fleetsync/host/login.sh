# What the account's login shell gives: one bounded run of it answers for all names.
#
# The shell's start-up files may print, hang, or leave children that hold the pipe. So the
# answer ends at a line of ours, which comes when the shell ends or when its time is over.

# fs_login SECONDS NAME...: keep what `$SHELL -lc` gives for PATH and the names.
fs_login() {
    fs_login_flag
    fs_login_said=$(fs_ask_shell "$fs_flag" "$@")
    fs_given "$fs_login_said" PATH && fs_login_path=$fs_value
    fs_patience=$1
}
fs_login_flag() {
    # These shells refuse -l together with -c.
    case ${fs_shell##*/} in
    csh | tcsh) fs_flag=-c ;;
    *) fs_flag=-lc ;;
    esac
}
# fs_interactive SECONDS NAME...: the same of an interactive shell.
fs_interactive() {
    fs_interactive_said=$(fs_ask_shell -ic "$@")
    fs_patience=$1
}
fs_ask_shell() {
    fs_flag=$1 fs_limit=$2
    shift 2
    # What runs inside the shell's environment: it prints values, to our pipe only.
    FS_IN="FS=$FS
$fs_define_put
$fs_inside"
    for fs_name in PATH "$@"; do
        FS_IN="$FS_IN
fs_give $fs_name"
    done
    FS_IN="$FS_IN
printf '\\n@@%s .\\n' \"\$FS\""
    # shellcheck disable=SC2090
    export FS_IN
    fs_bounded "$fs_limit" "$fs_shell" "$fs_flag" "$fs_in_shell"
}
# No quote or dollar beyond these: fish, tcsh and the Bourne family agree on them.
fs_in_shell='exec sh -c '\''eval "$FS_IN"'\'''
fs_inside='fs_give() {
    eval "fs_set=\${$1+x} fs_value=\${$1-}"
    [ -z "$fs_set" ] || { printf "\n@@%s = %s\n" "$FS" "$1" && fs_put "$fs_value"; }
}'
# fs_given ANSWER NAME: the value in fs_value; status 1 when unset, 2 without an answer.
fs_given() {
    fs_value=
    case $1 in
    *"$fs_newline@@$FS ."*) ;;
    *) return 2 ;;
    esac
    case $1 in
    *"$fs_newline@@$FS = $2$fs_newline"*) ;;
    *) return 1 ;;
    esac
    fs_value=${1#*"$fs_newline@@$FS = $2$fs_newline"}
    fs_value=${fs_value%%"$fs_newline@@$FS "*}
}
# fs_bounded SECONDS COMMAND...: what COMMAND prints. After SECONDS it gets TERM, one
# second later KILL, with its children where the host can give it a group of its own.
fs_bounded() {
    fs_limit=$1 fs_group=
    shift
    command -v setsid >/dev/null && fs_group=setsid
    {
        $fs_group env "PATH=$fs_user_path" "$@" </dev/null 2>/dev/null &
        fs_asked_pid=$!
        fs_time_out &
        fs_timer=$!
        wait "$fs_asked_pid"
        fs_group= && fs_halt TERM "$fs_timer"
        printf '\n@@%s end\n' "$FS"
    } | fs_until_end
}
fs_until_end() {
    while IFS= read -r fs_line; do
        case $fs_line in
        "@@$FS end") return ;;
        esac
        fs_put "$fs_line$fs_newline"
    done
}
fs_time_out() {
    fs_sleep=
    trap 'fs_group= && fs_halt TERM "$fs_sleep"; exit 0' TERM
    sleep "$fs_limit" >/dev/null &
    fs_sleep=$!
    wait "$fs_sleep"
    # What outlives its leader is ended too: from here on nobody calls this off.
    trap '' TERM
    printf '\n@@%s end\n' "$FS"
    fs_halt TERM "$fs_asked_pid"
    sleep 1 >/dev/null &
    fs_sleep=$!
    wait "$fs_sleep"
    fs_halt KILL "$fs_asked_pid"
}
# fs_halt SIGNAL NUMBER: a group where fs_group made one, else a process. Whatever else
# the number could be taken for, kill never sees it.
fs_halt() {
    case $2 in
    '' | 0* | 1 | *[!0-9]*) return ;;
    esac
    if [ -n "$fs_group" ]; then
        kill -s "$1" -- "-$2"
    else
        kill -s "$1" "$2"
    fi
}
