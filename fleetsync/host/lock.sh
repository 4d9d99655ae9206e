# One transaction at a time on one state directory: numbered symbolic links.
# The highest lock.N is the holder and names its owner; `ln -s` makes it whole or not at
# all. Take N+1 when N is free or dead; release by a free N+1; the highest is never
# deleted, so nobody can take a number twice. The clock on the wall plays no part.

# fs_process PID: its start time in fs_started. A zombie is not alive: it answers to
# kill -0, with the right start time, until somebody reaps it.
fs_process() {
    fs_started=
    fs_is_pid "$1" || return 1
    if [ -r /proc/self/stat ]; then
        [ -r "/proc/$1/stat" ] && read -r fs_line <"/proc/$1/stat" || return 1
        # The command name may hold spaces and brackets: what counts follows the last one.
        set -- ${fs_line##*\)}
        case $1 in
        Z | X) return 1 ;;
        esac
        fs_started=${20}
    else
        case $(ps -o stat= -p "$1") in
        '' | Z*) return 1 ;;
        esac
        fs_started=$(ps -o lstart= -p "$1" | tr -cd 0-9A-Za-z)
    fi
    [ -n "$fs_started" ]
}
# Who we are, in words that mean nothing to another host, boot or PID namespace.
fs_name_owner() {
    fs_boot=unknown
    if [ -r /proc/sys/kernel/random/boot_id ]; then
        read -r fs_boot </proc/sys/kernel/random/boot_id
    else
        fs_line=$(sysctl -n kern.bootsessionuuid || sysctl -n kern.boot_id) && fs_boot=$fs_line
    fi
    fs_host=$(uname -n)
    fs_namespace=$(readlink /proc/self/ns/pid) || fs_namespace=none
    fs_namespace=${fs_namespace##*\[}
    fs_namespace=${fs_namespace%\]}
    fs_process "$$"
    fs_owner=$$:$fs_started:$fs_boot:$FS:$fs_host:$fs_namespace
}
# fs_lives OWNER: whether it may still be at work. From another host or PID namespace
# that cannot be known, so such an owner counts as living.
fs_lives() {
    IFS=:
    set -- $1
    IFS=$fs_ifs
    [ "$5" = "$fs_host" ] && [ "$6" = "$fs_namespace" ] || return 0
    [ "$3" = "$fs_boot" ] && fs_process "$1" && [ "$fs_started" = "$2" ]
}
# The highest number in fs_top (0: none), what it names in fs_holder. We write no number
# with a leading 0, and none that arithmetic could not hold.
fs_highest() {
    fs_top=0
    fs_holder=free
    for fs_link in "$fs_state"/lock.*; do
        fs_number=${fs_link##*.}
        case $fs_number in
        '' | *[!0-9]* | 0* | ????????????????*) continue ;;
        esac
        [ "$fs_number" -le "$fs_top" ] || fs_top=$fs_number
    done
    [ "$fs_top" = 0 ] || fs_holder=$(readlink "$fs_state/lock.$fs_top")
}
# fs_lock: take it, or tell who holds it after waiting fs_patience seconds.
fs_lock() {
    fs_name_owner
    fs_waited=0
    while :; do
        fs_highest
        if [ "$fs_holder" = free ] || ! fs_lives "$fs_holder"; then
            fs_take && return
            # Nobody was faster: it is no other run that is in the way.
            [ "$fs_top" -ge "$fs_next" ] || { fs_problem state - "$fs_state"; return 1; }
        fi
        if [ "$fs_waited" -ge "$((fs_patience * 10))" ]; then
            fs_problem locked - "$fs_holder"
            return 1
        fi
        fs_tick
        fs_waited=$((fs_waited + 1))
    done
}
# fs_take: the number after the highest, named by fs_mine from when it is ours: whoever
# was slower must release nothing.
fs_take() {
    fs_next=$((fs_top + 1))
    if ln -s "$fs_owner" "$fs_state/lock.$fs_next" && fs_won; then
        fs_mine=$fs_next
    else
        fs_highest
        return 1
    fi
}
# A slow taker can make a number that was used and deleted: then a higher one stands.
fs_won() {
    fs_highest
    if [ "$fs_top" != "$fs_next" ]; then
        rm -f "$fs_state/lock.$fs_next"
        return 1
    fi
    for fs_link in "$fs_state"/lock.*; do
        [ "$fs_link" = "$fs_state/lock.$fs_next" ] || rm -f "$fs_link"
    done
    return 0    # whatever could not be removed: the highest counts
}
fs_unlock() {
    ln -s free "$fs_state/lock.$((fs_mine + 1))" && rm -f "$fs_state/lock.$fs_mine"
}
