# The router's list of models, asked from this host with the key that was judged last.
# The key goes to standard input of curl, python3 or node: never to a file, a command line
# or an environment; and to this address alone: no redirect, no proxy.

# fs_prove URL SECONDS CAP INTERPRETER...: what the router answers to the key in fs_judged.
fs_prove() {
    fs_url=$1 fs_allowed=$2 fs_most=$3
    shift 3
    if [ "$fs_verdict" != resolves ]; then
        fs_say nokey "$fs_verdict" "$fs_detail"
    elif fs_find_asker "$@"; then
        fs_ask_router
    else
        fs_say noasker
    fi
    fs_judged='' fs_value=''
}
# fs_find_asker INTERPRETER...: a program that works, in fs_program and fs_engine.
fs_find_asker() {
    fs_engine='curl'
    fs_program=$(command -v curl) && fs_works || fs_find_interpreter "$@"
}
# The answer with how the program ended, in curl's numbers. Only a list that does not hold
# the key itself leaves the host.
fs_ask_router() {
    fs_name_proxies
    fs_reply=$({ "fs_ask_$fs_engine" && echo " 0." || echo " $?."; } | head -c "$((fs_most + 64))")
    [ "${#fs_reply}" -lt "$((fs_most + 64))" ] || fs_reply=' 63.'
    fs_last=${fs_reply##*"$fs_newline"}
    fs_ended=${fs_last##* } && fs_ended=${fs_ended%.}
    fs_code=${fs_last% *}
    fs_reply=${fs_reply%"$fs_newline"*}
    # These two are told, and a program that only poses as curl may print the key for them.
    case $fs_ended in
    '' | *[!0-9]* | ????*) fs_ended=63 ;;
    esac
    case $fs_code:$fs_reply in
    200:*"$fs_judged"*) fs_code=echo ;;
    [0-9][0-9][0-9]:*) ;;
    *) fs_code= ;;
    esac
    fs_say reply "$fs_ended" "$fs_code" "$fs_proxies"
    [ "$fs_code$fs_ended" != 2000 ] || fs_raw fs_put "$fs_reply"
}
# The names of the proxy variables that a client here may follow. We follow none.
fs_name_proxies() {
    case $fs_url in
    https:*) set -- https_proxy HTTPS_PROXY ;;
    *) set -- http_proxy HTTP_PROXY ;;
    esac
    fs_proxies=
    for fs_name in "$@" all_proxy ALL_PROXY no_proxy NO_PROXY; do
        eval "fs_set=\${$fs_name:+x}"
        [ -z "$fs_set" ] || fs_proxies="$fs_proxies $fs_name"
    done
}
fs_ask_curl() {
    {
        printf 'url = "'
        fs_curl_word "$fs_url"
        printf '"\nheader = "Authorization: Bearer '
        fs_curl_word "$fs_judged"
        printf '"\n'
    } | fs_bare "$fs_program" -q -K - -g -s --noproxy '*' --proto =http,https --max-time "$fs_allowed" \
        --max-filesize "$fs_most" -A fleetsync -H 'Accept: application/json' -w '\n%{http_code}'
}
fs_curl_word() {
    fs_put "$1" | sed 's/[\\"]/\\&/g'
}
fs_ask_python3() {
    fs_tell_asker | fs_bare "$fs_program" -I -B -c '
import http.client, signal, socket, ssl, sys
from urllib.parse import urlsplit
url, key, seconds, most = sys.stdin.read().splitlines()
signal.alarm(int(seconds))
to = urlsplit(url)
connect = http.client.HTTPSConnection if to.scheme == "https" else http.client.HTTPConnection
told = {"Authorization": "Bearer " + key, "Accept": "application/json", "User-Agent": "fleetsync"}
try:
    connection = connect(to.hostname, to.port)
    connection.request("GET", to._replace(scheme="", netloc="").geturl(), headers=told)
    answer = connection.getresponse()
    body = answer.read(int(most) + 1)
except socket.gaierror:
    sys.exit(6)
except ssl.SSLError:
    sys.exit(35)
except (ConnectionResetError, BrokenPipeError, http.client.IncompleteRead):
    sys.exit(56)
except http.client.HTTPException:
    sys.exit(1)
except OSError:
    sys.exit(7)
if len(body) > int(most):
    sys.exit(63)
if answer.length:
    sys.exit(56)
sys.stdout.buffer.write(body + b"\n%d" % answer.status)'
}
fs_ask_node() {
    fs_tell_asker | fs_bare "$fs_program" -e '
const [url, key, seconds, most] = require("fs").readFileSync(0, "utf8").split("\n");
setTimeout(() => process.exit(28), seconds * 1000);
const exits = {ENOTFOUND: 6, EAI_AGAIN: 6, ECONNRESET: 56, EPIPE: 56};
const exit = ({code = ""}) => process.exit(
  exits[code] || (/^HPE_/.test(code) ? 1 : /TLS|SSL|PROTO|CERT|SIGN|ISSUER/.test(code) ? 35 : 7));
const headers = {
  Authorization: "Bearer " + key, Accept: "application/json", "User-Agent": "fleetsync"};
const {get} = require(url.startsWith("https:") ? "https" : "http");
get(url, {agent: false, headers}, (answer) => {
  const parts = [];
  let size = 0;
  answer.on("error", exit);
  answer.on("data", (part) => {
    size += part.length;
    if (size > most) process.exit(63);
    parts.push(part);
  });
  answer.on("end", () => {
    parts.push(Buffer.from("\n" + answer.statusCode));
    process.stdout.write(Buffer.concat(parts), () => process.exit(0));
  });
}).on("error", exit);'
}
fs_tell_asker() {
    fs_put "$fs_url$fs_newline$fs_judged$fs_newline$fs_allowed$fs_newline$fs_most"
}
