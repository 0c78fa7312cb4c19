/* Wants its day's budget to end in mid-call: with `--wall` above what is left.
 *
 * H97: With a budget left that is less than the CPU limit: runtimeBudgetExhausted; else the CPU limit.
 *   call void()
 *   with --cpu 500ms
 *   expect cpuTimeExceeded|runtimeBudgetExhausted
 */
#include "shared.h"

EXPORT void h97_use_everything(void) { burn(1e9); }
