"""Outrider's plugin host for Python: calls shared libraries in sandboxed processes of their own.

    with Host() as host, host.load("libz.so.1", policy="computation") as zlib:
        print(zlib.call("crc32", "u64(u64,bytes,u32)", 0, b"hello", 5).value)

Needs liboutrider.so.1 (docs/embedding-c.md): found by the system's loader, or named in OUTRIDER_LIBRARY.
"""

import ctypes
import json
import os
from ctypes import POINTER, Structure, Union, byref, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p

ABI_VERSION = 1
ENDED, MISSING, USAGE, INPUT, FAILED = 1, 18, 64, 66, 70
_NULL, _SIGNED, _UNSIGNED, _DOUBLE, _TEXT, _BYTES, _HANDLE, _LIST = range(8)


class _Content(Union):
    _fields_ = [("signed", c_int64), ("unsigned", c_uint64), ("double", c_double), ("data", c_void_p)]


class _Value(Structure):
    _anonymous_ = ["content"]
    _fields_ = [("kind", c_int32), ("reserved", c_int32), ("content", _Content), ("count", c_size_t)]


def _open():
    library = ctypes.CDLL(os.environ.get("OUTRIDER_LIBRARY", "liboutrider.so.1"))
    error = POINTER(c_void_p)
    for name, result, arguments in [
        ("abi_version", c_uint32, []),
        ("text_free", None, [c_void_p]),
        ("host_new", c_void_p, [c_char_p, error]),
        ("host_free", None, [c_void_p]),
        ("load", c_int, [c_void_p, c_char_p, c_char_p, POINTER(c_void_p), error]),
        ("call", c_int, [c_void_p, c_char_p, c_char_p, POINTER(_Value), c_size_t, c_double, POINTER(c_void_p), error]),
        ("reply_value", _Value, [c_void_p]),
        ("reply_output_count", c_size_t, [c_void_p]),
        ("reply_output", _Value, [c_void_p, c_size_t]),
        ("reply_free", None, [c_void_p]),
        ("plugin_report", c_void_p, [c_void_p]),
        ("plugin_free", None, [c_void_p]),
    ]:
        function = getattr(library, "outrider_" + name)
        function.restype, function.argtypes = result, arguments
    if library.outrider_abi_version() != ABI_VERSION:
        raise ImportError(f"liboutrider has ABI {library.outrider_abi_version()}, and this module is for {ABI_VERSION}")
    return library


_library = _open()


def _text(pointer):
    if not pointer.value:
        return ""
    text = ctypes.string_at(pointer.value).decode(errors="replace")
    _library.outrider_text_free(pointer)
    return text


class OutriderError(Exception):
    """What a host couldn't do, or was asked wrongly. `status` is one of this module's constants."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


class PluginEnded(OutriderError):
    """The plugin's process has ended: it crashed, exceeded a limit, or broke its policy. `Plugin.report()` says how."""


def _check(status, error):
    message = _text(error)
    if status:
        raise (PluginEnded if status == ENDED else OutriderError)(status, message)


class Handle(int):
    """Something that a plugin returned as `handle`; it is passed back to the same plugin."""


class Reply:
    """What a call brought: `value`, and `outputs` in their order."""

    def __init__(self, value, outputs):
        self.value, self.outputs = value, outputs


class Plugin:
    """A loaded library. Calls of it take turns; other threads go on meanwhile."""

    def __init__(self, pointer):
        self._pointer = pointer

    def call(self, symbol, signature, *arguments, within=0.0):
        """Calls a function; `within`: the seconds that it may take, where that is less than the policy's limit."""
        kept = []
        values = (_Value * max(len(arguments), 1))(*[_value(argument, kept) for argument in arguments])
        reply, error = c_void_p(), c_void_p()
        _check(
            _library.outrider_call(
                self._pointer, symbol.encode(), signature.encode(), values, len(arguments), within, byref(reply), byref(error)),
            error)
        try:
            count = _library.outrider_reply_output_count(reply)
            return Reply(
                _python(_library.outrider_reply_value(reply)),
                [_python(_library.outrider_reply_output(reply, index)) for index in range(count)])
        finally:
            _library.outrider_reply_free(reply)

    def report(self):
        """Ends the plugin, unless it has ended, and returns everything that is known about its run."""
        pointer = c_void_p(_library.outrider_plugin_report(self._pointer))
        if not pointer.value:
            raise OutriderError(USAGE, "the plugin was closed")
        return json.loads(_text(pointer))

    def close(self):
        _library.outrider_plugin_free(self._pointer)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Host:
    """Runs plugins. `runner`: the path of outrider-runner, where it doesn't lie beside liboutrider."""

    def __init__(self, runner=None):
        error = c_void_p()
        self._pointer = _library.outrider_host_new(runner.encode() if runner else None, byref(error))
        if not self._pointer:
            raise OutriderError(FAILED, _text(error))

    def load(self, library, policy=None):
        """Loads a path or a system library's name; `policy`: a shipped policy's name, or the text of a policy file."""
        plugin, error = c_void_p(), c_void_p()
        _check(
            _library.outrider_load(
                self._pointer, os.fspath(library).encode(), policy.encode() if policy else None, byref(plugin), byref(error)),
            error)
        return Plugin(plugin)

    def close(self):
        _library.outrider_host_free(self._pointer)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def _value(argument, kept):
    """`kept`: what the value points to, for as long as the call."""
    value = _Value()
    if argument is None:
        value.kind = _NULL
    elif isinstance(argument, Handle):
        value.kind, value.unsigned = _HANDLE, argument
    elif isinstance(argument, int):
        if argument < 0:
            value.kind, value.signed = _SIGNED, argument
        else:
            value.kind, value.unsigned = _UNSIGNED, argument
    elif isinstance(argument, float):
        value.kind, value.double = _DOUBLE, argument
    elif isinstance(argument, (str, bytes, bytearray, memoryview)):
        data = argument.encode() if isinstance(argument, str) else bytes(argument)
        kept.append(data)
        value.kind, value.count = _BYTES, len(data)
        value.data = ctypes.cast(c_char_p(data), c_void_p)
    elif isinstance(argument, (list, tuple)):
        items = (_Value * max(len(argument), 1))(*[_value(item, kept) for item in argument])
        kept.append(items)
        value.kind, value.count = _LIST, len(argument)
        value.data = ctypes.cast(items, c_void_p)
    else:
        raise TypeError(f"{type(argument).__name__} can't be an argument of a plugin's function")
    return value


def _python(value):
    if value.kind == _SIGNED:
        return value.signed
    if value.kind == _UNSIGNED:
        return value.unsigned
    if value.kind == _DOUBLE:
        return value.double
    if value.kind in (_TEXT, _BYTES):
        data = ctypes.string_at(value.data, value.count) if value.count else b""
        return data.decode(errors="replace") if value.kind == _TEXT else data
    if value.kind == _HANDLE:
        return Handle(value.unsigned)
    if value.kind == _LIST:
        items = ctypes.cast(value.data, POINTER(_Value))
        return [_python(items[index]) for index in range(value.count)]
    return None
