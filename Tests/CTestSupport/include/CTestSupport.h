#pragma once
#include <spawn.h>
#include <stddef.h>

// posix_spawn_file_actions_addclosefrom_np(3), which Swift's import of spawn.h leaves out.
int test_spawn_close_from(posix_spawn_file_actions_t *actions, int first);

// memmem(3) and memrchr(3), which Swift's import of string.h leaves out.
const void *test_find(const void *bytes, size_t count, const void *word, size_t length);
const void *test_find_last(const void *bytes, int byte, size_t count);
