# Bytes and files: what bounded.sh and transaction.sh stand on.
# A new file is built in fs_out from payload and from ranges of the file fs_from.
# A failure is kept in fs_broken; what was built is believed only by its digest.
fs_broken=
# A start-up file may have exported functions under these names.
unset -f cp chmod date df env grep id ln ls lsattr mkdir mkfifo mv ps rm rmdir sync uname wc
# fs_chunk OCTAL: payload bytes, written as a printf format of octal escapes.
fs_chunk() {
    [ -n "$fs_broken" ] || printf "$1" >>"$fs_out" || fs_broken=write
}
# fs_keep START END: the bytes [START, END) of fs_from; END - stands for its end.
fs_keep() {
    [ -z "$fs_broken" ] || return
    case $2 in
    -) tail -c "+$(($1 + 1))" "$fs_from" ;;
    *) tail -c "+$(($1 + 1))" "$fs_from" | head -c "$(($2 - $1))" ;;
    esac >>"$fs_out" || fs_broken=write
}
# fs_digest FILE: its digest in fs_sum, nothing where it cannot be read.
fs_digest() {
    fs_sum=
    [ -f "$1" ] && fs_sum=$(fs_sha256 <"$1")
    [ "${#fs_sum}" = 64 ]
}
# fs_holds FILE DIGEST: a regular file of its own, no link, with these bytes.
fs_holds() {
    [ ! -L "$1" ] && fs_digest "$1" && [ "$fs_sum" = "$2" ]
}
# GNU's `stat -f` half works with BSD's format, so GNU's form is tried first.
fs_find_stat() {
    fs_stat_form=
    if stat -c %a / >/dev/null 2>&1; then
        fs_stat_form=-c
        fs_stat_fields='%a %u %g %s %h %Y %d %i'
    elif stat -f %OLp / >/dev/null 2>&1; then
        fs_stat_form=-f
        fs_stat_fields='%OLp %u %g %z %l %m %d %i'
    fi
    [ -n "$fs_stat_form" ]
}
# fs_stat FILE: fs_mode fs_uid fs_gid fs_size fs_links fs_mtime fs_inode of the file
# itself; a link is not followed.
fs_stat() {
    set -- $(stat "$fs_stat_form" "$fs_stat_fields" "$1")
    [ "$#" = 8 ] || return 1
    fs_mode=$1 fs_uid=$2 fs_gid=$3 fs_size=$4 fs_links=$5 fs_mtime=$6 fs_inode=$7:$8
}
# fs_column FILE: the first column of ls, with the marks of an ACL or attributes.
fs_column() {
    fs_line=$(ls -ld "$1") && fs_marks=${fs_line%% *}
}
# fs_resolve PATH: in fs_found the path that its links lead to, links in directories
# included. What is missing at the end stays as it is. Fails for a loop.
fs_resolve() {
    fs_found=$1
    fs_hops=0
    while [ -L "$fs_found" ]; do
        fs_hops=$((fs_hops + 1))
        [ "$fs_hops" -le 40 ] && fs_link=$(readlink "$fs_found") || return 1
        case $fs_link in
        /*) fs_found=$fs_link ;;
        *) fs_found=${fs_found%/*}/$fs_link ;;
        esac
    done
    fs_tail=/${fs_found##*/}
    fs_dir=${fs_found%/*}
    while [ ! -d "$fs_dir/" ]; do
        [ ! -L "$fs_dir" ] || return 1
        fs_tail=/${fs_dir##*/}$fs_tail
        fs_dir=${fs_dir%/*}
    done
    fs_dir=$(cd "$fs_dir/" && pwd -P) || return 1
    fs_found=${fs_dir%/}$fs_tail
}
# fs_sync FILE...: until these are on the disk. `sync` flushes the named files where
# it takes operands, and everything where it ignores them.
fs_sync() {
    sync "$@"
}
# fs_is_pid WORD: a plain number above 1. Nothing else is ever given to kill.
fs_is_pid() {
    case $1 in
    '' | 0* | 1 | *[!0-9]*) return 1 ;;
    esac
}
# fs_clock: seconds in fs_now. Uptime where there is one: nobody sets it back.
fs_clock() {
    if [ -r /proc/uptime ]; then
        read -r fs_now fs_line </proc/uptime
        fs_now=${fs_now%.*}
    else
        fs_now=$(date +%s)
    fi
}
# A tenth of a second, or a whole one where sleep knows no fractions.
fs_tick() {
    sleep 0.1 || sleep 1
}
