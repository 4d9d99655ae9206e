# Print the rows of every provider in a models.json: JSON with // comments and trailing
# commas. Each row is the entry as it stands, after its provider's name and Pi's default
# for `reasoning`; of two equal keys the later one counts.
{ text = text $0 "\n" }

function open_bracket(token) {
    kind[++depth] = token
    key[depth] = ""
    if (depth == 5 && token == "{" && key[1] == "providers" && key[3] == "models") {
        row = "{\"provider\":" key[2] ",\"reasoning\":false"
        comma = 1
        return 1
    }
    return 0
}

function take(token) {
    if (comma && token !~ /^[]}]/) row = row ","
    comma = 0
    row = row token
}

function feed(token) {
    if (token == ",") { comma = 1; return }
    if (token == ":") key[depth] = depth == 1 || depth == 3 ? bare(last) : last
    if (token == "{" || token == "[") {
        if (open_bracket(token)) return
    }
    if (row != "") take(token)
    if (token == "}" || token == "]") {
        if (depth == 5 && row != "") {
            rows = rows (rows == "" ? "" : ",") row
            row = ""
        }
        depth--
    }
}

function bare(string) { return substr(string, 2, length(string) - 2) }

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
        } else if (char !~ /[ \t\r\n]/) {
            feed(char)
        }
    }
    print rows
}
