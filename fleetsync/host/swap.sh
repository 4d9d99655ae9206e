# One file: stage the new beside the old, compare and swap, take back.
# The files of number i stand beside the real file, all of them named by the manifest:
#   .fleetsync-TX-i       the bytes that come
#   .fleetsync-TX-i-old   a link to the inode that was compared before it was replaced
#   .fleetsync-TX-i-new   the same for our own file, when it is taken back

# fs_is_new: the file is as the transaction makes it; where it takes it away (fs_new -),
# nothing is there.
fs_is_new() {
    if [ "$fs_new" = - ]; then
        fs_nothing
    else
        fs_holds "$fs_real" "$fs_new"
    fi
}
fs_nothing() {
    [ ! -e "$fs_real" ] && [ ! -L "$fs_real" ]
}
# fs_fill FROM DIGEST: fs_temp holds the bytes of FROM, with everything else as fs_real.
fs_fill() {
    rm -f "$fs_temp"
    if [ -e "$fs_real" ]; then
        # Copied first, filled then: the inode keeps its mode, owner and access list.
        cp "$fs_cp" "$fs_real" "$fs_temp" && fs_tighten && cat <"$1" >"$fs_temp" && fs_alike
    else
        cat <"$1" >"$fs_temp" && chmod "${fs_perm%%:*}" "$fs_temp"
    fi && fs_holds "$fs_temp" "$2" && fs_sync "$fs_temp"
}
# The copy has every mark of the file; of a store less, where others could read that.
fs_alike() {
    [ -z "$fs_mark" ] || return 0
    fs_column "$fs_real" && fs_before=$fs_marks &&
        fs_column "$fs_temp" && [ "$fs_marks" = "$fs_before" ]
}
fs_stage() {
    fs_why=stage
    if [ "$fs_old" = - ]; then
        fs_each_dir fs_make_dir && fs_fill "$fs_bundle/new.$fs_i" "$fs_new" && return
    elif [ "$fs_new" = - ]; then
        ln "$fs_real" "$fs_link_old" && return
    elif fs_fill "$fs_bundle/new.$fs_i" "$fs_new" && ln "$fs_real" "$fs_link_old"; then
        [ -z "$fs_mark" ] || fs_perm=600:${fs_perm#*:}
        fs_stat "$fs_temp" && [ "$fs_mode:$fs_uid:$fs_gid" = "$fs_perm" ] && return
        fs_why=owner
    fi
    fs_problem "$fs_why" "$fs_path"
    return 1
}
fs_make_dir() {
    [ -d "$1" ] || mkdir "$1" && fs_sync "${1%/*}/"
}
# The last look at the whole set before the decision.
fs_unchanged() {
    if [ "$fs_old" = - ]; then
        [ ! -e "$fs_real" ] && [ ! -L "$fs_real" ] && return
        fs_problem appeared "$fs_path"
    elif ! fs_resolve "$fs_path" || [ "$fs_found" != "$fs_real" ]; then
        fs_problem resolved "$fs_path" "$fs_found"
    else
        fs_holds "$fs_real" "$fs_old" && fs_stat "$fs_real" &&
            [ "$fs_mode:$fs_uid:$fs_gid" = "$fs_perm" ] && return
        fs_problem moved "$fs_path"
    fi
    return 1
}
# fs_swap SOURCE EXPECTED WATCH: put SOURCE (- nothing) in the place of fs_real, which
# holds EXPECTED at the last look. WATCH is a link to the inode of that look: a writer
# who changed it in place meanwhile is seen there after the swap, and gets it back.
# Fails with fs_why: moved, edited, companion or write.
fs_swap() {
    fs_why=write
    [ ! -L "$fs_real" ] && [ -f "$fs_real" ] || { fs_why=moved; return 1; }
    [ "$3" -ef "$fs_real" ] || { rm -f "$3" && ln "$fs_real" "$3"; } || return 1
    fs_companion_take || return 1
    fs_swap_held "$@"
    fs_swapped=$?
    fs_companion_drop || { fs_why=write; return 1; }
    return "$fs_swapped"
}
fs_swap_held() {
    fs_why=moved
    fs_holds "$fs_real" "$2" || return 1
    fs_why=write
    case $1 in
    -) rm -f "$fs_real" ;;
    *) mv -f "$1" "$fs_real" ;;
    esac || return 1
    fs_holds "$3" "$2" && return
    fs_why=edited
    fs_give_back "$3" || fs_why=write
    return 1
}
# fs_give_back WATCH: what somebody wrote into this inode is worth more than ours.
fs_give_back() {
    if [ -e "$fs_real" ]; then
        mv -f "$1" "$fs_real"
    else
        ln "$1" "$fs_real"
    fi
}
# fs_make_new: one file becomes new. Repeatable: a file that is new already stays.
fs_make_new() {
    fs_is_new && return
    fs_why=write
    if [ "$fs_new" = - ]; then
        fs_swap - "$fs_old" "$fs_link_old"
        return
    fi
    fs_holds "$fs_temp" "$fs_new" || fs_fill "$fs_bundle/new.$fs_i" "$fs_new" || return 1
    if [ "$fs_old" = - ]; then
        # link(2) fails where something is: nothing is ever overwritten by a new file.
        fs_why=appeared
        fs_nothing && ln "$fs_temp" "$fs_real"
    else
        fs_swap "$fs_temp" "$fs_old" "$fs_link_old"
    fi
}
# fs_proved: read again, on the disk, and nobody wrote into the inode that was replaced.
fs_proved() {
    fs_why=write
    fs_sync "$fs_parent" && fs_is_new || return 1
    if [ -e "$fs_link_old" ] && ! fs_holds "$fs_link_old" "$fs_old"; then
        fs_give_back "$fs_link_old"
        fs_why=edited
        return 1
    fi
}
# fs_take_back: one file of ours becomes old again. What is not ours is left alone.
fs_take_back() {
    fs_why=write
    if [ -e "$fs_link_new" ] && ! fs_holds "$fs_link_new" "$fs_new"; then
        fs_give_back "$fs_link_new" || return 1
    fi
    if fs_nothing; then
        fs_take_back_gone
        return
    fi
    [ "$fs_old" = - ] || ! fs_holds "$fs_real" "$fs_old" || return 0
    fs_holds "$fs_real" "$fs_new" || { fs_leave_alone; return 0; }
    fs_source=-
    [ "$fs_old" = - ] || fs_find_source || return 1
    if fs_swap "$fs_source" "$fs_new" "$fs_link_new"; then
        [ "$fs_old" = - ] || fs_holds "$fs_real" "$fs_old" || fs_leave_alone
    else
        case $fs_why in
        moved | edited) fs_leave_alone ;;
        *) return 1 ;;
        esac
    fi
    fs_sync "$fs_parent"
}
# Nothing is there: as it was, by our removal, or by somebody else's.
fs_take_back_gone() {
    [ "$fs_old" != - ] || return 0
    [ "$fs_new" = - ] || { fs_leave_alone; return 0; }
    fs_find_source && ln "$fs_source" "$fs_real" || return 1
    fs_holds "$fs_real" "$fs_old" || fs_leave_alone
    fs_sync "$fs_parent"
}
# The very inode that was there, as long as we have it: then even an edit made to it in
# place comes back. Otherwise a copy of the original.
fs_find_source() {
    fs_source=$fs_link_old
    [ -e "$fs_source" ] && return
    fs_source=$fs_temp
    fs_fill "$fs_bundle/old.$fs_i" "$fs_old" || return 1
    [ -z "$fs_mark" ] || chmod "${fs_perm%%:*}" "$fs_temp"
}
fs_leave_alone() {
    fs_say LEFT "$fs_tx" "$fs_path"
}
# A lock directory that the client honours. It has no owner in it, so ours is told by
# its inode and time, kept in held.i; made an instant ago and not yet noted, it is
# anybody's, and anybody's counts for ten seconds, as for the client itself.
fs_companion_take() {
    [ "$fs_companion" != - ] || return 0
    fs_tries=0
    until [ "$fs_tries" -ge 5 ]; do
        fs_why=companion
        fs_companion_free || return 1
        fs_why=write
        printf 'new\n' >"$fs_bundle/held.$fs_i" || return 1
        [ ! -d "$fs_companion" ] || rmdir "$fs_companion"
        if mkdir "$fs_companion"; then
            fs_stat "$fs_companion" && printf '%s\n' "$fs_inode:$fs_mtime" >"$fs_bundle/held.$fs_i"
            return
        fi
        rm -f "$fs_bundle/held.$fs_i"
        fs_tries=$((fs_tries + 1))
    done
    return 1
}
# Until nobody's fresh lock is there; one that is older than ten seconds is nobody's.
fs_companion_free() {
    fs_ticks=0
    while [ "$fs_companion" != - ] && fs_stat "$fs_companion" &&
        [ "$(($(date +%s) - fs_mtime))" -le 10 ]; do
        [ "$fs_ticks" -lt 120 ] || return 1
        fs_tick
        fs_ticks=$((fs_ticks + 1))
    done
}
fs_companion_drop() {
    [ -e "$fs_bundle/held.$fs_i" ] || return 0
    fs_line=
    read -r fs_line <"$fs_bundle/held.$fs_i"
    if ! { fs_stat "$fs_companion" && [ "$fs_line" = "$fs_inode:$fs_mtime" ]; }; then
        fs_companion_free || return 1
    fi
    [ ! -d "$fs_companion" ] || rmdir "$fs_companion" || return 1
    rm -f "$fs_bundle/held.$fs_i"
}
