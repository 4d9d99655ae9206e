# Bundles are listed. (Their files are read as any file is.)
# fs_bundles: our state directory and the host's clock; then every transaction with a
# manifest, the newest first: id, state, age of the manifest, the manifest itself.
fs_bundles() {
    fs_find_ours
    fs_say state "$fs_ours" "$(date +%s)"
    for fs_kept in $(cd "$fs_ours/txn" && ls -t -- */manifest); do
        fs_kept=${fs_kept%/manifest}
        case $fs_kept in
        *[!0-9a-z.]* | *.gone) continue ;;
        esac
        fs_look "$fs_ours/txn/$fs_kept/manifest"
        set -- $fs_stated
        fs_say bundle "${fs_kept%.*}" "${fs_kept##*.}" "$5"
        fs_raw fs_manifest "$fs_ours/txn/$fs_kept/manifest"
    done
}
