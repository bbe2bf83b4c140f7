"""Calls on a network folder by libsmbclient, as Nautilus and Dolphin make them: a line of JSON for each call and for each answer."""
import ctypes
import errno
import json
import os
import sys
from ctypes import POINTER, c_char, c_char_p, c_int, c_int64, c_size_t, c_ssize_t, c_uint, c_void_p
from urllib.parse import quote

library = ctypes.CDLL("libsmbclient.so.0", use_errno=True)
AUTH = ctypes.CFUNCTYPE(None, c_char_p, c_char_p, c_void_p, c_int, c_void_p, c_int, c_void_p, c_int)
FOLDER = 7


class Entry(ctypes.Structure):
    _fields_ = [("kind", c_uint), ("length", c_uint), ("comment_length", c_uint), ("comment", c_char_p),
                ("name_length", c_uint), ("name", c_char * 1)]


def function(name, result, *arguments):
    of_library = getattr(library, f"smbc_{name}")
    of_library.restype, of_library.argtypes = result, arguments

    def call(*given):
        found = of_library(*given)
        if isinstance(found, int) and found < 0:
            raise OSError(ctypes.get_errno(), name)
        return found
    return call


auth = AUTH(lambda *_: None)
function("init", c_int, AUTH, c_int)(auth, 0)
smb_open, smb_close = function("open", c_int, c_char_p, c_int, c_int), function("close", c_int, c_int)
smb_read, smb_write = (function(name, c_ssize_t, c_int, c_char_p, c_size_t) for name in ("read", "write"))
smb_seek, smb_truncate = function("lseek", c_int64, c_int, c_int64, c_int), function("ftruncate", c_int, c_int, c_int64)
smb_stat = function("stat", c_int, c_char_p, c_char_p)
smb_opendir, smb_closedir = function("opendir", c_int, c_char_p), function("closedir", c_int, c_int)
smb_readdir = function("readdir", POINTER(Entry), c_uint)
smb_mkdir, smb_rename = function("mkdir", c_int, c_char_p, c_int), function("rename", c_int, c_char_p, c_char_p)
smb_unlink, smb_rmdir = function("unlink", c_int, c_char_p), function("rmdir", c_int, c_char_p)


def url(path):
    return f"{sys.argv[1]}/{quote(path)}".encode()


def opened(path, flags, work):
    handle = smb_open(url(path), flags, 0o666)
    try:
        done = work(handle)
    except OSError:
        smb_close(handle)
        raise
    smb_close(handle)
    return done


def write(path, flags, at, text):
    def work(handle):
        data = bytes.fromhex(text)
        smb_seek(handle, at, os.SEEK_SET)
        while data:
            data = data[smb_write(handle, data, len(data)):]
    opened(path, flags, work)


def read(path):
    def work(handle):
        data, block = b"", ctypes.create_string_buffer(65_536)
        while count := smb_read(handle, block, len(block)):
            data += block.raw[:count]
        return data.hex()
    return opened(path, os.O_RDONLY, work)


def stat(path):
    """`st_size` as 64-bit Linux has it."""
    found = ctypes.create_string_buffer(1_024)
    smb_stat(url(path), found)
    return int.from_bytes(found.raw[48:56], sys.byteorder)


def rows(path):
    handle, found = smb_opendir(url(path)), []
    while entry := smb_readdir(handle):
        name = ctypes.string_at(ctypes.addressof(entry.contents) + Entry.name.offset).decode()
        found.append([name, entry.contents.kind == FOLDER])
    smb_closedir(handle)
    return [row for row in found if row[0] not in (".", "..")]


def unlink(path):
    """The library would remove an empty folder, too."""
    try:
        smb_closedir(smb_opendir(url(path)))
    except OSError:
        return smb_unlink(url(path))
    raise OSError(errno.EISDIR, path)


CALLS = {
    "mkdir": lambda path: smb_mkdir(url(path), 0o777),
    "unlink": unlink,
    "rmdir": lambda path: smb_rmdir(url(path)),
    "rename": lambda old, new: smb_rename(url(old), url(new)),
    "truncate": lambda path, length: opened(path, os.O_WRONLY, lambda handle: smb_truncate(handle, length)),
    "create": lambda path, text: write(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0, text),
    "change": lambda path, at, text: write(path, os.O_WRONLY, at, text),
    "read": read,
    "stat": stat,
    "rows": rows,
}
for line in sys.stdin:
    name, *given = json.loads(line)
    try:
        answer = {"done": CALLS[name](*given)}
    except OSError as error:
        answer = {"errno": error.errno}
    print(json.dumps(answer), flush=True)
