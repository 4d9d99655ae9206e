# Run pytest on the newest Python that starts here (with FLEETSYNC_MATRIX=full on every one
# from 3.12 on), each in an environment of its own.
# usage: test-pythons.sh PYTHON-OF-THE-MAIN-ENVIRONMENT PYTEST-ARGUMENT...
# shellcheck shell=sh
set -eu
main=$1
shift

candidates() {
    for minor in 16 15 14 13 12; do
        echo "python3.$minor"
    done
    if command -v pyenv >/dev/null; then
        ls -d "$(pyenv root)"/versions/3.*/bin/python3 2>/dev/null | sort -rV
    fi
}

# A shim that starts nothing, a build without venv, a free-threaded or unfinished one: passed over.
minor_of() {
    "$1" -c '
import ensurepip, sys, sysconfig
v = sys.version_info
usable = v >= (3, 12) and v.releaselevel == "final" and not sysconfig.get_config_var("Py_GIL_DISABLED")
print(f"3.{v.minor}" if usable else "")' 2>/dev/null || :
}

done=" $(minor_of "$main") "
for python in $(candidates); do
    minor=$(minor_of "$python")
    case $minor:$done in :* | *" $minor "*) continue ;; esac
    done="$done$minor "
    venv=.venvs/$minor
    if ! [ "$venv/.locked" -nt requirements.lock ]; then
        rm -rf "$venv"
        "$python" -m venv "$venv"
        "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
        touch "$venv/.locked"
    fi
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
    echo "== Python $minor"
    "$venv/bin/python" -m pytest -n 2 --dist worksteal -q -p no:cacheprovider "$@"
    [ "${FLEETSYNC_MATRIX-}" = full ] || break
done
