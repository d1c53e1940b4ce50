"""Paths and URIs of files that tasks on any machine write and read, as Arrow sees them."""

from __future__ import annotations

import re

import pyarrow as pa
from pyarrow import fs

from queries.errors import RunError

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


def opened(path: str) -> tuple[fs.FileSystem, str]:
    """The file system of a path or URI, and the path in it."""
    if not _URI.match(path):
        return fs.LocalFileSystem(), path
    try:
        found: tuple[fs.FileSystem, str] = fs.FileSystem.from_uri(path)
    except (pa.ArrowException, OSError, ImportError) as error:
        raise RunError(
            f"{path} cannot be opened: {str(error).splitlines()[0]}",
            hint="give a path, or a URI of a file system that Arrow knows: file, hdfs, s3, gs, abfs",
        ) from error
    return found


def remove_folder(folder: str) -> None:
    """With everything in it; a folder that is not there is fine."""
    system, path = opened(folder)
    if system.get_file_info(path).type != fs.FileType.NotFound:
        system.delete_dir(path)


def subfolders(folder: str) -> list[str]:
    """The names of the folders in a folder, none if it is not there."""
    system, path = opened(folder)
    found = system.get_file_info(fs.FileSelector(path, allow_not_found=True))
    return sorted(info.base_name for info in found if info.type == fs.FileType.Directory)
