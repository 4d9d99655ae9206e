# Bundles are listed. (Their files are read as any file is.)
# fs_bundles: our state directory and the host's clock; then every transaction with a
# manifest, the newest first: id, state, age of the manifest, the manifest itself.
fs_bundles() {
    fs_find_ours
    fs_say state "$fs_ours" "$(date +%s)"
    for fs_name in $(cd "$fs_ours/txn" && ls -t -- */manifest); do
        fs_name=${fs_name%/manifest}
        case $fs_name in
        *[!0-9a-z.]* | *.gone) continue ;;
        esac
        fs_look "$fs_ours/txn/$fs_name/manifest"
        set -- $fs_stated
        fs_say bundle "${fs_name%.*}" "${fs_name##*.}" "$5"
        fs_raw head -c 1048576 "$fs_ours/txn/$fs_name/manifest"
    done
}
