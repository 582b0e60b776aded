"""A PostgreSQL of our own: started in a temporary directory, gone with the tests."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from glob import glob
from pathlib import Path

with suppress(ImportError):
    import pwd  # not on Windows


def program(name: str) -> str | None:
    """A program of PostgreSQL; Debian keeps them out of the path."""
    found = shutil.which(name) or max(glob(f"/usr/lib/postgresql/*/bin/{name}"), default=None)
    return found and os.path.realpath(found)


def user() -> str | None:
    """Who runs the server, which refuses to run as root; None for the user of the tests."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return None
    known = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in known else "nobody"


@dataclass(frozen=True)
class Server:
    """A server in a directory that holds its data, its log and its socket."""

    directory: Path

    @property
    def address(self) -> str:
        return f"postgresql://dampen@/postgres?host={self.directory}"

    def initialise(self) -> None:
        self._run("initdb", "-A", "trust", "-U", "dampen", "--no-sync", "-E", "UTF8", "--locale=C")

    def start(self, *settings: str) -> None:
        wanted = ["listen_addresses=", "max_connections=60", *settings]
        options = f"-k {self.directory} " + " ".join(f"-c {each}" for each in wanted)
        self._run("pg_ctl", "-o", options, "-l", str(self.directory / "log"), "-w", "start")

    def stop(self) -> None:
        self._run("pg_ctl", "-m", "immediate", "stop")

    def new_schema(self) -> str:
        """The address of a schema of its own."""
        import psycopg

        with psycopg.connect(self.address, autocommit=True) as connection:
            found = connection.execute("SELECT count(*) FROM pg_namespace").fetchone()
            assert found is not None
            name = f"ledger{found[0]}"
            connection.execute(f"CREATE SCHEMA {name}")
        return f"{self.address}&options=-csearch_path%3D{name}"

    def _run(self, name: str, *arguments: str) -> None:
        command = [str(program(name)), "-D", str(self.directory / "data"), *arguments]
        subprocess.run(
            command, user=user(), cwd=self.directory, check=True, stdout=subprocess.DEVNULL
        )


@contextmanager
def running() -> Iterator[Server]:
    """A new server."""
    directory = Path(tempfile.mkdtemp(prefix="pg", dir="/tmp"))  # short: it holds a socket
    if (who := user()) is not None:
        entry = pwd.getpwnam(who)
        os.chown(directory, entry.pw_uid, entry.pw_gid)
    server = Server(directory)
    try:
        server.initialise()
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(directory, ignore_errors=True)
