/* The other half of load/cycle.c. */
#include "hostile.h"

extern int cycle_back(void);
EXPORT int cycle_value(void) { return cycle_back() + 1; }
