# Print the entries of a list in a JSON file as it stands: // comments, trailing commas and
# bare keys are allowed. `list` is its dotted path, where * is any key. With `pi` each entry
# begins with its provider's name and Pi's default for `reasoning`; of two equal keys the
# later one counts.
{ text = text $0 "\n" }

function open_bracket(token) {
    kind[++depth] = token
    key[depth] = ""
    if (row == "" && token == "{" && kind[depth - 1] == "[" && is_list(depth - 2)) {
        row_depth = depth
        row = pi ? "{\"provider\":" key[2] ",\"reasoning\":false" : "{"
        comma = pi
        return 1
    }
    return 0
}

function is_list(size,    i) {
    if (split(list, step, ".") != size) return 0
    for (i = 1; i <= size; i++)
        if (step[i] != "*" && "\"" step[i] "\"" != key[i]) return 0
    return 1
}

function take(token) {
    if (comma && token !~ /^[]}]/) row = row ","
    comma = 0
    row = row token
}

function feed(token) {
    if (token == ",") { comma = 1; return }
    if (token == ":") key[depth] = last
    if (token == "{" || token == "[") {
        if (open_bracket(token)) return
    }
    if (row != "") take(token)
    if (token == "}" || token == "]") {
        if (depth == row_depth && row != "") {
            rows = rows (rows == "" ? "" : ",") row
            row = ""
        }
        depth--
    }
}

# A word is a key where a colon follows, else a value.
function feed_word(word, rest) {
    if (rest ~ /^[ \t]*:/) word = last = "\"" word "\""
    feed(word)
}

END {
    size = length(text)
    for (at = 1; at <= size; at = next_at) {
        char = substr(text, at, 1)
        next_at = at + 1
        if (char == "\"") {
            while ((char = substr(text, next_at, 1)) != "\"") next_at += char == "\\" ? 2 : 1
            last = substr(text, at, ++next_at - at)
            feed(last)
        } else if (char == "/" && substr(text, next_at, 1) == "/") {
            while (substr(text, next_at, 1) != "\n") next_at++
        } else if (char ~ /[A-Za-z0-9_$.+-]/) {
            while (substr(text, next_at, 1) ~ /[A-Za-z0-9_$.+-]/) next_at++
            feed_word(substr(text, at, next_at - at), substr(text, next_at, 80))
        } else if (char !~ /[ \t\r\n]/) {
            feed(char)
        }
    }
    print rows
}
