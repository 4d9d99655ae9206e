# JSON is read by awk, and where there is none by an interpreter that the host has anyway.

# fs_find_parser: what reads JSON here, in fs_parser; fails where nothing does.
fs_find_parser() {
    [ -z "${fs_parser-}" ] || return 0
    if command -v awk >/dev/null; then
        fs_parser='awk'
    elif fs_find_interpreter; then
        fs_parser=$fs_engine fs_reader=$fs_program
    else
        return 1
    fi
}
# fs_bare COMMAND...: an asker or reader of ours, without what the account's environment may
# hold to make it write files, follow a proxy, or send a key where no certificate is good.
fs_bare() {
    (
        unset NODE_OPTIONS NODE_USE_ENV_PROXY NODE_COMPILE_CACHE NODE_V8_COVERAGE NODE_DEBUG \
            NODE_TLS_REJECT_UNAUTHORIZED SSLKEYLOGFILE
        exec "$@"
    )
}
# fs_parse KEYS: as fs_json, by what fs_find_parser found.
fs_parse() {
    export FS_KEYS="$1"
    case $fs_parser in
    awk) fs_json "$1" ;;
    python3) fs_bare "$fs_reader" -I -B -c "$fs_parse_python3" ;;
    node) fs_bare "$fs_reader" -e "$fs_parse_node" ;;
    esac
}
# Both take bytes for characters, so that what is no escape comes through as it is.
fs_parse_python3='
import json, os, re, sys
def plain(escape):
    code = int(escape[1][1:], 16) if len(escape[1]) == 5 else 1
    return escape[0] if 0 < code < 128 else "\\u00ff" if code else "\\u0001"
def refuse(word):
    raise ValueError(word)
def walk(value, keys):
    for key in keys:
        if isinstance(value, list) and re.fullmatch("0|[1-9][0-9]{0,9}", key):
            value = dict(enumerate(value)).get(int(key), KeyError)
        else:
            value = value.get(key, KeyError) if isinstance(value, dict) else KeyError
    if isinstance(value, str):
        return "string\n" + value + "."
    return "absent" if value is KeyError else "other"
text = sys.stdin.buffer.read().decode("latin-1")
text = re.sub(r"\\(u[0-9a-fA-F]{4}|.)", plain, text, flags=re.S)
keys = os.environb[b"FS_KEYS"].decode("latin-1")
try:
    value = json.loads(text, parse_int=len, parse_float=len, parse_constant=refuse)
    found = walk(value, keys.split("\x1f") if keys else [])
except (ValueError, RecursionError):
    found = "invalid"
sys.stdout.buffer.write(found.encode("latin-1"))'
fs_parse_node='
const {readFileSync} = require("fs");
const plain = (all, escape) => {
  const code = escape.length === 5 ? parseInt(escape.slice(1), 16) : 1;
  return code > 127 ? "\\u00ff" : code ? all : "\\u0001";
};
const walk = (value, keys) => {
  for (const key of keys) {
    const held = value !== null && typeof value === "object" &&
      Object.prototype.hasOwnProperty.call(value, key) &&
      (!Array.isArray(value) || key !== "length");
    if (!held) return "absent";
    value = value[key];
  }
  return typeof value === "string" ? "string\n" + value + "." : "other";
};
const text = readFileSync(0, "latin1").replace(/\\(u[0-9a-fA-F]{4}|[^])/g, plain);
const keys = Buffer.from(process.env.FS_KEYS, "utf8").toString("latin1");
let found = "invalid";
try {
  found = walk(JSON.parse(text), keys ? keys.split("\x1f") : []);
} catch (error) {
  if (!(error instanceof SyntaxError)) throw error;
}
process.stdout.write(Buffer.from(found, "latin1"));'
