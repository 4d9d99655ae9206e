# What a probe reads of the account and of files. Nothing here writes: no temporary file,
# no lock, no directory. Each call answers with records that begin with its number.
fs_newline='
'
# fs_plain TEXT: it fits in a field of a record.
fs_plain() {
    case $1 in
    *"	"* | *"$fs_newline"* | *"$fs_return"*) return 1 ;;
    esac
}
# fs_host: who we are on this host. Other calls need it first.
fs_host() {
    fs_return=$(printf '\r')
    fs_record=$(printf '\036')
    fs_choose_stat
    fs_tell_lacking
    fs_user=$(id -un)
    fs_uid=$(id -u)
    case ${HOME-} in
    /*) fs_home=$HOME ;;
    *) fs_home=$(fs_account 6) ;;
    esac
    case $fs_home in
    '' | /) ;;
    *) fs_home=${fs_home%/} ;;
    esac
    fs_plain "$fs_home" || fs_home=
    fs_shell=${SHELL-}
    fs_plain "$fs_shell" || fs_shell=
    [ -x "$fs_shell" ] || fs_shell=$(fs_account 7)
    fs_system=$(uname -s)
    case $(uname -r) in
    *[Mm]icrosoft*) fs_system="$fs_system (WSL)" ;;
    esac
    fs_told=$fs_user_path
    fs_plain "$fs_told" || fs_told=
    fs_say host "$fs_home" "$fs_user" "$fs_uid" "$fs_shell" "$fs_system" "$fs_told"
}
# fs_tell_lacking: the programs that ours are made of and this host has not. What a missing
# one would give is an empty answer, which means something else.
fs_tell_lacking() {
    fs_lacking=
    for fs_tool in cat chmod cp cut date df env grep head id ln ls mkdir mkfifo mv readlink \
        rm rmdir sed sleep sync tail tr uname wc; do
        command -v "$fs_tool" >/dev/null || fs_lacking="$fs_lacking $fs_tool"
    done
    [ -n "$fs_stat_form" ] || fs_lacking="$fs_lacking stat"
    [ -n "$fs_hasher" ] || fs_lacking="$fs_lacking sha256sum"
    # Without a print of its own such a shell would show a key in the process list.
    case $(command -v printf):$(command -v print) in
    /*:print) ;;
    /*) fs_lacking="$fs_lacking printf" ;;
    esac
    [ -z "$fs_lacking" ] || fs_say lacks "$fs_lacking"
}
# fs_account FIELD: one field of our passwd entry: 6 is the home, 7 the login shell.
fs_account() {
    fs_entry=$(getent passwd "$fs_user") || fs_entry=$(grep "^$fs_user:" /etc/passwd)
    if [ -z "$fs_entry" ]; then
        fs_entry=::::::$(fs_directory_service UserShell)
        fs_entry=:::::$(fs_directory_service NFSHomeDirectory):${fs_entry##*:}
    fi
    fs_put "$fs_entry" | cut -d : -f "$1"
}
fs_directory_service() {
    dscl . -read "/Users/$fs_user" "$1" | sed 's/^[^:]*: *//'
}
# fs_tilde PATH: PATH in fs_path, a leading ~/ replaced by the home.
fs_tilde() {
    case $1 in
    [~]) fs_path=$fs_home ;;
    [~]/*) fs_path=$fs_home/${1#[~]/} ;;
    *) fs_path=$1 ;;
    esac
}
# fs_expand PIECE...: the pieces stand between asterisks, which match no leading dot. The
# paths go, each followed by a line end, to fs_paths; a pattern that matches nothing gives
# none, a path without an asterisk always one.
fs_expand() {
    fs_tilde "$1"
    shift
    set -- "$fs_path" "$@"
    fs_word='"$1"'
    fs_piece=1
    while [ "$fs_piece" -lt "$#" ]; do
        fs_piece=$((fs_piece + 1))
        fs_word="$fs_word*\"\${$fs_piece}\""
    done
    eval "set -- $fs_word"
    fs_paths=
    for fs_path in "$@"; do
        [ "$fs_piece" = 1 ] || [ -e "$fs_path" ] || [ -L "$fs_path" ] || continue
        fs_plain "$fs_path" && fs_paths=$fs_paths$fs_path$fs_newline
    done
}
# fs_follow PATH: where its links lead, in fs_real (readlink -f is not everywhere).
# Fails where a directory on the way is missing or links turn in circles.
fs_follow() {
    fs_real=$1
    fs_hops=0
    while [ "$fs_hops" -lt 40 ]; do
        fs_hops=$((fs_hops + 1))
        if [ -d "$fs_real" ]; then
            fs_real=$(cd -P "$fs_real" && pwd -P)
            return
        fi
        fs_name=${fs_real##*/}
        fs_dir=$(cd -P "${fs_real%/*}/" && pwd -P) || return 1
        fs_real=${fs_dir%/}/$fs_name
        [ -L "$fs_real" ] || return 0
        fs_link=$(readlink "$fs_real") || return 1
        case $fs_link in
        /*) fs_real=$fs_link ;;
        *) fs_real=${fs_dir%/}/$fs_link ;;
        esac
    done
    return 1
}
# GNU's `stat -f` half works with BSD's format, so GNU's form is tried first.
fs_choose_stat() {
    fs_stat_form=
    if stat -c %a / >/dev/null 2>&1; then
        fs_stat_form=-c
        fs_stat_fields='%a %u %g %s %Y %h'
    elif stat -f %OLp / >/dev/null 2>&1; then
        fs_stat_form=-f
        fs_stat_fields='%OLp %u %g %z %m %l'
    fi
}
# fs_look PATH: what stands there: fs_kind, fs_real, fs_writable (0 or 1), fs_stated (mode,
# uid, gid, size, mtime, links).
fs_look() {
    fs_stated='0 0 0 0 0 0'
    if fs_follow "$1" && [ -e "$fs_real" ]; then
        fs_look_at
    else
        fs_look_above "$1"
    fi
}
fs_look_at() {
    fs_kind=other
    if [ -d "$fs_real" ]; then
        fs_kind=directory
    elif [ -f "$fs_real" ]; then
        fs_kind=unreadable
        [ -r "$fs_real" ] && fs_kind='file'
    fi
    fs_dir=${fs_real%/*}
    fs_may_write "${fs_dir:-/}" && [ -w "$fs_real" ] || fs_writable=0
    fs_got=$(stat "$fs_stat_form" "$fs_stat_fields" "$fs_real") && fs_stated=$fs_got
}
fs_may_write() {
    fs_writable=0
    [ -d "$1" ] && [ -w "$1" ] && [ -x "$1" ] && fs_writable=1
}
# Nothing is there: because of a link, a closed directory, or simply not.
fs_look_above() {
    fs_above=$1
    while [ -n "$fs_above" ] && [ ! -e "$fs_above" ] && [ ! -L "$fs_above" ]; do
        fs_above=${fs_above%/*}
    done
    fs_above=${fs_above:-/}
    fs_kind=absent
    if [ ! -e "$fs_above" ]; then
        fs_kind=dangling
        fs_writable=0
        return
    fi
    fs_may_write "$fs_above"
    [ ! -d "$fs_above" ] || [ -x "$fs_above" ] || fs_kind=unreadable
    fs_dir=$(cd -P "$fs_above" && pwd -P) && fs_real=${fs_dir%/}${1#"${fs_above%/}"}
}
# fs_read NUMBER CAP CONTENT PIECE...: the files that the pattern names, each a record
# with its bytes. CONTENT 0 leaves the bytes out; 2 veils the digest too.
fs_read() {
    fs_number=$1 fs_cap=$2 fs_content=$3
    shift 3
    fs_expand "$@"
    fs_rest=$fs_paths
    while [ -n "$fs_rest" ]; do
        fs_file "${fs_rest%%"$fs_newline"*}"
        fs_rest=${fs_rest#*"$fs_newline"}
    done
}
fs_file() {
    fs_asked=$1
    fs_look "$1"
    fs_plain "$fs_real" || fs_kind=other fs_real=
    set -- $fs_stated
    fs_over=0
    [ "$4" -le "$fs_cap" ] || fs_over=1
    fs_sum=
    [ "$fs_kind$fs_over" != file0 ] || fs_sum=$(fs_sha256 <"$fs_real")
    [ "$fs_content" != 2 ] || { fs_veil "$fs_sum" && fs_sum=$fs_veiled; }
    fs_say file "$fs_number" "$fs_asked" "$fs_kind" "$fs_real" "$@" "$fs_sum" \
        "$fs_writable" "$fs_over"
    [ "$fs_kind$fs_over$fs_content" != file01 ] || fs_raw head -c "$fs_cap" <"$fs_real"
}
# fs_state NUMBER: our own state directory: transactions that were cut off with their
# files, what the newest finished one says of its writer, a living lock.
fs_state() {
    fs_find_ours
    fs_say state "$1" "$fs_ours"
    for fs_bundle in "$fs_ours"/txn/*.prep "$fs_ours"/txn/*.commit "$fs_ours"/txn/*.undo; do
        [ -d "$fs_bundle" ] || continue
        fs_name=${fs_bundle##*/}
        fs_say cut "$1" "${fs_name%.*}" "${fs_name##*.}"
        [ -r "$fs_bundle/manifest" ] || continue
        fs_raw fs_manifest "$fs_bundle/manifest"
    done
    fs_newest=$(ls -t "$fs_ours"/txn/*.done/manifest | head -n 1)
    [ -z "$fs_newest" ] || { fs_say last "$1" && fs_raw fs_manifest "$fs_newest"; }
    fs_holder "$1"
}
fs_find_ours() {
    case ${XDG_STATE_HOME-} in
    /*) fs_ours=${XDG_STATE_HOME%/}/fleetsync ;;
    *) fs_ours=${fs_home%/}/.local/state/fleetsync ;;
    esac
}
# The highest lock.N names who holds it, or nobody.
fs_holder() {
    fs_top=0
    fs_owner=free
    for fs_link in "$fs_ours"/lock.*; do
        fs_lock=${fs_link##*.}
        case $fs_lock in
        '' | *[!0-9]*) continue ;;
        esac
        [ "$fs_lock" -gt "$fs_top" ] && fs_top=$fs_lock && fs_owner=$(readlink "$fs_link")
    done
    fs_alive "$fs_owner" && fs_say lock "$1" "$fs_owner"
}
# fs_alive PID:START:BOOT:...: that very process is there, or lives where we cannot look.
fs_alive() {
    [ "$1" != free ] || return 1
    [ -r /proc/sys/kernel/random/boot_id ] || return 0
    read -r fs_boot </proc/sys/kernel/random/boot_id
    IFS=:
    set -- $1
    IFS=" 	$fs_newline"
    [ "${3-}" = "$fs_boot" ] && [ -r "/proc/$1/stat" ] || return 1
    fs_started=$2
    read -r fs_line <"/proc/$1/stat"
    # The command name may hold spaces and brackets: what counts follows the last one.
    set -- ${fs_line##*\)}
    [ "$1" != Z ] && [ "${20}" = "$fs_started" ]
}
