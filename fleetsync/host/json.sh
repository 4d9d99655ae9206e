# fs_json KEYS: the class of the value that a strict JSON document (RFC 8259) on standard
# input has under KEYS, joined by U+001F: invalid, absent, other, or string and, after a
# line end, the string and a dot. Members of arrays have no path. Fails without an awk.
# Tokens never hold a line end, so awk takes them line by line.
fs_json() {
    tr '\000' '\001' | FS_KEYS=$1 awk '
BEGIN {
    segments = split(ENVIRON["FS_KEYS"], segment, "\037")
    want = "value"; depth = 0; on[0] = 1; class = "absent"
    word = "(true|false|null|-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)?)"
    pair = "\\\\u[dD][c-fC-F][0-9A-Fa-f][0-9A-Fa-f]"
    unicode = (sprintf("%c", 233) == "\303\251")  # an awk whose %c takes code points
}
{
    line = $0
    while (want != "nothing") {
        take("[ \t\r]+")
        if (line == "") next
        step()
    }
    exit
}
END {
    if (want != "end") class = "invalid"
    printf "%s", (class == "string") ? class "\n" text "." : class
}
function take(pattern) {
    token = match(line, "^" pattern) ? substr(line, 1, RLENGTH) : ""
    line = substr(line, length(token) + 1)
    return token != ""
}
function step() {
    if (want == "colon") want = take(":") ? "value" : "nothing"
    else if (want ~ /comma/ && take(",")) want = (kind[depth] == "}") ? "name" : "value"
    else if (want ~ /comma|first/ && take("[]}]")) close_container()
    else if (want ~ /name/ && take("\"")) name()
    else if (want ~ /value/) value()
    else want = "nothing"
}
function close_container() { want = (token == kind[depth--]) ? after() : "nothing" }
function after() { return depth ? "comma" : "end" }
function name(    found) {
    found = string()
    on[depth] = (on[depth - 1] && found "" == segment[depth] "")
    if (on[depth]) class = "absent"  # the last of equal names counts
    if (want != "nothing") want = "colon"
}
function value(    here) {
    here = (on[depth] && depth == segments)
    if (here) class = "other"
    if (take("[[{]")) {
        kind[++depth] = (token == "{") ? "}" : "]"; on[depth] = 0
        want = (token == "{") ? "first name" : "first value"
    } else if (take("\"")) {
        token = string()
        if (here) { class = "string"; text = token }
        if (want != "nothing") want = after()
    } else want = take(word) ? after() : "nothing"
}
function string(    out) {
    while (!take("\"")) {
        if (take("[^\"\\\\\001-\037]+")) out = out token
        else if (take("\\\\u[0-9A-Fa-f][0-9A-Fa-f][0-9A-Fa-f][0-9A-Fa-f]")) out = out character(hex())
        else if (take("\\\\[\"\\\\/bfnrt]")) out = out plain(substr(token, 2))
        else { want = "nothing"; return out }
    }
    return out
}
function plain(c,    at) {
    at = index("bfnrt", c)
    return at ? substr("\b\f\n\r\t", at, 1) : c
}
function hex(    i, n) {
    for (i = 3; i <= 6; i++) n = n * 16 + index("0123456789abcdef", tolower(substr(token, i, 1))) - 1
    return n
}
function character(n) {
    if (n >= 55296 && n < 56320 && take(pair)) n = (n - 55232) * 1024 + hex() - 56320
    if (n == 0) n = 1  # no shell holds a NUL; both are control characters
    if (n < 128 || unicode) return sprintf("%c", n)
    if (n < 2048) return sprintf("%c%s", 192 + int(n / 64), tail(n, 1))
    if (n < 65536) return sprintf("%c%s", 224 + int(n / 4096), tail(n, 64) tail(n, 1))
    return sprintf("%c%s", 240 + int(n / 262144), tail(n, 4096) tail(n, 64) tail(n, 1))
}
function tail(n, unit) { return sprintf("%c", 128 + int(n / unit) % 64) }'
}
