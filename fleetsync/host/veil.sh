# The digest of a file that holds secrets leaves the host veiled: salted for this run, so
# that it can be compared within the run and means nothing outside of it.
fs_veils() {
    fs_salt=$1 fs_pepper=$2
}
# fs_veil DIGEST: in fs_veiled; nothing for nothing, and nothing without salts.
fs_veil() {
    fs_veiled=
    [ -n "$1" ] && [ -n "${fs_salt-}" ] || return 0
    fs_veiled=$(fs_put "$fs_salt$1" | fs_sha256)
    fs_veiled=$(fs_put "$fs_pepper$fs_veiled" | fs_sha256)
}
# fs_manifest FILE: a manifest as it may leave the host: a file of ours, no link and no
# pipe, and of it the lines that a manifest has. The row of a file that holds secrets ends
# with the word store.
fs_manifest() {
    [ -f "$1" ] && [ ! -L "$1" ] || return
    head -c 1048576 "$1" | while IFS= read -r fs_row; do
        case $fs_row in
        "F	"*"	store") fs_veil_row ;;
        [MFD]"	"* | END) ;;
        *) continue ;;
        esac
        fs_put "$fs_row"
        echo
    done
}
# fs_veil_row: the row's two digests, where there are any.
fs_veil_row() {
    fs_rest=${fs_row#F	*	}
    fs_head=${fs_row%"$fs_rest"}
    fs_veil_field && fs_veil_field
    fs_row=$fs_head$fs_rest
}
fs_veil_field() {
    fs_field=${fs_rest%%	*}
    fs_rest=${fs_rest#*	}
    if [ "$fs_field" != - ]; then
        fs_veil "$fs_field"
        fs_field=$fs_veiled
    fi
    fs_head="$fs_head$fs_field	"
}
