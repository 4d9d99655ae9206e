# fs_prune TX...: bundles that are done or undone go away, under the lock. Each is first
# renamed whole to TX.gone, so that no half bundle stands under a name that counts.
fs_prune() {
    fs_ready
    [ -d "$fs_txn" ] || return 0
    [ "$fs_troubles" = 0 ] && fs_lock || return 0
    rm -rf "$fs_txn"/*.gone
    for fs_tx in "$@"; do
        for fs_bundle in "$fs_txn/$fs_tx.done" "$fs_txn/$fs_tx.undone"; do
            [ ! -d "$fs_bundle" ] || fs_prune_one
        done
    done
    rm -rf "$fs_txn"/*.gone && fs_sync "$fs_txn"
    fs_unlock
}
fs_prune_one() {
    if mv "$fs_bundle" "$fs_txn/$fs_tx.gone"; then
        fs_say PRUNED "$fs_tx"
    else
        fs_problem state - "$fs_bundle"
    fi
}
