/* Calls a system's library inside the walls, and survives what a plugin does wrong. */
#include <outrider.h>

#include <stdio.h>
#include <string.h>

static int fail(const char *what, char *error) {
  fprintf(stderr, "%s: %s\n", what, error ? error : "no memory");
  outrider_text_free(error);
  return 1;
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
