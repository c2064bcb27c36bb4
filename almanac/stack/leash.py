"""Runs a command that dies with its parent: ``python leash.py SIGNAL PARENT [--as-owner] -- COMMAND …``.

On Linux the kernel sends SIGNAL to the command when the thread that started it ends, however it ends; PARENT
is the process id of that thread's process, so that a parent that has ended already is noticed.
``--as-owner`` is for PostgreSQL, which refuses to run as root: the command gets a user namespace in which
root's own id has another number, so that it runs as the owner of its files, with no privilege and with no
account to be made. Standard library only: it is the price of every start.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1
CLONE_NEWUSER = 0x10000000
INSIDE_ID = 1000


def disown_root(libc: ctypes.CDLL) -> None:
    """Enter a user namespace where the current user is not called 0 (user_namespaces(7))."""
    uid, gid = os.getuid(), os.getgid()
    if libc.unshare(CLONE_NEWUSER) != 0:
        sys.exit("PostgreSQL does not run as root and this kernel lends no user namespace: "
                 "start Almanac as another user, or set ALMANAC_DATABASE_URL")
    for file, line in (("setgroups", "deny"), ("uid_map", f"{INSIDE_ID} {uid} 1"),
                       ("gid_map", f"{INSIDE_ID} {gid} 1")):
        with open(f"/proc/self/{file}", "w") as table:
            table.write(line)


def main(arguments: list[str]) -> None:
    options, command = arguments[: arguments.index("--")], arguments[arguments.index("--") + 1 :]
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        if "--as-owner" in options and os.geteuid() == 0:
            disown_root(libc)
        libc.prctl(PR_SET_PDEATHSIG, signal.Signals[options[0]].value)
        if os.getppid() != int(options[1]):  # it ended before the kernel was told
            sys.exit(1)
    os.execvp(command[0], command)  # noqa: S606


if __name__ == "__main__":
    main(sys.argv[1:])
