# A new key is put into the store where a client keeps it. The host makes the new store
# from the live one: no byte of that leaves the host. The key is a word of this script and
# an argument of functions only, never of a program, and in no file but the new store.
#
# Calls, between fs_begin and fs_finish: fs_build I, then one of fs_lines (where there is
# no store yet), fs_put_json, fs_put_dotenv and fs_put_whole.

# Why the store cannot take a key, as a word.
fs_refused=
fs_refuse() {
    fs_refused=${1:-tool}
    fs_broken=refused
}
# fs_text TEXT: it is appended to the new store.
fs_text() {
    [ -n "$fs_broken" ] || fs_put "$1" >>"$fs_out" || fs_broken=write
}
# fs_span START END: these bytes of the live store are.
fs_span() {
    [ "$1" = "$2" ] || fs_keep "$1" "$2"
}
# fs_lines LINE...: all of a store that is made.
fs_lines() {
    for fs_key in "$@"; do
        fs_text "$fs_key$fs_newline"
    done
    fs_key=
}
# fs_put_whole TEXT: all of a store that holds nothing else. A line end after it stays.
fs_put_whole() {
    [ -z "$fs_broken" ] || return
    fs_text "$1"
    ! fs_ends "$fs_from" 1 '\n' || fs_text "$(fs_line_end)$fs_newline"
}
# fs_ends FILE N BYTE: BYTE, as tr spells it, is the last but N-1.
fs_ends() {
    [ "$(tail -c "$2" "$1" | head -c 1 | tr -cd "$3" | tr "$3" x)" = x ]
}
# The CR before the file's last LF, if there is one.
fs_line_end() {
    ! fs_ends "$fs_from" 2 '\r' || printf '\r'
}
# fs_put_dotenv TEXT NAME: the last assignment to NAME gets TEXT for its value; without
# one a line is appended.
fs_put_dotenv() {
    [ -z "$fs_broken" ] || return
    fs_key=$1 fs_name=$2
    set -- $(fs_dotenv_span "$fs_name" <"$fs_from")
    case ${1-} in
    found) fs_put_over "$2" "$3" ;;
    end) fs_put_line "$(fs_cr "$2")$fs_newline" ;;
    *) fs_refuse "${1-}" ;;
    esac
    fs_prove fs_dotenv_span "$fs_name"
}
# fs_cr 1: a CR.
fs_cr() {
    [ "$1" != 1 ] || printf '\r'
}
fs_put_line() {
    [ ! -s "$fs_from" ] || fs_keep 0 -
    [ ! -s "$fs_from" ] || fs_ends "$fs_from" 1 '\n' || fs_text "$1"
    fs_text "$fs_name=$fs_key$1"
}
# fs_put_over START END: the key, in the place of these bytes.
fs_put_over() {
    fs_span 0 "$1"
    fs_text "$fs_key"
    fs_keep "$2" -
}
# fs_put_json TEXT KEYS [LEAD TAIL]...: the value under KEYS, joined by U+001F, becomes
# TEXT. Where it is missing, the pair of the innermost object that is there stands around
# it: the keys that are missing, and what closes them.
fs_put_json() {
    [ -z "$fs_broken" ] || return
    fs_key=$1 fs_name=$2
    shift 2
    fs_put_member "$(fs_json_span "$fs_name" <"$fs_from")" "$@"
    fs_prove fs_json_span "$fs_name"
}
fs_put_member() {
    fs_found=$1
    shift
    case $fs_found in
    found*) fs_put_over ${fs_found#found} ;;
    room*)
        fs_split $fs_found
        shift "$((fs_level * 2))"
        fs_put_into "$@"
        ;;
    *) fs_refuse "$fs_found" ;;
    esac
}
fs_split() {
    fs_hole=$2 fs_first=$3 fs_full=$4 fs_level=$5
}
# fs_put_into LEAD TAIL ...: a first member of an object, set off as its first one is.
fs_put_into() {
    fs_keep 0 "$fs_hole"
    [ "$fs_full" = 0 ] || fs_span "$fs_hole" "$fs_first"
    fs_text "$1$fs_key$2"
    [ "$fs_full" = 0 ] || fs_text ,
    fs_keep "$fs_hole" -
}
# fs_prove COMMAND...: the new store reads as before, and the key stands at its place.
fs_prove() {
    [ -z "$fs_broken" ] || return
    set -- $("$@" <"$fs_out")
    [ "${1-}" = found ] &&
        [ "$(tail -c "+$(($2 + 1))" "$fs_out" | head -c "$(($3 - $2))")" = "$fs_key" ] ||
        fs_broken=proof
    fs_key=
}
# fs_json_span KEYS: of the document on standard input `found START END`, the bytes of the
# value under KEYS; or `room START FIRST FULL LEVEL`, where the innermost object that is
# there begins and its first member (FULL 1: there is one), and how many keys led to it;
# or why a value cannot be put there.
fs_json_span() {
    tr '\000' '\001' | FS_KEYS=$1 awk "$fs_json_reader"'
END {
    if (want != "end") print "syntax"
    else if (twice) print "twice"
    else if (blocked) print "blocked"
    else if (ended) print "found", start, ended
    else print "room", hole, first, full, level
}
function note(event) {
    if (!on[depth - (event == "first name")] || kind[depth] == "]") return
    if (event == "colon") twice += named[depth]++ > 0
    else if (event == "value" && depth == segments) start = done
    else if (event == "value" && substr(line, 1, 1) != "{") blocked = 1
    else if (event == "value") { hole = done + 1; level = depth }
    else if (event == "first name" && depth == level + 1 && depth <= segments) {
        first = done; full = substr(line, 1, 1) == "\""
    } else if (event == "after" && depth == segments) ended = done
}'
}
# fs_dotenv_span NAME: of the assignments on standard input `found START END`, the bytes of
# the last value of NAME with its quotes; or `end CR`, with 1 for lines that end with CR LF;
# or `quote` where one is not closed. A quoted value may go over several lines.
fs_dotenv_span() {
    tr '\000' '\001' | FS_NAME=$1 awk '
BEGIN {
    ours = "^[ \t]*(export )?" ENVIRON["FS_NAME"] " *="
    any = "^[ \t]*(export[ \t]+)?[A-Za-z_][A-Za-z0-9_.-]*[ \t]*=[ \t]*"
}
{
    text = $0
    if (NR == 1) cr = (text ~ /\r$/)
    sub(/\r$/, "", text)
    if (quote) { if (index(text, quote)) quote = "" }
    else {
        if (match(text, ours)) value(RLENGTH)
        if (match(text, any)) quote = opened(substr(text, RLENGTH + 1))
    }
    at += length($0) + 1
}
END {
    if (quote) print "quote"
    else if (stop) print "found", start, stop
    else print "end", cr + 0
}
function value(from,    rest, lead, size) {  # the span of the value from there on
    rest = substr(text, from + 1)
    match(rest, /^[ \t]*/)
    lead = RLENGTH
    rest = substr(rest, lead + 1)
    size = quoted(rest)
    if (!size && lead && rest ~ /^#/) rest = ""
    if (!size) {
        if (match(rest, /[ \t]+#/)) rest = substr(rest, 1, RSTART - 1)
        sub(/[ \t]+$/, "", rest)
        size = length(rest)
    }
    start = at + from + (size ? lead : 0)
    stop = start + size
}
function quoted(rest) {  # the length of a quoted value that ends on its line
    if (match(rest, /^"(\\.|[^"\\])*"/) || match(rest, /^\047(\\.|[^\047\\])*\047/)) return RLENGTH
    return 0
}
function opened(rest) {
    return (rest ~ /^["\047]/ && !quoted(rest)) ? substr(rest, 1, 1) : ""
}'
}
# What the transaction needs of a file that holds secrets (fs_mark is its row's last word).

# fs_unveil: the old digest that the row tells veiled, if it is that of the live file.
fs_unveil() {
    case $fs_old in
    [~]*) ;;
    *) return 0 ;;
    esac
    fs_digest "$fs_real" || return 0
    fs_veil "$fs_sum"
    [ "~$fs_veiled" = "$fs_old" ] || return 0
    fs_old=$fs_sum
    fs_note_row
}
# fs_name_new: the new digest, which nobody knew before, or knew veiled.
fs_name_new() {
    [ -z "$fs_broken" ] && fs_digest "$fs_bundle/new.$fs_i" || return 0
    fs_veil "$fs_sum"
    case $fs_new in
    [?] | "~$fs_veiled") ;;
    *) return 0 ;;
    esac
    fs_new=$fs_sum
    fs_note_row
}
# Nobody else reads a store that we wrote.
fs_tighten() {
    [ -z "$fs_mark" ] || chmod 600 "$fs_temp"
}
