# What was cut off is finished or undone; what was done can be put back.

# fs_recover_all MODE: settle what was cut off, forward where all is still ours.
fs_recover_all() {
    fs_quiet=yes
    fs_settled=0
    for fs_bundle in "$fs_txn"/*.prep "$fs_txn"/*.commit "$fs_txn"/*.undo; do
        [ -d "$fs_bundle" ] || continue
        fs_tx=${fs_bundle##*/}
        fs_was=${fs_tx##*.}
        fs_tx=${fs_tx%.*}
        fs_recover_one "$1" || { fs_settled=1; fs_is=stuck; }
        fs_names=
        fs_each fs_name
        fs_say RECOVERED "$fs_tx" "$fs_was" "$fs_is$fs_names"
        [ "$fs_settled" = 0 ] || break
    done
    fs_quiet=
    fs_troubles=0
    return "$fs_settled"
}
fs_name() {
    fs_names=$fs_names$fs_tab$fs_path
}
fs_recover_one() {
    fs_read_manifest
    case $?:$fs_was in
    1:prep)
        # Without END no file of the manifest was touched.
        fs_count=0
        fs_dirs=
        fs_is=dropped
        fs_drop
        ;;
    0:prep)
        fs_is=dropped
        fs_drop
        ;;
    0:commit)
        fs_is=done
        [ "$1" = forward ] && fs_each fs_ours && fs_forward && return
        fs_is=undone
        fs_backward
        ;;
    0:undo)
        fs_is=undone
        fs_backward
        ;;
    *) return 1 ;;
    esac
}
# Old or new, or not there yet: nobody else wrote.
fs_ours() {
    fs_companion_drop || return 1
    if [ -e "$fs_real" ] || [ -L "$fs_real" ]; then
        fs_holds "$fs_real" "$fs_new" || { [ "$fs_old" != - ] && fs_holds "$fs_real" "$fs_old"; }
    else
        [ "$fs_old" = - ] || [ "$fs_new" = - ]
    fi
}
# fs_recover MODE: forward, or backward as far as it was not done yet.
fs_recover() {
    fs_ready
    [ "$fs_troubles" = 0 ] && fs_unsettled || return
    if fs_lock; then
        fs_recover_all "$1" || fs_problem stuck - "$fs_bundle"
        fs_unlock
    fi
}
fs_unsettled() {
    for fs_bundle in "$fs_txn"/*.prep "$fs_txn"/*.commit "$fs_txn"/*.undo; do
        [ ! -d "$fs_bundle" ] || return 0
    done
    fs_highest
    [ "$fs_holder" != free ]
}
# fs_undo TX: a done transaction is put back, if every file is still what it wrote.
fs_undo() {
    fs_ready
    [ -d "$fs_txn" ] || fs_problem unknown - "$1"
    [ "$fs_troubles" = 0 ] || { fs_end refused; return; }
    fs_enter || return
    fs_tx=$1
    fs_bundle=$fs_txn/$fs_tx.done
    if [ -d "$fs_txn/$fs_tx.undone" ]; then
        fs_end already "$fs_txn/$fs_tx.undone"
    elif ! [ -d "$fs_bundle" ] || ! fs_read_manifest; then
        fs_problem unknown - "$fs_tx"
        fs_end refused
    elif fs_each fs_still_ours; [ "$fs_troubles" -gt 0 ]; then
        fs_end refused
    else
        fs_undone
    fi
}
fs_still_ours() {
    fs_is_new || fs_problem moved "$fs_path"
    return 0
}
