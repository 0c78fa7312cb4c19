/* The memory that a runner shares with its host for calls: H131 to H137. And what it says of callbacks: H139. A long `out(N)` lies in it, which tells where it is. */
#include "hostile.h"

#include <pthread.h>
#include <sys/socket.h>
#include <time.h>

enum { WORDS = 4096, AREA = 4 << 20, PAYLOAD_ROOM = 16 << 10 };
enum { RETURNED = 67, WALLS_CLOSED = 64, ANSWERED = 73 };

struct question {
  uint32_t sequence, place, kind, length;
  uint64_t id;
  uint32_t room, patience, host_waits;
};

struct answer {
  uint32_t sequence, kind, length, runner_waits;
  uint64_t id;
};

struct words {
  struct question question;
  uint8_t gap[256 - sizeof(struct question)];
  struct answer answer;
};

static unsigned char *answers(void *out) { return (unsigned char *)out - PAYLOAD_ROOM; }
static struct words *words(void *out) { return (struct words *)(answers(out) - AREA - WORDS); }

/* Says on the socket that there is an answer, in case the host doesn't look, and never returns. */
static void ring(struct words *words) {
  struct {
    uint16_t magic;
    uint8_t version, kind;
    uint32_t length;
    uint64_t id;
  } header = {0x526f, 1, ANSWERED, 0, words->question.id};
  while (words->question.host_waits != 2) usleep(100);
  send(3, &header, sizeof header, MSG_NOSIGNAL);
  wait_forever();
}

/* Answers the open question. */
static void answer(void *out, uint32_t kind, uint32_t length) {
  struct words *shared = words(out);
  shared->answer.kind = kind;
  shared->answer.length = length;
  shared->answer.id = shared->question.id;
  __atomic_store_n(&shared->answer.sequence, shared->question.sequence, __ATOMIC_SEQ_CST);
}

/* H131: an answer to a question that wasn't asked: 0 a later one, 1 an earlier one, 2 all words are noise. */
EXPORT void h131_other_question(int32_t which, void *out) {
  struct words *shared = words(out);
  if (which == 2) memset(shared, 0xa5, offsetof(struct words, answer.runner_waits));
  else shared->answer.sequence = shared->question.sequence + (which == 0 ? 7u : -7u);
  ring(shared);
}

/* H131: the right question, and another call's id. */
EXPORT void h131_other_id(int32_t unused, void *out) {
  struct words *shared = words(out);
  (void)unused;
  shared->answer.id = shared->question.id + 1;
  __atomic_store_n(&shared->answer.sequence, shared->question.sequence, __ATOMIC_SEQ_CST);
  ring(shared);
}

/* H131: an answer that is none: 0 of a length that nobody has, 1 of a kind that nobody has, 2 what only trusted code says, 3
   nothing but noise, 4 a buffer that lies beyond the memory, 5 the same buffer a thousand times. */
EXPORT void h131_nonsense(int32_t which, void *out) {
  unsigned char *payload = answers(out);
  switch (which) {
  case 0: answer(out, RETURNED, UINT32_MAX); break;
  case 1: answer(out, 300, 0); break;
  case 2:
    memset(payload, 0, 4);
    answer(out, WALLS_CLOSED, 4);
    break;
  case 3:
    memset(payload, 0xa5, 64);
    answer(out, RETURNED, 64);
    break;
  default: {
    /* No value, then the buffers: their count, and for each its marked size and its place. */
    uint32_t count = which == 4 ? 1 : 1000, size = 0x80000000u | (which == 4 ? 64 : 4 << 20), place = which == 4 ? AREA - 8 : 0;
    unsigned char *at = payload;
    *at++ = 0;
    memcpy(at, &count, 4), at += 4;
    for (uint32_t index = 0; index < count; index++, at += 8) memcpy(at, &size, 4), memcpy(at + 4, &place, 4);
    memset(at, 0, 9);
    answer(out, RETURNED, (uint32_t)(at + 9 - payload));
  }
  }
  ring(words(out));
}

struct pair {
  int32_t first, second;
};

/* H137: where a structure of 8 bytes is returned and an i32 comes back: 0 a byte less, 1 a structure as long as the memory, 2 an integer
   in its place, 3 an i32 of three bytes, 4 no i32. */
EXPORT struct pair h137_other_shape(int32_t which, void *out, int32_t *back) {
  unsigned char *payload = answers(out), *at = payload;
  uint32_t size = which == 0 ? 7 : 8, count = which == 4 ? 1 : 2, whole = 0x80000000u | 8192, place = PAYLOAD_ROOM, last = which == 3 ? 3 : 4;
  (void)back;
  memset(payload, 0, 128);
  if (which == 2) {
    *at = 1, at += 9;
  } else if (which == 1) {
    uint32_t all = 0x80000000u | AREA, start = 0;
    *at++ = 7;
    memcpy(at, &all, 4), memcpy(at + 4, &start, 4), at += 8;
  } else {
    *at++ = 7;
    memcpy(at, &size, 4), at += 4 + size;
  }
  memcpy(at, &count, 4), at += 4;
  memcpy(at, &whole, 4), memcpy(at + 4, &place, 4), at += 8;
  if (count == 2) memcpy(at, &last, 4), at += 4 + last;
  at += 9;
  answer(out, RETURNED, (uint32_t)(at - payload));
  ring(words(out));
  return (struct pair){0, 0};
}

/* H132: answers, and says so on the socket again and again. */
EXPORT void h132_rings_on(int32_t unused, void *out) {
  struct words *shared = words(out);
  (void)unused;
  struct {
    uint16_t magic;
    uint8_t version, kind;
    uint32_t length;
    uint64_t id;
  } header = {0x526f, 1, ANSWERED, 0, shared->question.id};
  for (int turn = 0; turn < 100; turn++) send(3, &header, sizeof header, MSG_NOSIGNAL);
  wait_forever();
}

static struct words *planted;

static void *forging_thread(void *unused) {
  /* -1, and nothing else. */
  static const unsigned char payload[22] = {1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
  for (uint32_t last = planted->question.sequence;;) {
    uint32_t asked = __atomic_load_n(&planted->question.sequence, __ATOMIC_SEQ_CST);
    if (asked == last) continue;
    last = asked;
    memcpy((unsigned char *)planted + WORDS + AREA, payload, sizeof payload);
    planted->answer.kind = RETURNED;
    planted->answer.length = sizeof payload;
    planted->answer.id = planted->question.id;
    __atomic_store_n(&planted->answer.sequence, asked, __ATOMIC_SEQ_CST);
  }
  return unused;
}

/* H132: from now on a thread answers before the function that is called does. */
EXPORT int32_t h132_forges(int32_t unused, void *out) {
  pthread_t thread;
  (void)unused;
  planted = words(out);
  return pthread_create(&thread, NULL, forging_thread, NULL);
}

static void *flipping_thread(void *out) {
  unsigned char *payload = answers(out);
  for (unsigned turn = 1;; turn = turn * 1664525u + 1013904223u) payload[(turn >> 16) % 256] ^= (unsigned char)(1 << (turn >> 28 & 7));
  return out;
}

/* H133: flips bits of answers while the host reads them. */
EXPORT int32_t h133_flips(int32_t unused, void *out) {
  pthread_t thread;
  (void)unused;
  return pthread_create(&thread, NULL, flipping_thread, out);
}

static void *scribbling_thread(void *out) {
  volatile unsigned char *bytes = (unsigned char *)words(out);
  for (unsigned turn = 1;; turn = turn * 1664525u + 1013904223u) bytes[(turn >> 16) % 512] = (unsigned char)(turn >> 8);
  return out;
}

/* H133: writes noise over the words by which the two wait for each other. */
EXPORT int32_t h133_scribbles(int32_t unused, void *out) {
  pthread_t thread;
  (void)unused;
  return pthread_create(&thread, NULL, scribbling_thread, out);
}

/* H134: takes just so long that the host waits without sleeping. */
EXPORT int32_t h134_lingers(int32_t microseconds) {
  struct timespec begin, now;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  do clock_gettime(CLOCK_MONOTONIC, &now);
  while ((now.tv_sec - begin.tv_sec) * 1000000 + (now.tv_nsec - begin.tv_nsec) / 1000 < microseconds);
  return microseconds;
}

/* H135: keeps what it has in the memory for calls, and lets go of the pages, so that no counter of its own shows them. */
EXPORT void h135_hides(int32_t unused, void *out) {
  unsigned char *begin = (unsigned char *)words(out) + WORDS;
  (void)unused;
  touch(begin, 2 * AREA);
  madvise(begin, 2 * AREA, MADV_DONTNEED);
  wait_forever();
}

/* H136: makes code of it. */
EXPORT int32_t h136_executes(int32_t unused, void *out) {
  (void)unused;
  return outcome(mprotect(words(out), WORDS, PROT_READ | PROT_EXEC));
}

/* H139: calls a function of the host's, where it was given none: 0 in an honest frame, 1 without the id of a question, 2 with noise,
   3 with a thousand values fewer than it says. */
EXPORT void h139_forges_callback(int32_t which) {
  unsigned char frame[16 + 5 + 9] = {0x6f, 0x52, 1, 137, 14, 0, 0, 0, 99, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 7};
  if (which == 1) frame[8] = 0;
  if (which == 2) memset(frame + 17, 0xa5, sizeof frame - 17);
  if (which == 3) frame[18] = 4;
  send(4, frame, sizeof frame, MSG_NOSIGNAL);
  wait_forever();
}
