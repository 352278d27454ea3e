"""The least of a Linux system that shell scripts need, copied from this machine with the libraries it takes.

Programs that this machine lacks are missing there as well.
"""

import shutil
from pathlib import Path

from tests.devcluster import libraries
from tests.devcluster.images import Entry, Tree

PROGRAMS = """
sh bash awk cmp diff find getent grep gzip hostname kill ps sed setsid tar which xargs
[ base64 basename cat chmod chown comm cp cut date dd df dirname du echo env expr false head id ln ls md5sum
mkdir mkfifo mktemp mv nproc od paste printenv printf pwd readlink realpath rm rmdir seq sha256sum sleep sort
split stat stdbuf stty sync tail tee test timeout touch tr true truncate tty uname uniq wc whoami yes
"""
FOLDERS = "/usr/bin:/bin:/usr/sbin:/sbin"
EMPTY = ("dev", "home", "opt", "proc", "run", "sys", "usr/lib64", "usr/sbin")
# Links as in today's distributions; libraries are at their real paths behind them.
MERGED = {name: Entry(target=f"usr/{name}") for name in ("bin", "sbin", "lib", "lib64")}
USER = 1000
PASSWD = f"""\
root:x:0:0:root:/root:/bin/sh
flux:x:{USER}:{USER}:flux:/home/flux:/bin/sh
nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin
"""
GROUP = f"""\
root:x:0:
flux:x:{USER}:
nogroup:x:65534:
"""


def inputs() -> list[Path]:
    """Return the files that this is made of."""
    return list(found().values())


def found() -> dict[str, Path]:
    """Find the programs that this machine has."""
    paths = {name: shutil.which(name, path=FOLDERS) for name in PROGRAMS.split()}
    return {name: Path(path).resolve() for name, path in paths.items() if path}


def tree() -> Tree:
    """Return shell and tools, a user 1000 besides root, and an open /tmp."""
    loaded = libraries.needed(sorted(set(found().values())))
    programs = {f"usr/bin/{name}": Entry(source=path) for name, path in found().items()}
    return {
        **dict.fromkeys(EMPTY, Entry()),
        **MERGED,
        **programs,
        **libraries.at_home([*loaded.values(), *libraries.whole_glibc(loaded)]),
        "etc/passwd": text(PASSWD),
        "etc/group": text(GROUP),
        "etc/nsswitch.conf": text("passwd: files\ngroup: files\nhosts: files dns\n"),
        "home/flux": Entry(mode=0o755, owner=USER),
        "root": Entry(mode=0o700),
        "tmp": Entry(mode=0o1777),
        "var/tmp": Entry(mode=0o1777),
    }


def text(content: str) -> Entry:
    """Write a file that everybody may read."""
    return Entry(content=content.encode(), mode=0o644)
