# What must be so before anything is written. Nothing here writes.

# fs_check: the state directory, every file of the job, the space; all problems said.
fs_check() {
    fs_troubles=0
    fs_dirs=$fs_newline
    fs_need=0
    fs_need_state=64
    fs_check_state
    fs_each fs_check_file
    fs_each fs_check_space
    fs_existing "$fs_state"
    fs_has_space "$fs_existing" "$fs_need_state" || fs_problem space - "$fs_existing"
    [ "$fs_troubles" = 0 ]
}
fs_check_state() {
    if [ -e "$fs_state" ] || [ -L "$fs_state" ]; then
        [ -d "$fs_state" ] && fs_stat "$fs_state/." && [ "$fs_uid" = "$fs_me" ] ||
            { fs_problem state - "$fs_state is not a directory of this account"; return; }
        case $fs_mode in
        *[2367]? | *[2367]) fs_problem state - "$fs_state is writable by others" ;;
        esac
    fi
    fs_existing "$fs_state"
    fs_may_write "$fs_existing" || fs_problem state - "$fs_existing is read-only"
}
# fs_existing DIR: in fs_existing the nearest directory above that is there.
fs_existing() {
    fs_existing=$1
    until [ -d "$fs_existing/" ]; do
        fs_existing=${fs_existing%/*}
    done
    fs_existing=$fs_existing/
}
# fs_may_write DIR: root may write anywhere; a directory that its owner made read-only
# is meant that way all the same.
fs_may_write() {
    [ -w "$1" ] && fs_stat "$1/." || return 1
    [ "$fs_uid" != "$fs_me" ] || fs_owner_writes
}
fs_owner_writes() {
    case $fs_mode in
    *[2367]??) ;;
    *) return 1 ;;
    esac
}
fs_check_file() {
    fs_need=$((fs_need + fs_bytes / 1024 + 8))
    fs_need_state=$((fs_need_state + fs_bytes / 512 + 16))
    if ! fs_resolve "$fs_path"; then
        fs_problem dangling "$fs_path"
    elif [ -L "$fs_path" ] && [ ! -e "$fs_path" ]; then
        fs_problem dangling "$fs_path" "$fs_found"
    elif [ "$fs_old" = - ]; then
        fs_check_absent
    elif fs_check_kind; then
        fs_check_present
    fi
    return 0
}
fs_check_kind() {
    fs_kind=
    if [ -d "$fs_path" ]; then
        fs_kind=directory
    elif [ -p "$fs_path" ]; then
        fs_kind=fifo
    elif [ -b "$fs_path" ] || [ -c "$fs_path" ]; then
        fs_kind=device
    elif [ ! -e "$fs_path" ]; then
        fs_kind=moved
    elif [ ! -f "$fs_path" ]; then
        fs_kind=irregular
    elif [ "$fs_found" != "$fs_real" ]; then
        fs_kind=resolved
    fi
    [ -z "$fs_kind" ] || { fs_problem "$fs_kind" "$fs_path" "$fs_found"; return 1; }
}
fs_check_present() {
    if ! fs_stat "$fs_real"; then
        fs_problem moved "$fs_path"
    elif [ "$fs_uid" != "$fs_me" ]; then
        fs_problem owner "$fs_path" "$fs_uid"
    elif ! fs_group_stays; then
        fs_problem group "$fs_path" "$fs_gid"
    elif [ "${#fs_mode}" -gt 3 ]; then
        fs_problem mode "$fs_path" "$fs_mode"
    elif [ "$fs_links" != 1 ]; then
        fs_problem links "$fs_path" "$fs_links"
    elif [ "$fs_size" -gt "$fs_cap" ] || [ "$fs_bytes" -gt "$fs_cap" ]; then
        fs_problem cap "$fs_path" "$fs_cap"
    elif ! fs_owner_writes || ! fs_may_write "$fs_parent"; then
        fs_problem readonly "$fs_path"
    elif [ ! -w "$fs_real" ] || fs_immutable "$fs_real" || fs_immutable "$fs_parent"; then
        fs_problem immutable "$fs_path"
    elif ! fs_holds "$fs_real" "$fs_old"; then
        fs_problem moved "$fs_path"
    elif ! fs_acl_stays; then
        fs_problem acl "$fs_path"
    else
        fs_companion_free || fs_problem companion "$fs_path" "$fs_companion"
    fi
}
# Only its members, and root, can give a file to a group.
fs_group_stays() {
    [ "$fs_me" != 0 ] || return 0
    case " $(id -G) " in
    *" $fs_gid "*) ;;
    *) return 1 ;;
    esac
}
# fs_immutable PATH: the attributes i and a, where this host can show them.
fs_immutable() {
    fs_line=$(lsattr -d "$1") || return 1
    case ${fs_line%% *} in
    *[ia]*) ;;
    *) return 1 ;;
    esac
}
# GNU's cp and macOS's keep an access list; others drop it without a word.
fs_acl_stays() {
    fs_column "$fs_real"
    case $fs_marks in
    *+) [ "$fs_cp" != -p ] || [ "$(uname)" = Darwin ] ;;
    esac
}
fs_check_absent() {
    if [ -e "$fs_path" ]; then
        fs_problem appeared "$fs_path"
    elif [ "$fs_found" != "$fs_real" ]; then
        fs_problem resolved "$fs_path" "$fs_found"
    elif [ "$fs_bytes" -gt "$fs_cap" ]; then
        fs_problem cap "$fs_path" "$fs_cap"
    else
        fs_missing_dirs "$fs_parent"
        fs_existing "$fs_parent"
        fs_may_write "$fs_existing" || fs_problem readonly "$fs_path" "$fs_existing"
    fi
}
# fs_missing_dirs DIR: add to fs_dirs what must be made for it, parents first.
fs_missing_dirs() {
    fs_missing=
    fs_dir=$1
    until [ -d "$fs_dir/" ]; do
        case $fs_dirs in
        *"$fs_newline$fs_dir$fs_newline"*) ;;
        *) fs_missing=$fs_dir$fs_newline$fs_missing ;;
        esac
        fs_dir=${fs_dir%/*}
    done
    fs_dirs=$fs_dirs$fs_missing
}
fs_check_space() {
    fs_existing "$fs_parent"
    fs_has_space "$fs_existing" "$fs_need" || fs_problem space "$fs_path" "$fs_existing"
}
# fs_has_space DIR KIB: the number before the percentage is what is left. A host that
# does not tell is believed to have enough.
fs_has_space() {
    fs_left=
    for fs_word in $(df -Pk "$1" | tail -n 1); do
        case $fs_word in
        *%) break ;;
        *[!0-9]*) ;;
        *) fs_left=$fs_word ;;
        esac
    done
    [ -z "$fs_left" ] || [ "$fs_left" -ge "$2" ]
}
