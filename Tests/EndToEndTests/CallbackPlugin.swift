/// A library that calls what it is given: with every kind of argument, from threads, too late, and as it mustn't.
enum CallbackPlugin {
  static let source = """
    #include <pthread.h>
    #include <signal.h>
    #include <stdint.h>
    #include <string.h>
    #include <sys/socket.h>
    #include <unistd.h>
    typedef int (*simple)(int);
    static simple kept;
    int call(simple f, int value) { return f(value); }
    int keep(simple f) { kept = f; return 0; }
    int call_kept(int value) { return kept(value); }
    int many(simple f, int count) { int sum = 0; for (int i = 0; i < count; i++) sum += f(i); return sum; }
    double every(double (*f)(int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t, float, double, void *, const char *,
                             float, double)) {
      return f(-1, 255, -2, 65535, -3, 4294967295u, INT64_MIN, UINT64_MAX, 1.5f, 2.5, (void *)77, "text", -0.5f, 1e300);
    }
    float single(float (*f)(void)) { return f(); }
    int8_t small(int8_t (*f)(void)) { return f(); }
    static void *from_thread(void *f) { return (void *)(intptr_t)((simple)f)(5); }
    int on_thread(simple f) {
      pthread_t thread; void *result;
      if (pthread_create(&thread, 0, from_thread, (void *)f)) return -1;
      pthread_join(thread, &result);
      return (int)(intptr_t)result;
    }
    static void *late(void *f) { usleep(200000); ((simple)f)(5); return 0; }
    int later(simple f) { pthread_t thread; return pthread_create(&thread, 0, late, (void *)f); }
    static void *at_once(void *f) { ((simple)f)(5); return 0; }
    int leaves(simple f) { pthread_t thread; pthread_create(&thread, 0, at_once, (void *)f); usleep(300000); return 0; }
    int wild(int (*f)(const int *), int which) { return f(which ? (const int *)0xdead000 : 0); }
    int wild_text(int (*f)(const char *)) { return f((const char *)1); }
    int count(int (*f)(int, const char **), int count, int there) {
      static const char *texts[5000];
      for (int i = 0; i < there && i < 5000; i++) texts[i] = "x";
      return f(count, texts);
    }
    static char large[3 << 20];
    int bytes(int (*f)(const char *, long), long count) { return f(large, count); }
    void *self(void *(*f)(void *)) { return f((void *)&kept); }
    void *mine(void) { return (void *)&kept; }
    static simple interrupting;
    static void on_alarm(int number) { interrupting(number); }
    static void *alarms(void *thread) { for (;;) { pthread_kill(*(pthread_t *)thread, SIGALRM); usleep(1000); } }
    int interrupts(simple f) {
      static pthread_t own, other;
      struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_NODEFER};
      interrupting = f;
      own = pthread_self();
      sigaction(SIGALRM, &action, 0);
      return pthread_create(&other, 0, alarms, &own) ? -1 : f(1);
    }
    /* Without the program's own code: a frame on the service channel. */
    int forges(simple f, int number, int twice) {
      unsigned char frame[16 + 1 + 4 + 9] = {0x6f, 0x52, 1, 137, 14, 0, 0, 0, 99, 0, 0, 0, 0, 0, 0, 0, (unsigned char)number, 1, 0, 0, 0, 1, 7};
      for (int i = 0; i <= twice; i++) send(4, frame, sizeof frame, MSG_NOSIGNAL);
      for (;;) pause();
    }
    """
}
