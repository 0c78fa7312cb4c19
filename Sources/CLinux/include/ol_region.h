#ifndef OL_REGION_H
#define OL_REGION_H

#include <stddef.h>
#include <stdint.h>

/* The memory that a host and one runner share for calls: a page of words, then an area for questions and one for answers. The
 * plugin can write to all of it, so the host reads each word once and copies before it decodes. */
enum {
  OL_REGION_WORDS = 4096,
  OL_REGION_AREA = 4 << 20,
  OL_REGION_BYTES = OL_REGION_WORDS + 2 * OL_REGION_AREA,
};

/* Where a frame lies: in its area, or on the control socket, as the end of it does. A call that is nothing but its words has none. */
enum { OL_IN_MEMORY = 0, OL_ON_SOCKET = 1, OL_IN_WORDS = 2 };

/* Arguments that there is room for beside a question, and functions that a runner remembers. */
enum { OL_MAX_WORDS = 8, OL_FUNCTIONS = 64 };

/* What wakes the one who waits for a word: nothing, futex(2), or a frame on the control socket. */
enum { OL_AWAKE = 0, OL_WAITS_FOR_WORD = 1, OL_WAITS_FOR_SOCKET = 2 };

/* Written by the host alone, unless the plugin does; `sequence` is written after all that belongs to it. */
struct ol_question {
  uint32_t sequence;
  uint32_t place;
  uint32_t kind;
  /* Bytes of the frame, or words. */
  uint32_t length;
  uint64_t id;
  /* Bytes of the area for answers that may be used. */
  uint32_t room;
  /* For so many nanoseconds the runner spins for the next question before it sleeps. */
  uint32_t spin_limit;
  /* How the host waits for the answer. */
  uint32_t host_waits;
  /* Where it asked, as ol_processor. */
  uint32_t host_processor;
  /* The last question whose answer the host has copied, if that was long: its buffers may be cleared for the next one. */
  uint32_t taken;
  /* Which of the functions that the runner remembers is called by its words; of a frame, as which one it is to remember what that
   * calls, counted from 1. */
  uint32_t function;
  /* The word that a runner sleeps for: another one with each question, and with each announcement of one. */
  uint32_t bell;
};

/* Written by the runner, and by the plugin. */
struct ol_answer {
  uint32_t sequence;
  uint32_t kind;
  uint32_t length;
  uint32_t runner_waits;
  uint64_t id;
  /* Where the runner answered, as ol_processor. */
  uint32_t processor;
  /* Whether the runner has sent something on a socket since its last answer. */
  uint32_t has_sent;
  /* What the function returned, where it was called by words. */
  uint64_t word;
};

/* On lines of the cache that the processor doesn't fetch together. */
struct ol_words {
  struct ol_question question;
  uint64_t words[OL_MAX_WORDS];
  uint8_t gap[256 - sizeof(struct ol_question) - OL_MAX_WORDS * sizeof(uint64_t)];
  struct ol_answer answer;
};

/* An empty file in memory of so many bytes, of which there is no page yet. Its size can't be changed any more (memfd_create(2),
 * fcntl(2), F_ADD_SEALS). EFBIG where this process may not make files as long. */
int ol_region_create(size_t bytes, int *descriptor);

/* Maps all of it for reading and writing, and for no child (MADV_DONTFORK). */
int ol_region_map(int descriptor, size_t bytes, void **start);

/* Gives the pages of a range to the calling process, as nothing but zeros where there are none (fallocate(2)). */
int ol_region_fill(int descriptor, size_t offset, size_t count);

/* Bytes that the whole file takes. */
int ol_region_used(int descriptor, uint64_t *bytes);

/* Frees every page. What is mapped can still be read. */
void ol_region_free(void *start, size_t bytes);

static inline uint32_t ol_region_load(const uint32_t *word) { return __atomic_load_n(word, __ATOMIC_SEQ_CST); }

static inline void ol_region_store(uint32_t *word, uint32_t value) { __atomic_store_n(word, value, __ATOMIC_SEQ_CST); }

/* Only where it is `before`. */
static inline void ol_region_replace(uint32_t *word, uint32_t before, uint32_t value) {
  __atomic_compare_exchange_n(word, &before, value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

static inline uint32_t *ol_question_word(struct ol_words *words) { return &words->question.sequence; }
static inline uint32_t *ol_bell(struct ol_words *words) { return &words->question.bell; }
static inline uint32_t *ol_answer_word(struct ol_words *words) { return &words->answer.sequence; }
static inline uint32_t *ol_host_waits(struct ol_words *words) { return &words->question.host_waits; }
static inline uint32_t *ol_taken(struct ol_words *words) { return &words->question.taken; }
static inline uint32_t *ol_runner_waits(struct ol_words *words) { return &words->answer.runner_waits; }

/* Where the runner answered last, or what the plugin has written there. */
static inline uint32_t ol_runner_processor(const struct ol_words *words) {
  return ((const volatile struct ol_answer *)&words->answer)->processor;
}

/* Each word is read once. */
static inline struct ol_question ol_read_question(const struct ol_words *words) {
  const volatile struct ol_question *from = &words->question;
  struct ol_question copy = {.sequence = ol_region_load(&words->question.sequence)};
  copy.place = from->place;
  copy.kind = from->kind;
  copy.length = from->length;
  copy.id = from->id;
  copy.room = from->room;
  copy.spin_limit = from->spin_limit;
  copy.host_processor = from->host_processor;
  copy.function = from->function;
  return copy;
}

/* The words of a question, each read once; at most OL_MAX_WORDS. */
static inline void ol_read_words(const struct ol_words *words, uint32_t count, uint64_t *to) {
  const volatile uint64_t *from = words->words;
  for (uint32_t index = 0; index < count && index < OL_MAX_WORDS; index++) to[index] = from[index];
}

static inline struct ol_answer ol_read_answer(const struct ol_words *words) {
  const volatile struct ol_answer *from = &words->answer;
  struct ol_answer copy = {.sequence = ol_region_load(&words->answer.sequence)};
  copy.kind = from->kind;
  copy.length = from->length;
  copy.id = from->id;
  copy.has_sent = from->has_sent;
  copy.word = from->word;
  return copy;
}

/* Before the question whose words they are. */
static inline void ol_put_word(struct ol_words *words, uint32_t index, uint64_t word) {
  if (index < OL_MAX_WORDS) ((volatile uint64_t *)words->words)[index] = word;
}

/* The sequence is written after the rest, and then the bell. The host looks at the answer and sleeps for nothing yet. */
static inline void ol_ask(struct ol_words *words, struct ol_question question) {
  volatile struct ol_question *to = &words->question;
  to->place = question.place;
  to->kind = question.kind;
  to->length = question.length;
  to->id = question.id;
  to->room = question.room;
  to->spin_limit = question.spin_limit;
  to->host_processor = question.host_processor;
  to->host_waits = OL_AWAKE;
  to->taken = question.taken;
  to->function = question.function;
  ol_region_store(&words->question.sequence, question.sequence);
  ol_region_store(&words->question.bell, question.bell);
}

/* A question follows from that processor: a runner that wakes spins for it. */
static inline void ol_announce(struct ol_words *words, uint32_t processor, uint32_t bell) {
  *(volatile uint32_t *)&words->question.host_processor = processor;
  ol_region_store(&words->question.bell, bell);
}

static inline void ol_answer(struct ol_words *words, struct ol_answer answer) {
  volatile struct ol_answer *to = &words->answer;
  to->kind = answer.kind;
  to->length = answer.length;
  to->id = answer.id;
  to->processor = answer.processor;
  to->has_sent = answer.has_sent;
  to->word = answer.word;
  ol_region_store(&words->answer.sequence, answer.sequence);
}

/* Spins until the word has changed, for so many nanoseconds at most. Whether it has. */
int ol_region_spin(const uint32_t *word, uint32_t before, uint64_t nanoseconds);

enum { OL_TIME_IS_OVER = 0, OL_IS_ASKED = 1, OL_IS_TAKEN = 2 };

/* Spins until the host has asked another question than `last` or has copied the answer to that one, for so many nanoseconds
 * at most. */
int ol_region_spin_until_taken(struct ol_words *words, uint32_t last, uint64_t nanoseconds);

/* Sleeps until the threads that wait for the word are woken, if it hasn't changed before, or for so many nanoseconds (futex(2)). */
void ol_region_sleep(const uint32_t *word, uint32_t before, uint64_t nanoseconds);

void ol_region_wake(const uint32_t *word);

/* Processors on which this thread may run: of those that are online, those of its affinity. At least 1. */
int ol_usable_processors(void);

/* On which processor this thread runs: its number and 1, or 0 where that isn't known (sched_getcpu(3), mostly without a system
 * call). It may run on another one at any time. */
uint32_t ol_processor(void);

/* Has this thread go on on another processor, of those on which it may run: its affinity is narrowed and widened again
 * (sched_setaffinity(2)). EINVAL where there is no other. */
int ol_change_processor(void);

/* Whether there is something to read on one of two descriptors. */
int ol_is_either_readable(int first, int second);

/* Whether nothing more comes from the other end of a socket, nor has come that wasn't read. */
int ol_is_finished(int socket);

#endif
