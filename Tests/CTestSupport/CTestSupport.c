#include "CTestSupport.h"
#include <string.h>

int test_spawn_close_from(posix_spawn_file_actions_t *actions, int first) {
  return posix_spawn_file_actions_addclosefrom_np(actions, first);
}

const void *test_find(const void *bytes, size_t count, const void *word, size_t length) {
  return memmem(bytes, count, word, length);
}

const void *test_find_last(const void *bytes, int byte, size_t count) { return memrchr(bytes, byte, count); }
