# Install the system programs that the tests run, or name the missing ones.
# shellcheck shell=sh
set -eu
PATH=$PATH:/usr/sbin:/sbin

# Debian's sshd starts only where this is, and only systemd makes it.
[ "$(id -u)" -ne 0 ] || mkdir -p /run/sshd

missing=
for pair in sshd=openssh-server ssh=openssh-client zsh=zsh fish=fish tcsh=tcsh \
    busybox=busybox unshare=util-linux; do
    command -v "${pair%%=*}" >/dev/null || missing="$missing ${pair#*=}"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    echo "the tests need these packages:$missing" >&2
    exit 1
fi
export DEBIAN_FRONTEND=noninteractive
# An old list of packages names files that are gone, so it is fetched again.
apt-get -qq update
# shellcheck disable=SC2086 # one word for each package
apt-get -qq install -y --no-install-recommends $missing
