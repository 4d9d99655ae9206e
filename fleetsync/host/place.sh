# Credentials are judged here. Only a verdict, a salted fingerprint and words of ours leave
# the host. A value is never an argument of a program: arguments show in the process list.

# fs_salts FIRST SECOND: this run's own, so that fingerprints mean nothing later.
fs_salts() {
    fs_salt=$1 fs_pepper=$2 fs_patience=5
}
# fs_variable NUMBER NAME: a variable that is no secret, of the session and a login shell.
fs_variable() {
    fs_session "$2"
    fs_tell_variable "$1" session "$?"
    fs_given "${fs_login_said-}" "$2"
    fs_tell_variable "$1" login "$?"
}
fs_tell_variable() {
    fs_say variable "$1" "$2" "$3"
    [ "$3" != 0 ] || fs_raw fs_put "$fs_value"
}
# fs_show_environment DIRECTORY: the environment of that process of ours in fs_shown, each
# line NAME=VALUE. Status 1 for what a check started: it bears a program's title and the scratch
# directory's environment, as `openclaw gateway call` does.
fs_show_environment() {
    [ -O "$1/environ" ] && [ -r "$1/environ" ] || return 1
    fs_shown=$fs_newline$(tr '\0' '\n' <"$1/environ")$fs_newline
    case $fs_shown in
    *"${fs_newline}FLEETSYNC_RUN="*) return 1 ;;
    *"${fs_newline}HOME=$HOME$fs_newline"*) ;;
    # Of another home, though of the same account: it reads other files.
    *"${fs_newline}HOME="*) return 1 ;;
    esac
}
# fs_running NUMBER TITLE NAME: a variable that is no secret, as our own running program of
# that process title has it; of several the first that has it.
fs_running() {
    for fs_process in $(grep -lsa "^$2" /proc/[0-9]*/cmdline); do
        fs_show_environment "${fs_process%/cmdline}" || continue
        case $fs_shown in
        *"$fs_newline$3="*)
            fs_value=${fs_shown#*"$fs_newline$3="}
            fs_value=${fs_value%%"$fs_newline"*}
            fs_tell_variable "$1" running 0
            return
            ;;
        esac
    done
    fs_tell_variable "$1" running 1
}
# fs_session NAME: its value for a plain ssh command, in fs_value; status 1 when unset.
fs_session() {
    eval "fs_set=\${$1+x} fs_value=\${$1-}"
    [ "$1" != PATH ] || fs_value=$fs_user_path
    [ -n "$fs_set" ]
}
# fs_place NUMBER KIND WHERE NAME (KIND in one word): the verdict. WHERE is a pattern,
# its pieces apart as U+001E; of several files the last that has an answer counts.
fs_place() {
    fs_number=$1
    shift
    fs_judge_place "$@"
    fs_tell_place
}
fs_tell_place() {
    fs_value='' fs_judged=''
    fs_say place "$fs_number" "$fs_verdict" "$fs_print" "$fs_detail"
}
# fs_judge_place KIND WHERE NAME: the verdict, and in fs_judged the value that it is on.
fs_judge_place() {
    fs_form=$1 fs_key=$3
    fs_verdict=absent fs_print='' fs_detail='' fs_note='' fs_judged=''
    case $1 in
    session) fs_session "$3" && fs_judge ;;
    login) fs_judge_said "${fs_login_said-}" "the login shell gave no answer" ;;
    interactive) fs_judge_said "${fs_interactive_said-}" "the interactive shell gave no answer" ;;
    manager) fs_manager ;;
    keyring) fs_keyring ;;
    windows) fs_windows ;;
    credentials) fs_credentials ;;
    service) fs_service "$2" ;;
    *) fs_files "$2" ;;
    esac
}
fs_judge_said() {
    fs_given "$1" "$fs_key"
    case $? in
    0) fs_judge ;;
    2) fs_rule unknown "$2 in $fs_patience seconds" ;;
    esac
}
fs_rule() {
    fs_verdict=$1 fs_detail=$2 fs_print=''
}
# fs_judge: the verdict on the credential in fs_value.
fs_judge() {
    fs_detail='' fs_judged=$fs_value
    case $fs_form:$fs_value in
    "$fs_form:") fs_rule empty '' ;;
    json:'!'*) fs_rule command '' ;;
    json:api_key | json:oauth) fs_rule placeholder "$fs_value" ;; # a kind, and no secret
    json:'$'* | file:'$'* | dotenv:'$'*) fs_judge_reference ;;
    *) fs_judge_text ;;
    esac
}
fs_judge_reference() {
    fs_refers=${fs_value#'$'}
    case $fs_refers in
    '{'*'}') fs_refers=${fs_refers#'{'} && fs_refers=${fs_refers%'}'} ;;
    esac
    case $fs_refers in
    '' | [0-9]* | *[!A-Za-z0-9_]*) fs_judge_text ;;
    *)
        fs_rule reference ''
        # In JSON a client may read it; elsewhere it may well be a key that begins so.
        [ "$fs_form" != json ] || fs_detail=$fs_refers
        ;;
    esac
}
fs_judge_text() {
    case $fs_value in
    *[!\ -~]*) fs_rule malformed "holds a line end, a control or a non-ASCII character" ;;
    *' '*) fs_rule malformed "holds a space" ;;
    *[\'\"]*) fs_rule malformed "holds a quote" ;;
    '<'*'>' | '${'*'}' | '{{'*'}}') fs_rule placeholder '' ;;
    *[!xX]*) fs_judge_word ;;
    *) fs_rule placeholder '' ;;
    esac
}
fs_judge_word() {
    case $(fs_put "$fs_value" | tr A-Z_ a-z-) in
    changeme | change-me | replace* | your-*key* | your-*token* | yourkey | none | null | \
        undefined | placeholder | todo | api-key | apikey | sk-xxx* | '***'* | ...)
        fs_rule placeholder ''
        ;;
    *)
        fs_rule resolves "$fs_note"
        [ "$fs_form" != json ] || fs_note_template
        fs_print=$(fs_put "$fs_salt$fs_value" | fs_sha256)
        fs_print=$(fs_put "$fs_pepper$fs_print" | fs_sha256 | head -c 12)
        ;;
    esac
}
# fs_note_template: a $NAME inside other text, where `$$` and `$!` only stand for a character.
fs_note_template() {
    case $(fs_put "$fs_value" | sed 's/\$[$!]//g') in
    *'$'[A-Za-z_{]*) fs_detail="${fs_note:+$fs_note, }holds a \$" ;;
    esac
}
# The files of a place, in order.
fs_files() {
    IFS=$fs_record
    set -f
    set -- $1
    set +f
    IFS=$fs_blanks
    fs_expand "$@"
    fs_rest=$fs_paths
    while [ -n "$fs_rest" ]; do
        fs_look "${fs_rest%%"$fs_newline"*}"
        fs_rest=${fs_rest#*"$fs_newline"}
        case $fs_kind in
        file) fs_judge_file ;;
        absent) ;;
        dangling) fs_detail="the link leads nowhere" ;;
        unreadable) fs_rule unreadable "permission denied" ;;
        *) fs_rule unreadable "not a regular file" ;;
        esac
    done
}
fs_judge_file() {
    fs_note_owner $fs_stated
    # A span is compared with the digest of its file, however large that is.
    [ "$fs_size" -le 1048576 ] || [ "$fs_form" = span ] ||
        { fs_rule unreadable "larger than 1 MiB" && return; }
    case $fs_form in
    span) fs_judge_span ;;
    json) fs_judge_json ;;
    dotenv)
        fs_value=$(tr '\000' '\001' <"$fs_real" | fs_assigned)
        case $fs_value in
        =*) fs_value=${fs_value#=} && fs_judge ;;
        '!'*) fs_rule malformed "${fs_value#!}" ;;
        esac
        ;;
    file)
        fs_value=$(tr '\000' '\001' <"$fs_real")
        fs_value=${fs_value%"$fs_return"} && fs_judge
        ;;
    mention) fs_mentioned <"$fs_real" && fs_rule indeterminate "line $fs_at names it" ;;
    esac
}
# The bytes OFFSET,LENGTH of the file whose digest is the third part of fs_key.
fs_judge_span() {
    fs_span=${fs_key%,*}
    [ "$(fs_sha256 <"$fs_real")" = "${fs_key##*,}" ] ||
        { fs_rule unknown "the file changed" && return; }
    fs_value=$(tail -c "+$((${fs_span%,*} + 1))" "$fs_real" | head -c "${fs_span#*,}" |
        tr '\000' '\001' && echo .)
    fs_value=${fs_value%.} && fs_judge
}
# fs_note_owner MODE UID ...: who else reads the file.
fs_note_owner() {
    fs_note='' fs_size=$4
    case $1 in
    *[4-7] | *[4-7]?) fs_note="readable by others ($1)" ;;
    *[2367] | *[2367]?) fs_note="writable by others ($1)" ;;
    esac
    [ "$2" = "$fs_uid" ] || [ "$2" = 0 ] || fs_note="${fs_note:+$fs_note, }owned by uid $2"
}
fs_judge_json() {
    fs_find_parser ||
        { fs_rule unknown "no awk, python3 or node on this host to read it" && return; }
    fs_value=$(fs_parse "$fs_key" <"$fs_real")
    case $fs_value in
    absent) ;;
    "string$fs_newline"*) fs_value=${fs_value#*"$fs_newline"} fs_value=${fs_value%.} && fs_judge ;;
    other) fs_rule malformed "not a string" ;;
    invalid) fs_rule unreadable "not valid JSON" ;;
    *) fs_rule unknown "the host's $fs_parser could not read it" ;;
    esac
}
# The last assignment to fs_key in standard input: `=` and its value; or `!` and why the
# readers of such files, which differ, do not take one and the same value from it.
fs_assigned() {
    fs_last='' fs_quote=
    while IFS= read -r fs_line || [ -n "$fs_line" ]; do
        fs_line=${fs_line%"$fs_return"}
        if [ -z "$fs_quote" ]; then
            fs_assign
        else
            case $fs_line in
            *"$fs_key"*=*) fs_last='!stands after a quote that is not closed on its line' ;;
            esac
            case $fs_line in
            *"$fs_quote"*) fs_quote= ;;
            esac
        fi
    done
    fs_put "$fs_last"
}
# One line: it may be the assignment, and it may leave a quote open.
fs_assign() {
    fs_line=${fs_line#"${fs_line%%[! 	]*}"}
    case $fs_line in
    'export '* | 'export	'*) fs_line=${fs_line#export} ;;
    esac
    fs_line=${fs_line#"${fs_line%%[! 	]*}"}
    case $fs_line in
    "$fs_key:"[\ \	]*) fs_last='!stands before a colon' && return ;;
    [A-Za-z_]*=*) ;;
    *) return ;;
    esac
    fs_name=${fs_line%%=*} && fs_name=${fs_name%"${fs_name##*[! 	]}"}
    fs_value=${fs_line#*=} && fs_value=${fs_value#"${fs_value%%[! 	]*}"}
    [ "$fs_name" != "$fs_key" ] || fs_unquote
    case $fs_value in
    \"*\"* | \'*\'* | \`*\`*) ;;
    \`*) fs_quote='`' ;;
    \"*) fs_quote='"' ;;
    \'*) fs_quote="'" ;;
    esac
}
# What fs_value stands for, in fs_last.
fs_unquote() {
    fs_after=
    case $fs_value in
    \"*\"*) fs_last=${fs_value#\"} && fs_after=${fs_last#*\"} && fs_last="=${fs_last%%\"*}" ;;
    \'*\'*) fs_last=${fs_value#\'} && fs_after=${fs_last#*\'} && fs_last="=${fs_last%%\'*}" ;;
    *)
        fs_last="=${fs_value%%[ 	]#*}"
        fs_last=${fs_last%"${fs_last##*[! 	]}"}
        case $fs_last in
        *'#'*) fs_last='!holds a # outside of quotes' ;;
        '=`'*) fs_last='!holds a quote' ;;
        esac
        ;;
    esac
    case $fs_last in
    *\\*) fs_last='!holds a backslash' ;;
    '=${'*'}') ;;
    *'${'*'}'*) fs_last='!holds a reference inside other text' ;;
    esac
    case ${fs_after%%#*} in
    *[!\ \	]*) fs_last='!holds something after its quotes' ;;
    esac
}
# The first line of standard input that speaks of fs_key and is no comment.
fs_mentioned() {
    fs_at=0
    while IFS= read -r fs_line || [ -n "$fs_line" ]; do
        fs_at=$((fs_at + 1))
        case " ${fs_line#"${fs_line%%[! 	]*}"} " in
        ' #'*) ;;
        *[!A-Za-z0-9_]"$fs_key"[!A-Za-z0-9_]*) return 0 ;;
        esac
    done
    return 1
}
# The verdict on the value of fs_key in fs_shown, whose lines are NAME=VALUE.
fs_judge_shown() {
    fs_value=${fs_shown#*"$fs_newline$fs_key="}
    fs_value=${fs_value%%"$fs_newline"*}
    fs_judge
}
# fs_service TITLE: the environment of our own running program of that process title, as
# /proc tells it; of several the first that has the variable.
fs_service() {
    [ -r /proc/self/environ ] || { fs_rule unknown "no /proc on this host" && return; }
    fs_detail="none runs"
    for fs_running in $(grep -lsa "^$1" /proc/[0-9]*/cmdline); do
        fs_show_environment "${fs_running%/cmdline}" || continue
        fs_detail=
        case $fs_shown in
        *"$fs_newline$fs_key="*) fs_judge_shown && return ;;
        esac
    done
}
