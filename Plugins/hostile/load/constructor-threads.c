/* H118: a constructor that starts a thread, which asks for executable memory after the load; ok() returns its errno */
#include "hostile.h"
#include <pthread.h>
static pthread_t thread;
static volatile int asks;
static void *wait_and_ask(void *unused) {
  (void)unused;
  while (!asks) usleep(1000);
  void *bytes = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return (void *)(intptr_t)(bytes == MAP_FAILED ? errno : 0);
}
__attribute__((constructor)) static void begin(void) { pthread_create(&thread, NULL, wait_and_ask, NULL); }
EXPORT int32_t ok(void) {
  void *code = NULL;
  asks = 1;
  const int joined = pthread_join(thread, &code);
  return joined ? joined : (int32_t)(intptr_t)code;
}
