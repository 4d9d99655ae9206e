# Places of a session or a desktop, asked of the programs that keep them. Each is bounded,
# and nothing is started that does not run yet.

# The user manager's environment (on macOS launchd's).
fs_manager() {
    if command -v launchctl >/dev/null; then
        fs_value=$(fs_bounded "$fs_patience" launchctl getenv "$fs_key")
        fs_value=${fs_value%"$fs_newline"}
        fs_rule unknown "the desktop's environment is not visible over ssh"
        [ -z "$fs_value" ] || fs_judge
        return
    fi
    command -v systemctl >/dev/null || { fs_rule unknown "no systemd on this host" && return; }
    fs_shown=$fs_newline$(fs_bounded "$fs_patience" env \
        "XDG_RUNTIME_DIR=${XDG_RUNTIME_DIR:-/run/user/$fs_uid}" \
        systemctl --user show-environment)
    case $fs_shown in
    *"$fs_newline$fs_key="*) fs_judge_shown ;;
    *=*) ;;
    *) fs_rule unknown "the user manager is not reachable" ;;
    esac
}
# An item called fs_key in the session's keyring. Its value is never asked for, which is why
# this prompts for nothing. Asking a keyring that does not run would start one.
fs_keyring() {
    if command -v security >/dev/null; then
        fs_keychain
    elif ! command -v gdbus >/dev/null; then
        fs_rule unknown "no keyring on this host"
    elif [ -z "${DBUS_SESSION_BUS_ADDRESS-}" ] && [ ! -S "/run/user/$fs_uid/bus" ]; then
        fs_rule unknown "no session bus, and so no keyring, in reach of this session"
    else
        case $(fs_call_bus DBus /org/freedesktop/DBus DBus.NameHasOwner \
            org.freedesktop.secrets) in
        '(true,)'*) fs_search_keyring ;;
        *) fs_rule unknown "no keyring runs" ;;
        esac
    fi
}
fs_call_bus() {
    fs_bounded "$fs_patience" env \
        "DBUS_SESSION_BUS_ADDRESS=${DBUS_SESSION_BUS_ADDRESS:-unix:path=/run/user/$fs_uid/bus}" \
        gdbus call --session -d "org.freedesktop.$1" -o "$2" -m "org.freedesktop.$3" "$4"
}
# Items have attributes, and the names of these differ with who made the item.
fs_search_keyring() {
    for fs_attribute in service username; do
        case $(fs_call_bus secrets /org/freedesktop/secrets Secret.Service.SearchItems \
            "{'$fs_attribute': '$fs_key'}") in
        '([o'*) fs_rule resolves "its value was not looked at" && return ;;
        '(@ao [], [o'*) fs_rule unreadable "present but locked: only a desktop can unlock it" ;;
        '(@ao [], @ao [])'*) ;;
        *) fs_rule unknown "the keyring gave no answer" ;;
        esac
    done
}
fs_keychain() {
    case $(fs_bounded "$fs_patience" security find-generic-password -s "$fs_key") in
    *'keychain: '*) fs_rule unreadable "present; the keychain is locked for ssh" ;;
    esac
}
# The user's environment of the Windows above. Programs of Windows can hang for a session
# that sshd started.
fs_windows() {
    fs_interop=
    for fs_path in /proc/sys/fs/binfmt_misc/WSLInterop*; do
        [ ! -e "$fs_path" ] || fs_interop=yes
    done
    [ -n "$fs_interop" ] || return
    fs_reg=$(command -v reg.exe) || fs_reg=/mnt/c/Windows/System32/reg.exe
    # All of it is asked for: of a value that is missing nothing is told, as of a hang.
    fs_shown=$(fs_bounded "$fs_patience" "$fs_reg" query 'HKCU\Environment')
    case $fs_shown in
    *"$fs_newline    $fs_key    REG_"*)
        fs_value=${fs_shown#*"$fs_newline    $fs_key    REG_"}
        fs_value=${fs_value%%"$fs_newline"*}
        fs_value=${fs_value%"$fs_return"}
        fs_value=${fs_value#*SZ    } && fs_judge
        ;;
    *HKEY_CURRENT_USER*) ;;
    *) fs_rule unknown "the Windows environment is not reachable from this session" ;;
    esac
}
# What systemd gave the service that this session belongs to, if it belongs to one.
fs_credentials() {
    case ${CREDENTIALS_DIRECTORY-} in
    /*) fs_form='file' && fs_files "${CREDENTIALS_DIRECTORY%/}/$fs_key" ;;
    esac
}
