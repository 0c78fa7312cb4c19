/// What a plugin does with processes of its own, function by function.
enum ProcessPlugin {
  static let source = """
    #define _GNU_SOURCE
    #include <errno.h>
    #include <fcntl.h>
    #include <pthread.h>
    #include <signal.h>
    #include <spawn.h>
    #include <stdio.h>
    #include <stdlib.h>
    #include <string.h>
    #include <sys/mman.h>
    #include <sys/prctl.h>
    #include <sys/syscall.h>
    #include <sys/time.h>
    #include <sys/wait.h>
    #include <time.h>
    #include <unistd.h>
    extern char **environ;

    static void burn(long microseconds) {
      struct timespec begun, now;
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begun);
      do clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
      while ((now.tv_sec - begun.tv_sec) * 1000000 + (now.tv_nsec - begun.tv_nsec) / 1000 < microseconds);
    }

    static int ended(pid_t child) {
      int status = 0;
      if (waitpid(child, &status, 0) != child) return -errno;
      return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
    }

    int plain(void) { return 7; }

    /* The exit status of a program, or -errno. */
    int execute(const char *path, const char *argument) {
      char *const arguments[] = {(char *)path, (char *)argument, NULL};
      pid_t child;
      int error = posix_spawn(&child, path, NULL, NULL, arguments, environ);
      return error ? -error : ended(child);
    }

    /* Executes a program in this process. */
    int becomes(const char *path, const char *argument) {
      char *const arguments[] = {(char *)path, (char *)argument, NULL};
      execve(path, arguments, environ);
      return -errno;
    }

    /* The number that a shell prints. */
    int shell(const char *command) {
      FILE *pipe = popen(command, "r");
      int number = -1;
      if (!pipe) return -errno;
      if (fscanf(pipe, "%d", &number) != 1) number = -2;
      pclose(pipe);
      return number;
    }

    int at_once(int wanted) {
      pid_t children[256];
      int count = 0;
      for (; count < wanted && count < 256; count++) {
        children[count] = fork();
        if (children[count] == 0) for (;;) pause();
        if (children[count] < 0) break;
      }
      usleep(100000);
      for (int index = 0; index < count; index++) kill(children[index], SIGKILL), waitpid(children[index], NULL, 0);
      return count;
    }

    /* Each forks as often as it can. */
    int bomb(void) { for (;;) fork(); }

    /* Children one after the other, each with so much CPU time; how their parent learns of their end. */
    int burn_children(const char *how, int count, int each) {
      struct sigaction action = {.sa_handler = SIG_DFL};
      if (!strcmp(how, "ignored")) action.sa_handler = SIG_IGN;
      if (!strcmp(how, "forgotten")) action.sa_flags = SA_NOCLDWAIT;
      sigaction(SIGCHLD, &action, NULL);
      for (int index = 0; index < count; index++) {
        pid_t child = fork();
        if (child < 0) return -errno;
        if (child == 0) { burn(each); _exit(0); }
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {}
      }
      return count;
    }

    static void *spin(void *how_long) { burn((long)how_long); return NULL; }

    int burn_threads(int threads, int each) {
      pid_t child = fork();
      if (child < 0) return -errno;
      if (child == 0) {
        pthread_t all[16];
        for (int index = 0; index < threads; index++)
          if (pthread_create(&all[index], NULL, spin, (void *)(long)each)) _exit(9);
        for (int index = 0; index < threads; index++) pthread_join(all[index], NULL);
        _exit(0);
      }
      return ended(child);
    }

    static void *rest(void *none) { for (;;) pause(); return none; }

    /* How many threads the children make before they are refused one. */
    int threads_of_children(int children) {
      int ends[2], go[2], sum = 0;
      if (pipe(ends) || pipe(go)) return -errno;
      pid_t all[16];
      for (int index = 0; index < children; index++) {
        all[index] = fork();
        if (all[index] < 0) return -errno;
        if (all[index]) continue;
        /* Once all are there: a process is made whatever the threads of the others leave. */
        unsigned char count = 0;
        if (read(go[0], &count, 1) != 1) _exit(1);
        count = 0;
        pthread_t thread;
        pthread_attr_t small;
        pthread_attr_init(&small);
        pthread_attr_setstacksize(&small, 65536);
        while (count < 200 && pthread_create(&thread, &small, rest, NULL) == 0) count++;
        if (write(ends[1], &count, 1) < 0) _exit(1);
        for (;;) pause();
      }
      if (write(go[1], all, children) != children) return -errno;
      for (int index = 0; index < children; index++) {
        unsigned char count = 0;
        if (read(ends[0], &count, 1) == 1) sum += count;
      }
      for (int index = 0; index < children; index++) kill(all[index], SIGKILL), waitpid(all[index], NULL, 0);
      return sum;
    }

    int fill_child(int mebibytes) {
      pid_t child = fork();
      if (child < 0) return -errno;
      if (child == 0) {
        size_t size = (size_t)mebibytes << 20;
        char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) _exit(9);
        for (size_t index = 0; index < size; index += 4096) memory[index] = 1;
        _exit(0);
      }
      return ended(child);
    }

    static int is_timed;
    static void let_go_on(int signal) {
      (void)signal;
      kill(0, SIGCONT), kill(-1, SIGCONT);
      /* Once each: with a period that is shorter than this takes on a busy machine, it would do nothing else. */
      struct itimerval soon = {{0, 0}, {0, 1000}};
      if (is_timed) syscall(SYS_setitimer, 0, &soon, 0);
    }

    /* A child that goes on after the call: it adds to a file again and again. What it does so as not to be stopped, or to be left. */
    int go_on(const char *how, const char *path) {
      pid_t child = fork();
      if (child < 0) return -errno;
      if (child > 0) return 0;
      if (!strcmp(how, "daemon")) {
        if (setsid() >= 0 || setpgid(0, 0) == 0) _exit(1);
        if (fork() > 0) _exit(0);
      }
      pid_t other = 0;
      if (!strcmp(how, "friends")) other = fork();
      if (!strcmp(how, "woken")) {
        signal(SIGALRM, let_go_on), signal(SIGCHLD, let_go_on);
        is_timed = 1, raise(SIGALRM);
      }
      int file = open(path, O_CREAT | O_WRONLY | O_APPEND, 0600);
      for (;;) {
        if (!strcmp(how, "friends")) kill(other ? other : getppid(), SIGCONT), kill(0, SIGCONT), kill(-1, SIGCONT);
        if (write(file, "x", 1) < 0) _exit(2);
        usleep(100);
      }
    }

    int crash_child(int number) {
      pid_t child = fork();
      if (child < 0) return -errno;
      if (child == 0) {
        if (number == SIGSEGV) *(volatile int *)8 = 1;
        if (number == SIGABRT) abort();
        raise(number);
        _exit(0);
      }
      return ended(child);
    }

    /* clone(2) as it is. */
    int clone_with(unsigned long flags) {
      long child = syscall(SYS_clone, flags, 0, 0, 0, 0);
      if (child == 0) _exit(0);
      if (child < 0) return -errno;
      waitpid((pid_t)child, NULL, __WALL);
      return 1;
    }

    int by_number(const char *name) {
      pid_t child = !strcmp(name, "fork") ? syscall(SYS_fork) : vfork();
      if (child == 0) _exit(3);
      return child < 0 ? -errno : ended(child);
    }

    int send(int call, long number) {
      long result = call == 0 ? syscall(SYS_kill, getpid(), number)
        : call == 1 ? syscall(SYS_tkill, gettid(), number) : syscall(SYS_tgkill, getpid(), gettid(), number);
      return result < 0 ? -errno : 0;
    }

    /* A child of that name, and its parent of the same. */
    int burn_named(const char *name, int each) {
      prctl(PR_SET_NAME, name);
      pid_t child = fork();
      if (child < 0) return -errno;
      if (child == 0) { prctl(PR_SET_NAME, name); burn(each); _exit(0); }
      return ended(child);
    }

    int leave_zombies(int count) {
      for (int index = 0; index < count; index++) {
        pid_t child = fork();
        if (child < 0) return -errno;
        if (child == 0) { usleep(5000); _exit(0); }
        /* However late it gets a processor: one at a time. */
        siginfo_t end;
        if (waitid(P_PID, child, &end, WEXITED | WNOWAIT) != 0) return -errno;
      }
      return count;
    }

    /* How many of its forks fail while a signal without SA_RESTART comes again and again. */
    int interrupted(int count) {
      struct itimerval soon = {{0, 5000}, {0, 5000}};
      struct sigaction action = {.sa_handler = (void (*)(int))getpid};
      sigaction(SIGALRM, &action, NULL), sigaction(SIGCHLD, &action, NULL);
      syscall(SYS_setitimer, 0, &soon, 0);
      int failed = 0;
      for (int index = 0; index < count; index++) {
        pid_t child = fork();
        if (child == 0) _exit(0);
        if (child < 0) { failed++; continue; }
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {}
      }
      soon.it_interval.tv_usec = soon.it_value.tv_usec = 0;
      syscall(SYS_setitimer, 0, &soon, 0);
      return failed;
    }
    """

  /// A program of its own, which tells what it finds.
  static let program = """
    #include <dirent.h>
    #include <errno.h>
    #include <fcntl.h>
    #include <string.h>
    #include <sys/mman.h>
    #include <unistd.h>
    int main(int count, char **words) {
      const char *word = count > 1 ? words[1] : "";
      if (!strcmp(word, "descriptors")) {
        int open = 0;
        for (int index = 0; index < 256; index++) open += fcntl(index, F_GETFD) >= 0;
        return open;
      }
      if (!strcmp(word, "secret")) return open("/etc/shadow", O_RDONLY) < 0 ? errno : 0;
      if (!strcmp(word, "code"))
        return mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? errno : 0;
      return 42;
    }
    """
}
