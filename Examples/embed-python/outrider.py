"""Outrider's plugin host for Python: calls shared libraries in sandboxed processes of their own.

    with Host() as host, host.load("libz.so.1", policy="computation") as zlib:
        print(zlib.call("crc32", "u64(u64,bytes,u32)", 0, b"hello", 5).value)

Needs liboutrider.so.1 (docs/embedding-c.md): found by the system's loader, or named in OUTRIDER_LIBRARY.
"""

import atexit
import ctypes
import itertools
import json
import os
import re
import weakref
from ctypes import POINTER, Structure, Union, byref, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p

ABI_VERSION = 1
ENDED, MISSING, USAGE, INPUT, FAILED = 1, 18, 64, 66, 70
_NULL, _SIGNED, _UNSIGNED, _DOUBLE, _TEXT, _BYTES, _HANDLE, _LIST, _MEMORY, _CALLBACK, _ROOM = range(11)
_CUT = 1


class _Content(Union):
    _fields_ = [("signed", c_int64), ("unsigned", c_uint64), ("double", c_double), ("data", c_void_p)]


class _Value(Structure):
    _anonymous_ = ["content"]
    _fields_ = [("kind", c_int32), ("reserved", c_int32), ("content", _Content), ("count", c_size_t)]


_Function = ctypes.CFUNCTYPE(c_int, c_void_p, POINTER(_Value), c_size_t, POINTER(_Value))


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
        ("handle_release", c_int, [c_void_p, c_uint64, error]),
        ("allocate", c_int, [c_void_p, c_size_t, POINTER(c_void_p), error]),
        ("write", c_int, [c_void_p, c_size_t, c_char_p, c_size_t, error]),
        ("read", c_int, [c_void_p, c_size_t, c_void_p, c_size_t, error]),
        ("memory_free", None, [c_void_p]),
        ("register", c_int, [c_void_p, c_char_p, _Function, c_void_p, POINTER(c_void_p), error]),
        ("callback_free", None, [c_void_p]),
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

    def __reduce__(self):
        # Exception would make it anew of its message alone.
        return type(self), (self.status, str(self)), self.__dict__


class PluginEnded(OutriderError):
    """The plugin's process has ended: it crashed, exceeded a limit, or broke its policy. `Plugin.report()` says how."""


class TextError(OutriderError):
    """A text of the plugin's that is no str: it isn't UTF-8, or is longer than the 64 KiB that are read. `data` has its bytes."""

    data = b""


def _check(status, error):
    message = _text(error)
    if status:
        raise (PluginEnded if status == ENDED else OutriderError)(status, message)


def _name(text, what):
    """For a function that takes text up to the first NUL."""
    data = os.fsencode(text) if what == "a path" else text.encode()
    if b"\0" in data:
        raise ValueError(f"{what} can't have a NUL: {text!r}")
    return data


def _size(number, what):
    """ctypes would cut what has more than 64 bits."""
    if not 0 <= number < 1 << 64:
        raise ValueError(f"{what} can't be {number}")
    return number


def _bytes(data):
    """bytes(5) would be five zeros."""
    return bytes(data if isinstance(data, (list, tuple)) else memoryview(data))


class Handle(int):
    """Something that a plugin returned as `handle`; it is passed back to the same plugin."""


class Memory:
    """Memory within a plugin, all zeros, that stays between its calls (`Plugin.allocate`). As an argument it is its address; `at(16)`
    is that of its 17th byte."""

    def __init__(self, pointer, size):
        self._pointer, self.size = pointer, size

    def at(self, offset):
        return _Address(self, offset)

    def write(self, data, offset=0):
        data, error = _bytes(data), c_void_p()
        _check(_library.outrider_write(self._pointer, _size(offset, "an offset"), data, len(data), byref(error)), error)

    def read(self, count=None, offset=0):
        count = _size(self.size - offset if count is None else count, "a count")
        buffer, error = ctypes.create_string_buffer(max(count, 1)), c_void_p()
        _check(_library.outrider_read(self._pointer, _size(offset, "an offset"), buffer, count, byref(error)), error)
        return buffer.raw[:count]

    def close(self):
        _library.outrider_memory_free(self._pointer)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class _Address:
    def __init__(self, memory, offset):
        self.memory, self.offset = memory, _size(offset, "an offset")


_callbacks = weakref.WeakSet()


@atexit.register
def _wait_for_callbacks():
    # One that is still running, of a call whose time was over, needs the interpreter until it returns.
    for callback in list(_callbacks):
        callback.close()


# What functions raised, by the status that they returned: the call that was under way says it.
_raised, _statuses = {}, itertools.count(1)
_failed_with = re.compile(r"the callback failed with status (\d+)")


def _keep_raised(error):
    status = next(_statuses) % 0x7FFFFFFF + 1
    _raised[status] = error
    # Those of calls whose time was over: nobody asks for them any more.
    while len(_raised) > 64:
        del _raised[next(iter(_raised))]
    return status


class Callback:
    """A function of Python's that a plugin may call in any of its calls, until it is closed (`Plugin.register`), with the plugin at the
    latest."""

    def __init__(self, plugin, signature, function, raw=False):
        def called(_, arguments, count, result):
            try:
                self._answer(function, arguments, count, result)
                return 0
            except BaseException as error:  # It is raised by the call that is under way.
                return _keep_raised(error)

        self._plugin = weakref.ref(plugin)
        self._function, self._kept, self._raw = _Function(called), [], raw
        self._pointer, error = c_void_p(), c_void_p()
        # Held for as long as the plugin may call it, whatever becomes of the caller's reference.
        plugin._callbacks.add(self)
        try:
            _check(
                _library.outrider_register(
                    plugin._pointer, _name(signature, "a signature"), self._function, None, byref(self._pointer),
                    byref(error)), error)
        except BaseException:
            plugin._callbacks.discard(self)
            raise
        _callbacks.add(self)

    def _answer(self, function, arguments, count, result):
        rooms = [index for index in range(count) if arguments[index].kind == _ROOM]
        answer = function(*[_python(arguments[index], self._raw) for index in range(count)])
        parts = answer if rooms and isinstance(answer, tuple) else (answer, *[b"" for _ in rooms])
        if len(parts) != len(rooms) + 1:
            raise TypeError(f"a callback that fills {len(rooms)} arguments returns its result and {len(rooms)} more")
        self._kept = []
        for index, part in zip(rooms, parts[1:]):
            if not isinstance(part, (bytes, bytearray, memoryview)):
                # The library knows the type.
                arguments[index] = _value(part, self._kept)
                continue
            data = bytes(part)
            if len(data) > arguments[index].count:
                raise ValueError(f"{len(data)} bytes for argument {index}, which has room for {arguments[index].count}")
            ctypes.memmove(arguments[index].data, data, len(data))
            arguments[index].count = len(data)
        result[0] = _value(parts[0], self._kept)

    def close(self):
        _library.outrider_callback_free(self._pointer)
        plugin = self._plugin()
        if plugin is not None:
            plugin._callbacks.discard(self)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Reply:
    """What a call brought: `value`, and `outputs` in their order. A text that is no str is raised by `value` (TextError); `data` has the
    bytes of a text, of which 64 KiB are read."""

    def __init__(self, value, outputs, data=None):
        self._value, self.outputs, self.data = value, outputs, data

    @property
    def value(self):
        if isinstance(self._value, TextError):
            raise self._value
        return self._value


class Plugin:
    """A loaded library. Calls of it take turns; other threads go on meanwhile. It ends when it is closed, or with its last reference."""

    def __init__(self, pointer, host):
        # The host goes on for as long as one of its plugins is used.
        self._pointer, self._host = pointer, host
        # The functions that it may call. They outlive the end of its process, which waits for those that run.
        self._callbacks = set()
        self._end = weakref.finalize(self, _end, pointer, self._callbacks)

    def allocate(self, size):
        """Memory within the plugin."""
        memory, error = c_void_p(), c_void_p()
        _check(
            _library.outrider_allocate(self._pointer, _size(size, "memory of a size"), byref(memory), byref(error)), error)
        return Memory(memory, size)

    def register(self, signature, function, raw=False):
        """A function that the plugin may call, for example `i32(cstring,bytes(2),u64)`. For out(N) and `out T` it is given how many bytes
        it may have, and returns a tuple: its result, and what each gets, bytes or a T; None: nothing. NULL is None. A text that is no str
        is an error of the call (TextError); with `raw` it is given texts as bytes, of which 64 KiB are read."""
        return Callback(self, signature, function, raw)

    def release(self, handle):
        """Forgets a handle, of which at most 65,536 are held. The plugin isn't told: what it stands for has to be closed before."""
        if not isinstance(handle, Handle):
            raise TypeError(f"{type(handle).__name__} is no handle")
        error = c_void_p()
        _check(_library.outrider_handle_release(self._pointer, handle, byref(error)), error)

    def call(self, symbol, signature, *arguments, within=0.0):
        """Calls a function; `within`: the seconds that it may take, where that is less than the policy's limit."""
        kept = []
        values = (_Value * max(len(arguments), 1))(*[_value(argument, kept) for argument in arguments])
        reply, error = c_void_p(), c_void_p()
        status = _library.outrider_call(
            self._pointer, _name(symbol, "a function's name"), _name(signature, "a signature"), values, len(arguments), within,
            byref(reply), byref(error))
        if status:
            message = _text(error)
            failed = _failed_with.search(message) if status == FAILED else None
            raised = _raised.pop(int(failed[1]), None) if failed else None
            raise raised if raised is not None else (PluginEnded if status == ENDED else OutriderError)(status, message)
        try:
            count = _library.outrider_reply_output_count(reply)
            returned = _library.outrider_reply_value(reply)
            try:
                value = _python(returned)
            except TextError as error:
                value = error
            return Reply(
                value, [_python(_library.outrider_reply_output(reply, index)) for index in range(count)],
                _data(returned) if returned.kind == _TEXT else None)
        finally:
            _library.outrider_reply_free(reply)

    def report(self):
        """Ends the plugin, unless it has ended, and returns everything that is known about its run."""
        pointer = c_void_p(_library.outrider_plugin_report(self._pointer))
        if not pointer.value:
            raise OutriderError(USAGE, "the plugin was closed")
        return json.loads(_text(pointer))

    def close(self):
        self._end()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def _end(pointer, callbacks):
    _library.outrider_plugin_free(pointer)
    callbacks.clear()


def _path(path):
    """A pathlib.Path of "./x.so" is "x.so" as text, which would be the name of a system's library."""
    return os.path.abspath(path) if isinstance(path, os.PathLike) else path


class Host:
    """Runs plugins. `runner`: the path of outrider-runner, where it doesn't lie beside liboutrider. It ends when it is closed, or with the
    last reference to it and its plugins."""

    def __init__(self, runner=None):
        error = c_void_p()
        self._pointer = _library.outrider_host_new(
            None if runner is None else _name(_path(runner), "a path"), byref(error))
        if not self._pointer:
            raise OutriderError(FAILED, _text(error))
        self._end = weakref.finalize(self, _library.outrider_host_free, self._pointer)

    def load(self, library, policy=None):
        """Loads a path or a system library's name; `policy`: a shipped policy's name, or the text of a policy file."""
        plugin, error = c_void_p(), c_void_p()
        _check(
            _library.outrider_load(
                self._pointer, _name(_path(library), "a path"), None if policy is None else _name(policy, "a policy"), byref(plugin),
                byref(error)), error)
        return Plugin(plugin, self)

    def close(self):
        self._end()

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
    elif isinstance(argument, Memory):
        value.kind, value.data = _MEMORY, argument._pointer.value
    elif isinstance(argument, _Address):
        value.kind, value.data, value.count = _MEMORY, argument.memory._pointer.value, argument.offset
    elif isinstance(argument, Callback):
        value.kind, value.data = _CALLBACK, argument._pointer.value
    elif isinstance(argument, int):
        if not -(1 << 63) <= argument < 1 << 64:
            raise OverflowError(f"{argument} has more than 64 bits")
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


def _data(value):
    return ctypes.string_at(value.data, value.count) if value.count else b""


def _python(value, raw=False):
    """`raw`: texts are bytes."""
    if value.kind == _SIGNED:
        return value.signed
    if value.kind == _UNSIGNED:
        return value.unsigned
    if value.kind == _DOUBLE:
        return value.double
    if value.kind == _BYTES or value.kind == _TEXT and raw:
        return _data(value)
    if value.kind == _TEXT:
        return _str(_data(value), value.reserved & _CUT)
    if value.kind == _HANDLE:
        return Handle(value.unsigned)
    if value.kind == _ROOM:
        return value.count
    if value.kind == _LIST:
        items = ctypes.cast(value.data, POINTER(_Value))
        return [_python(items[index], raw) for index in range(value.count)]
    return None


def _str(data, is_cut):
    try:
        if not is_cut:
            return data.decode()
        error = TextError(FAILED, "the text is longer than the 64 KiB that are read")
    except UnicodeDecodeError as cause:
        error = TextError(FAILED, f"the text isn't UTF-8: {cause.reason} at byte {cause.start}")
    error.data = data
    raise error
