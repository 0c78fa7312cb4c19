/* The runner's program. What is defined here in place of the C library, for everything that is loaded into a runner, is in this target
   and no library: a program that embeds the host is linked with the libraries of the runner that it builds, and keeps its own. */

/* RunnerKit's. */
_Noreturn void ol_runner_main(int count, char **arguments);

int main(int count, char **arguments) { ol_runner_main(count, arguments); }
