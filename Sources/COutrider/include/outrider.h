/* Outrider's plugin host for C, and for every language that calls C: loads shared libraries, each in a sandboxed process of its
   own, and calls their functions under limits of time and memory.

   Every function may be called on any thread. A call waits for its answer on the calling thread; calls of one plugin take turns.
   Objects are named by pointers that are never read: one that isn't there any more is refused with OUTRIDER_USAGE, and
   freeing NULL, or twice, does nothing. Texts are UTF-8 and end with NUL; others are refused.
   A child of fork(2) whose parent has had a host can use none, nor make one, until it calls exec: all is refused, and freeing does
   nothing. A thread that makes a host or loads a plugin needs 32 KiB of stack.
   Needs C11 or C++11.

   docs/embedding-c.md has examples. */
#ifndef OUTRIDER_H
#define OUTRIDER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What is linked and what is called has to have the same. */
#define OUTRIDER_ABI_VERSION 1

typedef struct outrider_host outrider_host;
typedef struct outrider_plugin outrider_plugin;
typedef struct outrider_reply outrider_reply;
typedef struct outrider_memory outrider_memory;
typedef struct outrider_callback outrider_callback;

enum outrider_status {
  OUTRIDER_OK = 0,
  /* The plugin's process has ended; outrider_plugin_report says how. */
  OUTRIDER_ENDED = 1,
  /* The plugin has no such function. It goes on. */
  OUTRIDER_MISSING = 18,
  /* The arguments don't fit the signature, or an object isn't there. Nothing was done. */
  OUTRIDER_USAGE = 64,
  /* The library isn't there or isn't what it must be. */
  OUTRIDER_INPUT = 66,
  /* The host, not the plugin, couldn't, or a callback failed. */
  OUTRIDER_FAILED = 70
};

enum outrider_kind {
  OUTRIDER_NULL = 0,
  OUTRIDER_SIGNED = 1,
  OUTRIDER_UNSIGNED = 2,
  OUTRIDER_DOUBLE = 3,
  /* `bytes`, `count` of them: text without its NUL. In what the library hands over a NUL follows, `reserved` says whether it is cut,
     and it may be other than UTF-8: it is the plugin's. */
  OUTRIDER_TEXT = 4,
  OUTRIDER_BYTES = 5,
  /* What the same plugin returned as `handle`: `unsigned_value` is its number. */
  OUTRIDER_HANDLE = 6,
  /* `items`, `count` of them: the fields of a structure or the elements of an array. */
  OUTRIDER_LIST = 7,
  /* The address of `memory`, `count` bytes from its start: an argument. */
  OUTRIDER_MEMORY = 8,
  /* The address of `callback`: an argument of type `callback`, or a `pointer`. */
  OUTRIDER_CALLBACK = 9,
  /* `room` for `count` bytes, which a callback writes: see outrider_function. */
  OUTRIDER_ROOM = 10
};

/* In `reserved` of what the library hands over. What isn't named here may be there in later versions. */
enum outrider_flag {
  /* Of a text: 64 KiB were read, and there may be more. */
  OUTRIDER_CUT = 1
};

typedef struct outrider_value outrider_value;
struct outrider_value {
  int32_t kind;
  /* Flags; 0 in what a program hands over. */
  int32_t reserved;
  union {
    int64_t signed_value;
    uint64_t unsigned_value;
    double double_value;
    const void *bytes;
    const outrider_value *items;
    outrider_memory *memory;
    outrider_callback *callback;
    void *room;
  };
  size_t count;
};

/* OUTRIDER_ABI_VERSION of the library that was loaded. */
uint32_t outrider_abi_version(void);

/* Texts that functions hand over are freed by this, errors among them. */
void outrider_text_free(char *text);

/* A host: it starts a process when it is first needed. `runner`: the path of outrider-runner, or NULL for the one beside this
   library, in ../libexec, or in the environment's OUTRIDER_RUNNER. NULL where it fails; then `error`, unless it is NULL, has a
   sentence. */
outrider_host *outrider_host_new(const char *runner, char **error);

/* Ends all of its plugins and lets it go. Functions that they were calling have returned afterwards. Their reports can still be had;
   each plugin is freed by itself. */
void outrider_host_free(outrider_host *host);

/* Loads a library: a path, or a name such as libz.so.1. `policy`: the name of a shipped policy (computation, codec, …), the text of
   a policy file, or NULL for the default. OUTRIDER_ENDED: it didn't load, and `error` says how it ended. */
int outrider_load(
  outrider_host *host, const char *library, const char *policy, outrider_plugin **plugin, char **error);

/* Calls a function: `signature` is RETURN(ARGUMENTS), as for `outrider call`, and `arguments` has one for each that isn't
   out(N) or `out T`. `seconds`: how long the call may take where that is less than the policy's limit; 0: the policy's.
   OUTRIDER_ENDED: the run ended in the call. `reply` is freed by outrider_reply_free. */
int outrider_call(
  outrider_plugin *plugin, const char *symbol, const char *signature, const outrider_value *arguments, size_t count,
  double seconds, outrider_reply **reply, char **error);

/* What a call returned; `kind` is OUTRIDER_NULL for void. It lives as long as the reply. */
outrider_value outrider_reply_value(const outrider_reply *reply);
/* How many arguments came back: out(N), inout(N), `out T` and `inout T`, in their order. */
size_t outrider_reply_output_count(const outrider_reply *reply);
/* The one at `index`, from 0; OUTRIDER_NULL beyond the last. */
outrider_value outrider_reply_output(const outrider_reply *reply, size_t index);
void outrider_reply_free(outrider_reply *reply);

/* Forgets a handle, `unsigned_value` of an OUTRIDER_HANDLE: from then on it is refused. The plugin isn't told: what the handle stands
   for has to be closed by a function of its library before. At most 65,536 are held for each plugin, and a function that could
   bring another one isn't called. The same address is the same handle until then. */
int outrider_handle_release(outrider_plugin *plugin, uint64_t handle, char **error);

/* Memory within the plugin, all zeros, that stays between calls: at most as much as its policy's memory limit. */
int outrider_allocate(outrider_plugin *plugin, size_t count, outrider_memory **memory, char **error);

/* Writes to it and reads it, `offset` bytes from its start. Beyond its end: OUTRIDER_USAGE, and nothing is done. */
int outrider_write(outrider_memory *memory, size_t offset, const void *bytes, size_t count, char **error);
int outrider_read(outrider_memory *memory, size_t offset, void *bytes, size_t count, char **error);

/* Frees it in the plugin, unless a call is under way that was given it; it goes with its plugin in any case. */
void outrider_memory_free(outrider_memory *memory);

/* A function that a plugin calls. `arguments` are valid until it returns. Where the plugin passes NULL for cstring, &T, bytes(N) or
   cstrings(N), the argument is OUTRIDER_NULL. Where the signature has out(N) or `out T`, it is OUTRIDER_ROOM: what is written to
   `room` comes to the plugin, `count` bytes of it: set that to less, or to 0 for nothing. Or put a value in the argument's place, bytes
   or a T, with another kind: then that comes to the plugin, and nothing for OUTRIDER_NULL.
   `result` is OUTRIDER_NULL, for void, until it is set. It returns 0; for anything else the plugin is given 0, and the call that is
   under way fails. It is called on a thread of this library's, one at a time for each plugin. It may call other plugins; the one
   that called it waits for it, and what is asked of that fails with OUTRIDER_USAGE: on the thread that it is called on. Another thread
   that asks that plugin waits until the call is over; a function that waits for such a thread waits until the call's time is over. */
typedef int (*outrider_function)(void *context, outrider_value *arguments, size_t count, outrider_value *result);

/* Registers a function, `signature` RETURN(ARGUMENTS): arguments are numbers, pointer, handle, cstring, &T, `out T`, and bytes(N),
   cstrings(N), out(N), as many as argument N says, from 0. The plugin may call it in each of its calls, on any of its threads,
   until it is freed; its run ends where it calls it afterwards, or between calls. A call that returns while another thread's is
   under way ends when that does. At most 32 for each plugin. */
int outrider_register(
  outrider_plugin *plugin, const char *signature, outrider_function function, void *context, outrider_callback **callback,
  char **error);

/* Waits for calls that are under way, also where the run has ended meanwhile, and then releases it; it goes with its plugin in any
   case. It isn't called again. What waits for who frees it isn't waited for: the function itself, and one that has called a plugin whose
   callback frees it. */
void outrider_callback_free(outrider_callback *callback);

/* Ends the plugin's process, unless it has ended, and returns everything that is known about the run as a JSON object: outcome,
   plugin, usage, denials, droppedDenials, connections, log, droppedLogBytes, droppedLogLines, fault, stack, threads, untoldThreads,
   sandbox (the walls) and meters, named as `outrider call --json` names them. What that finds out beside the run isn't in it: the
   lines of a policy for a denial, and what debug information knows of a stack, whose functions are `symbol` here. NULL where it
   isn't a plugin. */
char *outrider_plugin_report(outrider_plugin *plugin);

/* Ends the plugin's process and lets it go. Functions that it was calling have returned afterwards. */
void outrider_plugin_free(outrider_plugin *plugin);

#ifdef __cplusplus
}
#endif

#endif
