# What is left of a run whose answer was lost: its processes by their tag, its scratch
# directory by its name. Needs bounded.sh.

# fs_where: the directory in which scratch directories are made.
fs_where() {
    fs_find_rooms
    fs_say WHERE "$fs_rooms"
}
# fs_settle RUN: end what lives of it, remove its directory, and say what there was:
# processes ended, whether there was a directory (0 or 1), processes that are still there.
fs_settle() {
    fs_run=$1 fs_child='' fs_had=0
    fs_sweep
    fs_find_rooms
    fs_room=$fs_rooms/fleetsync-$1
    # A link of that name is somebody else's: only a directory of our own is removed.
    if [ -d "$fs_room" ] && [ ! -L "$fs_room" ] && [ -O "$fs_room" ]; then
        fs_had=1
        rm -rf "$fs_room"
    fi
    fs_say SETTLED "$fs_swept" "$fs_had" "$(fs_tagged | grep -c .)"
}
