# fs_json KEYS: the class of the value that a strict JSON document (RFC 8259) on standard
# input has under KEYS, joined by U+001F: invalid, absent, other, or string and, after a
# line end, the string and a dot. Members of arrays have their index from 0 for a key; an
# escaped character beyond ASCII comes as one byte 0xFF, U+0000 as U+0001. Fails where there
# is no awk.
# No token of JSON holds a line end, so awk takes them line by line, a window at a time.
fs_json() {
    tr '\000' '\001' | FS_KEYS=$1 awk "$fs_json_reader"'
END {
    if (want != "end") class = "invalid"
    printf "%s", (class == "string") ? class "\n" text "." : class
}
function note(event) { return }'
}
# The reader itself. `done` counts the bytes that are read; note() is told what is wanted
# before each token, and "after" each value.
fs_json_reader='
BEGIN {
    segments = split(ENVIRON["FS_KEYS"], segment, "\037")
    depth = 0; on[0] = 1; hex = "[0-9A-Fa-f]"; want = "value"; class = "absent"
    word = "(true|false|null|-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)?)"
}
{
    for (rest = $0; want; step()) { take("[ \t\r]+"); if (!length(line)) { done++; next } }
    exit
}
function take(pattern,    found) {  # the token at the head of the line, off it
    while (length(line) < 9 + (found = match(line, "^" pattern) ? RLENGTH : 0) && rest != "") {
        line = line substr(rest, 1, 999); rest = substr(rest, 1000)
    }
    if (found) { done += found; token = substr(line, 1, found); line = substr(line, found + 1) }
    return found
}
function step() {
    note(want)
    if (want == "colon") want = take(":") ? "value" : ""
    else if (want ~ /comma/ && take(",")) want = (kind[depth] == "}") ? "name" : "value"
    else if (want ~ /comma|first/ && take("[]}]")) want = (token == kind[depth--]) ? after() : ""
    else if (want ~ /name/ && take("\"")) name()
    else if (want ~ /value/) value()
    else want = ""
}
function after() { note("after"); return depth ? "comma" : "end" }
function name() {
    on[depth] = (string() "" == segment[depth] "" && on[depth - 1])
    if (on[depth]) class = "absent"  # the last of equal names counts
    if (want) want = "colon"
}
function value(    here) {
    if (kind[depth] == "]") on[depth] = (at[depth]++ "" == segment[depth] "" && on[depth - 1])
    if (here = (on[depth] && depth == segments)) class = "other"
    if (take("[[{]")) {
        kind[++depth] = (token == "{") ? "}" : "]"; on[depth] = at[depth] = 0
        want = (token == "{") ? "first name" : "first value"
    } else if (take("\"")) {
        token = string()
        if (here) { class = "string"; text = token }
        if (want) want = after()
    } else want = take(word) ? after() : ""
}
function string(    out) {
    while (!take("\"")) {
        if (take("[^\"\\\\\001-\037]+")) out = out token
        else if (take("\\\\u" hex hex hex hex)) out = out character(tolower(token))
        else if (take("\\\\[\"\\\\/bfnrt]")) out = out plain(substr(token, 2))
        else { want = ""; break }
    }
    return out
}
function plain(c) { return substr("\b\f\n\r\t\"/\\", index("bfnrt\"/\\", c), 1) }
function character(u,    n, i) {
    for (i = 3; i <= 6; i++) n = n * 16 + index("0123456789abcdef", substr(u, i, 1)) - 1
    return (n > 127) ? "\377" : sprintf("%c", n ? n : 1)
}'
