# Executables, the packages they belong to, and the interpreters they need. All from
# files: no program of a client runs.

# fs_wanted NUMBER NAMES PACKAGES RUNTIMES: what the next calls look for, words with spaces.
fs_wanted() {
    fs_number=$1 fs_names=$2 fs_packages=$3 fs_runtimes=$4
    fs_seen=$fs_newline
}
# fs_locate: search the session's PATH, the login shell's, then the known places.
fs_locate() {
    fs_wanted "$@"
    fs_search fs_take
}
# fs_launcher NUMBER PACKAGES RUNTIMES INTERPRETER SCRIPT: one the operator named.
# Without INTERPRETER the script's own first line tells it.
fs_launcher() {
    fs_wanted "$1" '' "$2" "$3"
    fs_problem=
    fs_named=
    [ -z "$4" ] || { fs_named=$(fs_command "$4") || fs_problem="$4 does not exist"; }
    fs_tilde "$5"
    case $5 in
    */*) ;;
    *) fs_path=$(fs_command "$5") || fs_path=$5 ;;
    esac
    [ -f "$fs_path" ] || fs_problem="$5 does not exist"
    fs_install inventory "$fs_path"
}
fs_command() {
    case $1 in
    */*) fs_tilde "$1" ;;
    *) fs_which "$1" "" && fs_path=$fs_hit ;;
    esac && [ -f "$fs_path" ] && [ -x "$fs_path" ] && printf '%s\n' "$fs_path"
}
# fs_search FUNCTION: call FUNCTION HOW DIRECTORY for each, until it says 0.
fs_search() {
    fs_each_of PATH "$fs_user_path" "$1" || fs_each_of 'login PATH' "${fs_login_path-}" "$1" ||
        fs_each_known "$1"
}
fs_each_of() {
    fs_how=$1 fs_function=$3
    set -f
    IFS=:
    set -- "$fs_function" "$fs_how" $2
    set +f
    IFS=$fs_blanks
    fs_each "$@"
}
fs_blanks=" 	$fs_newline"
fs_located=
# fs_each FUNCTION HOW DIRECTORY...: a function called here may come here again, and only
# positional parameters are its own.
fs_each() {
    while [ "$#" -gt 2 ]; do
        case $3 in
        /*) "$1" "$2" "${3%/}" && return ;;
        esac
        fs_function=$1 fs_how=$2
        shift 3
        set -- "$fs_function" "$fs_how" "$@"
    done
    return 1
}
# Where installers put launchers and where version managers keep theirs.
fs_each_known() {
    set -- "$1" 'known place' "$fs_home/.local/bin" "$fs_home/bin" "$fs_home/.npm-global/bin" \
        "$fs_home/.bun/bin" "$fs_home/.volta/bin" "$fs_home/.openclaw/bin" \
        "$fs_home/.hermes/hermes-agent/venv/bin" "$fs_home/.hermes/hermes-agent/.venv/bin" \
        /opt/homebrew/bin /home/linuxbrew/.linuxbrew/bin /usr/local/bin \
        "$fs_home"/.nvm/versions/node/*/bin \
        "$fs_home"/.local/share/fnm/node-versions/*/installation/bin \
        "$fs_home"/.fnm/node-versions/*/installation/bin \
        "$fs_home"/.volta/tools/image/packages/*/bin "$fs_home"/.volta/tools/image/node/*/bin \
        "$fs_home"/.volta/tools/image/packages/@*/*/bin \
        "$fs_home"/.asdf/installs/nodejs/*/bin "$fs_home"/.local/share/mise/installs/node/*/bin \
        "$fs_home"/.local/share/pnpm "$fs_home"/Library/pnpm "$fs_home/.yarn/bin" \
        "$fs_home/n/bin" "$fs_home/.nix-profile/bin" /run/current-system/sw/bin \
        "$fs_home/.openclaw/tools/node/bin" /usr/bin /bin
    fs_each "$@"
}
fs_take() {
    for fs_wish in $fs_names; do
        [ -f "$2/$fs_wish" ] && [ -x "$2/$fs_wish" ] || continue
        fs_problem=
        fs_named=
        fs_install "$1" "$2/$fs_wish"
    done
    return 1
}
# fs_install HOW PATH: one record for each real file, and one for each runtime file.
fs_install() {
    fs_found=$1 fs_asked=$2
    fs_follow "$2" || fs_real=
    fs_plain "$fs_asked$fs_real" || fs_asked='' fs_real='' fs_problem="its path holds a line end"
    if [ "$1" != inventory ]; then
        case $fs_seen in
        *"$fs_newline$fs_real$fs_newline"*) return ;;
        esac
        fs_seen=$fs_seen$fs_real$fs_newline
    fi
    fs_target=$fs_real
    fs_first_line
    fs_name_package
    fs_name_interpreter
    fs_plain "$fs_problem" || fs_problem="its first line is not plain text"
    fs_say install "$fs_number" "$fs_found" "$fs_asked" "$fs_target" "$fs_package" \
        "$fs_version" "$fs_root" "$fs_interpreter" "$fs_interpreter_version" "$fs_problem"
    for fs_runtime in $fs_runtimes; do
        [ -n "$fs_root" ] && [ -f "$fs_root/$fs_runtime" ] || continue
        fs_say runtime "$fs_number" "$fs_runtime" "$(fs_sha256 <"$fs_root/$fs_runtime")"
    done
}
# The program that the first line names, in fs_shebang; after env: the bare name. Long
# paths are written as a line for sh that execs the interpreter.
fs_first_line() {
    fs_shebang=
    [ -r "$fs_target" ] || return
    fs_head=$(head -c 1024 "$fs_target" | tr '\000\015' '\n\n' | head -n 2)
    case $fs_head in
    '#!'*) ;;
    *) return ;;
    esac
    fs_line=${fs_head%%"$fs_newline"*}
    case $fs_head in
    *"$fs_newline'''exec' "*) fs_line="#!${fs_head#*"$fs_newline'''exec' "}" ;;
    esac
    set -f
    set -- ${fs_line#'#!'}
    set +f
    case ${1-} in
    \"*) fs_shebang=${fs_line#*\"} && fs_shebang=${fs_shebang%%\"*} && return ;;
    \'*) fs_shebang=${fs_line#*\'} && fs_shebang=${fs_shebang%%\'*} && return ;;
    */env) shift && [ "${1-}" != -S ] || shift ;;
    esac
    fs_shebang=${1-}
}
# The package that owns fs_target: fs_package, fs_version, fs_root. For a Python program its
# environment tells: a checkout of one can hold a package.json of that name and no meaning.
fs_name_package() {
    fs_package='' fs_version='' fs_root=''
    case ${fs_shebang##*/} in
    python*) fs_python_package "${fs_shebang%/*/*}" ;;
    esac
    [ -z "$fs_package" ] || return
    fs_up=$fs_target
    fs_hops=0
    while [ "$fs_hops" -lt 6 ]; do
        fs_hops=$((fs_hops + 1))
        fs_up=${fs_up%/*}
        [ -n "$fs_up" ] || break
        fs_node_package "$fs_up" && return
    done
}
fs_node_package() {
    [ -f "$1/package.json" ] && [ -r "$1/package.json" ] || return 1
    fs_member "$1/package.json" name
    for fs_wish in $fs_packages; do
        [ "$fs_wish" = "$fs_text" ] || continue
        fs_package=$fs_wish fs_root=$1
        fs_member "$1/package.json" version
        fs_plain "$fs_text" && fs_version=$fs_text
        return
    done
    return 1
}
# fs_member FILE KEY: a string at the top of a JSON file, in fs_text.
fs_member() {
    fs_text=
    fs_find_parser && fs_text=$(head -c 1048576 "$1" | fs_parse "$2")
    case $fs_text in
    "string$fs_newline"*) fs_text=${fs_text#*"$fs_newline"} && fs_text=${fs_text%.} ;;
    *) fs_text= ;;
    esac
}
fs_python_package() {
    for fs_wish in $fs_packages; do
        fs_stem=$(printf '%s\n' "$fs_wish" | tr A-Z.- a-z__)
        for fs_info in "$1"/lib*/python3*/site-packages/"$fs_stem"-*.dist-info \
            "$1"/lib*/python3*/dist-packages/"$fs_stem"-*.dist-info; do
            [ -d "$fs_info" ] || continue
            fs_package=$fs_wish fs_root=${fs_info%/*}
            fs_version=${fs_info##*/"$fs_stem"-} && fs_version=${fs_version%.dist-info}
            return
        done
    done
}
# What runs fs_target, in fs_interpreter; "" for a shell script or a binary.
fs_name_interpreter() {
    fs_interpreter=$fs_named fs_interpreter_version=
    if [ -z "$fs_interpreter" ]; then
        case ${fs_shebang##*/} in
        '' | sh | bash | dash | ash | ksh | mksh | zsh | fish) return ;;
        esac
        fs_which "$fs_shebang" "${fs_asked%/*}" && fs_interpreter=$fs_hit
        [ -n "$fs_interpreter$fs_problem" ] || fs_problem="its interpreter $fs_shebang was not found"
    fi
    fs_plain "$fs_interpreter" || fs_interpreter=
    [ -n "$fs_interpreter" ] || return
    fs_located=$fs_located$fs_interpreter$fs_newline
    fs_age_interpreter
}
# fs_find_interpreter PATH...: python3 or node, in fs_program, and which of them in
# fs_engine: on the PATH, one of these paths, one that was located, one that is known.
fs_find_interpreter() {
    for fs_engine in python3 node; do
        fs_program=$(command -v "$fs_engine") && fs_works && return
    done
    set -f
    IFS=$fs_newline
    set -- "$@" $fs_located
    set +f
    IFS=$fs_blanks
    for fs_program in "$@"; do
        fs_engine=${fs_program##*/}
        fs_works && return
    done
    for fs_engine in node python3; do
        fs_which "$fs_engine" '' && fs_program=$fs_hit && fs_works && return
    done
    return 1
}
fs_works() {
    case $fs_engine in
    curl) fs_bare "$fs_program" -q -V ;;
    python*) fs_engine=python3 && fs_bare "$fs_program" -I -c pass ;;
    node*) fs_engine='node' && fs_bare "$fs_program" -e 0 ;;
    *) return 1 ;;
    esac >/dev/null
}
# fs_which NAME DIRECTORY: fs_hit, from DIRECTORY (version managers put an interpreter
# beside the programs that need it), the login shell's PATH, which the user's own start has,
# the session's PATH, the known places. A path stands for itself.
fs_which() {
    fs_hit='' fs_lookup=$1
    case $1 in
    '') return 1 ;;
    */*) [ -x "$1" ] && fs_hit=$1 && return ;;
    *)
        { [ -n "$2" ] && fs_hits - "$2"; } || fs_each_of - "${fs_login_path-}" fs_hits ||
            fs_each_of PATH "$fs_user_path" fs_hits || fs_each_known fs_hits
        ;;
    esac
}
fs_hits() {
    [ -f "$2/$fs_lookup" ] && [ -x "$2/$fs_lookup" ] && fs_hit=$2/$fs_lookup
}
# The interpreter's version as files tell it, or "".
fs_age_interpreter() {
    fs_follow "$fs_interpreter" || return
    fs_header=${fs_real%/*/*}/include/node/node_version.h
    case $fs_real in
    */python3.[0-9] | */python3.[0-9][0-9]) fs_interpreter_version=${fs_real##*/python} && return ;;
    */node/v[0-9]*/bin/node) fs_age=${fs_real%/bin/node} ;;
    */node-versions/v[0-9]*/installation/bin/node) fs_age=${fs_real%/installation/bin/node} ;;
    */nodejs/[0-9]*/bin/node | */node/[0-9]*/bin/node) fs_age=${fs_real%/bin/node} ;;
    */Cellar/node*/[0-9]*/bin/node) fs_age=${fs_real%/bin/node} ;;
    *)
        [ -f "$fs_header" ] && [ -r "$fs_header" ] || return
        fs_age=$(sed -n 's/^#define NODE_M[AI][JN]OR_VERSION //p
            s/^#define NODE_PATCH_VERSION //p' "$fs_header" | tr '\n' .)
        fs_interpreter_version=${fs_age%.}
        return
        ;;
    esac
    fs_age=${fs_age##*/} && fs_interpreter_version=${fs_age#v}
}
