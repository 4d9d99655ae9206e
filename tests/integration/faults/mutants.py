"""Defects that the suite must find: what stands in our scripts, and what stands there instead."""

from __future__ import annotations

MUTANTS: dict[str, tuple[tuple[str, str], ...]] = {
    "rename replaced by cp": (('*) mv -f "$1" "$fs_real" ;;', '*) cp "$1" "$fs_real" ;;'),),
    "compare removed": (('fs_holds "$fs_real" "$2" || return 1\n', ""),),
}
