# All files of a host, old or new and never torn.
#
# State lives in ${XDG_STATE_HOME:-~/.local/state}/fleetsync/txn/TX.<state>/; the state is
# the suffix of that one directory, moved by rename. What each means, and what the next
# contact does with it:
#   prep    the bundle, later the staged files, grow; every file is old   -> dropped
#   commit  all is staged and on the disk: decided; files are old or new  -> finished
#   undo    a compare failed, or it was asked for                         -> undone
#   done    every file is new; the originals stay for a rollback          -> stays
#   undone  every file is old, or somebody else's                         -> stays
# A bundle holds old.i, new.i and the manifest, lines of tab-separated fields:
#   M key value
#   F i old new path real mode:uid:gid size companion target [store]
#     (old -: it is created; new -: it is taken away; store: it holds secrets, so that
#     new.i stays no longer than it is needed)
#   D directory that is made
#   END                                     (without it no staged file exists yet)
# Calls: fs_job, fs_meta..., fs_file..., fs_begin, then for each file fs_build with its
# fs_borrow, fs_keep and fs_chunk (or what keep.sh offers), at last fs_finish. Or
# fs_recover MODE. Or fs_undo TX.

fs_job() {
    fs_ready
    fs_job_tx=$1 fs_cap=$2 fs_patience=$3
    fs_job_count=0
    fs_meta_lines=
}
fs_ready() {
    # From here on the end of the connection is no reason to stop.
    trap '' HUP PIPE INT TERM
    fs_ifs=$IFS
    fs_tab='	'
    fs_newline='
'
    fs_patience=5
    fs_troubles=0
    fs_quiet=
    fs_mine=
    fs_me=$(id -u)
    case ${XDG_STATE_HOME-} in
    /*) fs_state=${XDG_STATE_HOME%/}/fleetsync ;;
    *) fs_state=${HOME%/}/.local/state/fleetsync ;;
    esac
    fs_txn=$fs_state/txn
    fs_cp=-p
    case $(cp --help 2>&1) in
    *--preserve*) fs_cp=--preserve=all ;;
    esac
    case ${HOME-} in
    /*) ;;
    *) fs_problem state - "HOME is not set" ;;
    esac
    [ -n "$fs_hasher" ] || fs_problem hash -
    fs_find_stat || fs_problem stat -
}
fs_meta() {
    fs_meta_lines="${fs_meta_lines}M$fs_tab$1$fs_tab$2$fs_newline"
}
# fs_file OLD NEW SIZE MODE COMPANION TARGET PATH REAL [store]: of a store the digests are
# veiled (~...), or NEW is a question mark: nobody knows it before it is built.
fs_file() {
    fs_job_count=$((fs_job_count + 1))
    fs_row=$1$fs_tab$2$fs_tab$7$fs_tab$8$fs_tab$4$fs_tab$3$fs_tab$5$fs_tab$6${9:+$fs_tab$9}
    eval "fs_job_$fs_job_count=\$fs_row"
}
# Make the job's rows the ones at hand; recovery had others.
fs_adopt() {
    fs_tx=$fs_job_tx
    fs_count=0
    while [ "$fs_count" -lt "$fs_job_count" ]; do
        fs_count=$((fs_count + 1))
        eval "fs_row_$fs_count=\$fs_job_$fs_count"
    done
    fs_each fs_unveil
}
# fs_load I: the row of file I as variables.
fs_load() {
    fs_i=$1
    eval "fs_row=\$fs_row_$1"
    set -f
    IFS=$fs_tab
    set -- $fs_row
    IFS=$fs_ifs
    set +f
    fs_old=$1 fs_new=$2 fs_path=$3 fs_real=$4 fs_perm=$5 fs_bytes=$6 fs_companion=$7 fs_target=$8
    fs_mark=${9-}
    fs_parent=${fs_real%/*}
    fs_temp=$fs_parent/.fleetsync-$fs_tx-$fs_i
    fs_link_old=$fs_temp-old
    fs_link_new=$fs_temp-new
}
# fs_each FUNCTION: for every file, until one fails.
fs_each() {
    fs_at=0
    while [ "$fs_at" -lt "$fs_count" ]; do
        fs_at=$((fs_at + 1))
        fs_load "$fs_at"
        "$1" || return 1
    done
}
# fs_each_dir COMMAND...: for every directory that is made, parents first, until one fails.
fs_each_dir() {
    IFS=$fs_newline
    set -f
    for fs_dir in $fs_dirs; do
        IFS=$fs_ifs
        set +f
        "$@" "$fs_dir" || return 1
    done
    IFS=$fs_ifs
    set +f
}
# fs_problem WORD PATH [DETAIL]: one reason why not.
fs_problem() {
    fs_troubles=$((fs_troubles + 1))
    [ -n "$fs_quiet" ] || fs_say PROBLEM "$@"
}
# fs_end HOW [BUNDLE]: the last word; nothing follows it.
fs_end() {
    [ -z "$fs_mine" ] || fs_unlock
    fs_broken=ended
    fs_say ENDED "$@"
}

# Up to the originals. Where nothing was ever written, all is judged before anything is
# made; under the lock it is judged again.
fs_begin() {
    [ "$fs_troubles" = 0 ] || { fs_end refused; return; }
    fs_adopt
    if [ ! -d "$fs_txn" ]; then
        fs_check && fs_make_state || { fs_end refused; return; }
    fi
    fs_enter || return
    fs_adopt
    if [ -d "$fs_txn/$fs_tx.done" ]; then
        fs_end already "$fs_txn/$fs_tx.done"
    elif [ -d "$fs_txn/$fs_tx.undone" ]; then
        fs_end undone "$fs_txn/$fs_tx.undone"
    elif ! fs_check; then
        fs_end refused
    else
        fs_bundle=$fs_txn/$fs_tx.prep
        mkdir "$fs_bundle" && fs_each fs_save || fs_give_up
    fi
}
fs_make_state() {
    # Up to three directories above can be new as well (~/.local/state).
    mkdir -p "$fs_txn" && fs_sync "$fs_txn" "$fs_state" "$fs_state/.." "$fs_state/../.." \
        "$fs_state/../../.." && return
    fs_problem state - "$fs_state"
    return 1
}
# The lock, and nothing unfinished behind it.
fs_enter() {
    fs_lock || { fs_end refused; return 1; }
    fs_recover_all forward && return
    fs_problem stuck - "$fs_bundle"
    fs_end refused
    return 1
}
# The original, proved; its mode and owner as they are now.
fs_save() {
    [ "$fs_old" != - ] || return 0
    if cat <"$fs_real" >"$fs_bundle/old.$fs_i" && fs_holds "$fs_bundle/old.$fs_i" "$fs_old" &&
        fs_stat "$fs_real"; then
        fs_perm=$fs_mode:$fs_uid:$fs_gid
        fs_note_row
    else
        fs_problem stage "$fs_path"
        return 1
    fi
}
# The row of the file at hand, as its variables are now.
fs_note_row() {
    fs_row=$fs_old$fs_tab$fs_new$fs_tab$fs_path$fs_tab$fs_real$fs_tab$fs_perm
    fs_row=$fs_row$fs_tab$fs_bytes$fs_tab$fs_companion$fs_tab$fs_target${fs_mark:+$fs_tab$fs_mark}
    eval "fs_row_$fs_i=\$fs_row"
}
# fs_build I: what comes are the new bytes of file I.
fs_build() {
    [ -z "$fs_broken" ] || return
    fs_from=$fs_bundle/old.$1
    fs_out=$fs_bundle/new.$1
    printf '' >"$fs_out" || fs_broken=write
}
# fs_borrow TX I: what is kept comes from the original I of a transaction that is done.
fs_borrow() {
    fs_from=$fs_txn/$1.done/old.$2
}
fs_finish() {
    [ "$fs_broken" != ended ] || return
    if fs_each fs_built && fs_write_manifest && fs_each fs_stage && fs_each fs_flush &&
        fs_each fs_unchanged && fs_decide; then
        fs_commit
    else
        fs_give_up
    fi
}
fs_built() {
    [ "$fs_new" != - ] || return 0
    [ -z "$fs_mark" ] || fs_name_new
    fs_holds "$fs_bundle/new.$fs_i" "$fs_new" && return
    fs_problem "${fs_refused:-candidate}" "$fs_path" "${fs_broken#refused}"
    return 1
}
fs_flush() {
    fs_sync "$fs_parent" && return
    fs_problem stage "$fs_path"
    return 1
}
fs_write_manifest() {
    {
        printf %s "$fs_meta_lines" && fs_each fs_print_row && fs_each_dir fs_print_dir && echo END
    } >"$fs_bundle/manifest" && fs_read_manifest && fs_sync "$fs_bundle"/* "$fs_bundle" "$fs_txn" &&
        return
    fs_problem state - "$fs_bundle"
    return 1
}
fs_print_row() {
    printf 'F\t%s\t%s\n' "$fs_i" "$fs_row"
}
fs_print_dir() {
    printf 'D\t%s\n' "$1"
}
# The rows of the bundle at hand; fails without END.
fs_read_manifest() {
    fs_count=0
    fs_dirs=$fs_newline
    fs_line=
    while IFS= read -r fs_line; do
        case $fs_line in
        "F$fs_tab"*)
            fs_count=$((fs_count + 1))
            fs_row=${fs_line#*"$fs_tab"}
            fs_row=${fs_row#*"$fs_tab"}
            eval "fs_row_$fs_count=\$fs_row"
            ;;
        "D$fs_tab"*) fs_dirs=$fs_dirs${fs_line#*"$fs_tab"}$fs_newline ;;
        END) return 0 ;;
        esac
    done <"$fs_bundle/manifest"
    return 1
}
# fs_move STATE: the one step between two states.
fs_move() {
    mv "$fs_bundle" "$fs_txn/$fs_tx.$1"
    [ -d "$fs_txn/$fs_tx.$1" ] || return 1
    fs_bundle=$fs_txn/$fs_tx.$1
    fs_sync "$fs_txn"
}
fs_decide() {
    fs_move commit && return
    # The rename may have come to pass although it could not be made sure of.
    case $fs_bundle in
    *.commit) return 0 ;;
    esac
    fs_problem state - "$fs_txn"
    return 1
}
fs_commit() {
    if fs_forward; then
        fs_end applied "$fs_bundle"
    else
        fs_problem "$fs_why" "$fs_path"
        fs_undone
    fi
}
fs_undone() {
    if fs_backward; then
        fs_end undone "$fs_bundle"
    else
        fs_problem stuck "$fs_path" "$fs_bundle"
        fs_end stuck "$fs_bundle"
    fi
}
# commit -> done. Fails with fs_why and fs_path.
fs_forward() {
    fs_each fs_make_new && fs_each fs_proved || return 1
    fs_why=write
    fs_each fs_clean && fs_move done
}
# commit, done or undo -> undone.
fs_backward() {
    case $fs_bundle in
    *.undo) ;;
    *) fs_move undo || return 1 ;;
    esac
    fs_each fs_take_back && fs_each fs_clean && fs_remove_dirs && fs_move undone
}
# What was ours beside the file is gone, and our hold on the client's lock.
fs_clean() {
    [ -z "$fs_mark" ] || rm -f "$fs_bundle/new.$fs_i" || return 1
    fs_companion_drop && rm -f "$fs_temp" "$fs_link_old" "$fs_link_new" || return 1
    [ ! -d "$fs_parent" ] || fs_sync "$fs_parent"
}
# Directories that were made for a file; one that somebody uses by now stays.
fs_remove_dirs() {
    fs_reversed=$fs_newline
    fs_each_dir fs_reverse
    fs_dirs=$fs_reversed
    fs_each_dir fs_remove_dir
}
fs_reverse() {
    fs_reversed=$fs_newline$1$fs_reversed
}
fs_remove_dir() {
    [ ! -d "$1" ] || rmdir "$1" || [ -n "$(ls -A "$1")" ]
}
# prep -> nothing: no file was touched yet.
fs_give_up() {
    [ "$fs_troubles" -gt 0 ] || fs_problem state - "$fs_bundle"
    fs_drop
    fs_end refused
}
fs_drop() {
    fs_each fs_clean && fs_remove_dirs && rm -rf "$fs_bundle" && fs_sync "$fs_txn"
}
