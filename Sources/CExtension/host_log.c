#include "ba_host_log.h"

#include "ba_current_host.h"

int32_t ba_host_log(int32_t level, const char *subsystem, const char *category, const char *message, size_t length) {
  const ba_host *host = ba_current_host();
  if (!host || !host->log) return 0;
  ba_string text = {message, length};
  host->log(host, level, ba_text(subsystem), ba_text(category), text);
  return 1;
}
