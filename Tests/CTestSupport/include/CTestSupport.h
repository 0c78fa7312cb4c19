#pragma once
#include <spawn.h>

// posix_spawn_file_actions_addclosefrom_np(3), which Swift's import of spawn.h leaves out.
int test_spawn_close_from(posix_spawn_file_actions_t *actions, int first);
