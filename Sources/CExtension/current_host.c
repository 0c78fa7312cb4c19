#include "ba_current_host.h"

#include <stdatomic.h>

static _Atomic(const ba_host *) current;

const ba_host *ba_current_host(void) { return atomic_load_explicit(&current, memory_order_acquire); }

void ba_set_current_host(const ba_host *host) { atomic_store_explicit(&current, host, memory_order_release); }
