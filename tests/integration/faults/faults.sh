# Run before the calls of a script for a host: every command that changes files is counted, and the
# one with the number fault_at meets fault_kind. Functions stand before programs and
# before printf, so nothing of the product is changed for this.
fault_count=0
fault() {
    fault_count=$((fault_count + 1))
    case $fault_kind in
    kill | torn | after | error | short) [ "$fault_count" = "$fault_at" ] ;;
    full | readonly) [ "$fault_at" -gt 0 ] && [ "$fault_count" -ge "$fault_at" ] ;;
    *) false ;;
    esac || { command "$@"; return; }
    case $fault_kind:$1 in
    kill:*) fault_die ;;
    after:*) command "$@"; fault_die ;;
    torn:cat | torn:printf) fault_part "$@"; fault_die ;;
    torn:cp) eval "fault_to=\$$#"; printf x >"$fault_to"; fault_die ;;
    torn:*) fault_die ;;
    short:cat | short:printf) fault_part "$@"; return 1 ;;
    full:rm | full:rmdir | full:sync | full:chmod) command "$@" ;;
    full:printf) fault_say "$@" ;;
    readonly:printf) fault_say "$@" ;;
    *) return 1 ;;
    esac
}
# What is said to the controller goes to no disk.
fault_say() {
    case $2 in
    '@@'*) command "$@" ;;
    *) return 1 ;;
    esac
}
fault_part() {
    command "$@" | head -c 3
}
fault_die() {
    kill -s KILL "$$"
    exit 137
}
cat() { fault cat "$@"; }
chmod() { fault chmod "$@"; }
cp() { fault cp "$@"; }
ln() { fault ln "$@"; }
mkdir() { fault mkdir "$@"; }
mv() { fault mv "$@"; }
printf() { fault printf "$@"; }
rm() { fault rm "$@"; }
rmdir() { fault rmdir "$@"; }
sync() { fault sync "$@"; }
trap 'command printf %s "$fault_count" >"$fault_counter"' EXIT
