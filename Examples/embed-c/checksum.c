/* Calls a system's library inside the walls, and survives what a plugin does wrong. */
#include <outrider.h>

#include <stdio.h>
#include <string.h>

static int fail(const char *what, char *error) {
  fprintf(stderr, "%s: %s\n", what, error ? error : "no memory");
  outrider_text_free(error);
  return 1;
}

/* Called by qsort within the plugin, with copies of what it compares. */
static int compare(void *context, outrider_value *arguments, size_t count, outrider_value *result) {
  (void)count;
  ++*(int *)context;
  int64_t one = arguments[0].signed_value, other = arguments[1].signed_value;
  result->kind = OUTRIDER_SIGNED;
  result->signed_value = one < other ? -1 : one > other;
  return 0;
}

int main(void) {
  char *error = NULL;
  outrider_host *host = outrider_host_new(NULL, &error);
  if (!host) return fail("host", error);

  outrider_plugin *zlib = NULL;
  if (outrider_load(host, "libz.so.1", "computation", &zlib, &error) != OUTRIDER_OK) return fail("libz", error);
  const char *text = "hello";
  outrider_value arguments[] = {
      {.kind = OUTRIDER_UNSIGNED, .unsigned_value = 0},
      {.kind = OUTRIDER_BYTES, .bytes = text, .count = strlen(text)},
      {.kind = OUTRIDER_UNSIGNED, .unsigned_value = strlen(text)},
  };
  outrider_reply *reply = NULL;
  if (outrider_call(zlib, "crc32", "u64(u64,bytes,u32)", arguments, 3, 1.0, &reply, &error) != OUTRIDER_OK)
    return fail("crc32", error);
  printf("crc32 %llu\n", (unsigned long long)outrider_reply_value(reply).unsigned_value);
  outrider_reply_free(reply);
  outrider_plugin_free(zlib);

  /* abort(3) ends the plugin's process, and this one goes on. */
  outrider_plugin *libc = NULL;
  if (outrider_load(host, "libc.so.6", NULL, &libc, &error) != OUTRIDER_OK) return fail("libc", error);

  /* Memory of the plugin's that is sorted by a function of this program. */
  int32_t numbers[] = {5, 9, 1};
  int calls = 0;
  outrider_memory *memory = NULL;
  outrider_callback *callback = NULL;
  if (outrider_allocate(libc, sizeof numbers, &memory, &error) != OUTRIDER_OK) return fail("memory", error);
  if (outrider_write(memory, 0, numbers, sizeof numbers, &error) != OUTRIDER_OK) return fail("write", error);
  if (outrider_register(libc, "i32(&i32,&i32)", compare, &calls, &callback, &error) != OUTRIDER_OK)
    return fail("callback", error);
  outrider_value sorted[] = {
      {.kind = OUTRIDER_MEMORY, .memory = memory},
      {.kind = OUTRIDER_UNSIGNED, .unsigned_value = 3},
      {.kind = OUTRIDER_UNSIGNED, .unsigned_value = sizeof numbers[0]},
      {.kind = OUTRIDER_CALLBACK, .callback = callback},
  };
  if (outrider_call(libc, "qsort", "void(pointer,u64,u64,callback)", sorted, 4, 0, NULL, &error) != OUTRIDER_OK)
    return fail("qsort", error);
  if (outrider_read(memory, 0, numbers, sizeof numbers, &error) != OUTRIDER_OK) return fail("read", error);
  printf("sorted %d %d %d, compared: %s\n", numbers[0], numbers[1], numbers[2], calls > 0 ? "yes" : "no");
  outrider_callback_free(callback);
  outrider_memory_free(memory);

  int status = outrider_call(libc, "abort", "void()", NULL, 0, 0, &reply, &error);
  printf("abort: status %d, %s\n", status, error);
  outrider_text_free(error);
  char *report = outrider_plugin_report(libc);
  printf("report of %zu bytes\n", strlen(report) > 100 ? (size_t)100 : strlen(report));
  outrider_text_free(report);
  outrider_plugin_free(libc);
  outrider_host_free(host);
  return status == OUTRIDER_ENDED ? 0 : 1;
}
