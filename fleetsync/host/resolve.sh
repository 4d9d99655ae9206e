# A value that is a command is run, bounded, and what it prints is judged. Only what may
# run programs of the account sends these functions.

# fs_resolve_place NUMBER SECONDS KIND WHERE NAME: the verdict on what the command prints.
fs_resolve_place() {
    fs_number=$1
    shift
    fs_judge_printed "$@"
    fs_tell_place
}
# fs_judge_printed SECONDS KIND WHERE NAME: the verdict, and in fs_judged what was printed.
fs_judge_printed() {
    fs_allowed=$1
    shift
    fs_judge_place "$@"
    case $fs_judged in
    '!'*) fs_obey "${fs_judged#?}" ;;
    *) [ -z "$fs_judged" ] || fs_rule unknown "no command stands there any more" ;;
    esac
}
# fs_obey TEXT: run it as a shell's command in the login shell's environment. The text may
# hold a secret: it travels in the environment and is never a word of a command.
fs_obey() {
    fs_form=printed fs_note='' fs_judged=''
    fs_login_flag
    FS_TEXT=$1
    FS_IN="fs_mark=$FS
$fs_obeying"
    export FS_IN FS_TEXT
    fs_said=$(
        fs_bounded "$fs_allowed" "$fs_shell" "$fs_flag" "$fs_in_shell" | head -c 65536
        echo .
    )
    unset FS_IN FS_TEXT
    case $fs_said in
    *"$fs_newline@@$FS ="*"$fs_newline@@$FS . "*) fs_judge_output ;;
    *"$fs_newline@@$FS ="*) fs_rule empty "the command gave no answer in $fs_allowed seconds" ;;
    *) fs_rule unknown "the login shell gave no answer in $fs_allowed seconds" ;;
    esac
    [ "${#fs_said}" -le 65536 ] || fs_rule malformed "the command prints more than 64 KiB"
    fs_said=
}
fs_obeying='fs_text=$FS_TEXT
unset FS_IN FS_TEXT
printf "\n@@%s =\n" "$fs_mark"
(eval "$fs_text")
printf "\n@@%s . %s\n" "$fs_mark" "$?"'
fs_judge_output() {
    fs_value=${fs_said#*"$fs_newline@@$FS =$fs_newline"}
    fs_status=${fs_value##*"$fs_newline@@$FS . "}
    fs_value=${fs_value%"$fs_newline@@$FS . "*}
    fs_value=${fs_value%"$fs_newline"}
    fs_value=${fs_value%"$fs_return"}
    fs_status=${fs_status%%"$fs_newline"*}
    case $fs_status in
    0) fs_judge ;;
    *) fs_rule empty "the command failed (status $fs_status)" ;;
    esac
}
