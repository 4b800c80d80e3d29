"""Takes members out of package archives (wheels, npm tarballs) without installing or importing anything.

usage: unpack.py OUTPUT PATTERN ARCHIVE...
Each archive must hold exactly one file whose name matches PATTERN (as in a shell); their contents are written to
OUTPUT one after the other, in the order of the archives.
"""

import shutil
import sys
import tarfile
import zipfile
from fnmatch import fnmatchcase


def only_match(archive, names, pattern):
    matches = [name for name in names if fnmatchcase(name, pattern)]
    if len(matches) != 1:
        sys.exit(f"{archive}: {len(matches)} members match {pattern}, expected one")
    return matches[0]


def copy_member(archive, pattern, output):
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as package:
            name = only_match(archive, package.namelist(), pattern)
            with package.open(name) as member:
                shutil.copyfileobj(member, output, 1 << 20)
        return
    with tarfile.open(archive) as package:
        name = only_match(archive, package.getnames(), pattern)
        member = package.extractfile(name)
        if member is None:
            sys.exit(f"{archive}: {name} is not a file")
        with member:
            shutil.copyfileobj(member, output, 1 << 20)


def main():
    output, pattern, *archives = sys.argv[1:]
    with open(output, "wb") as file:
        for archive in archives:
            copy_member(archive, pattern, file)


if __name__ == "__main__":
    main()
