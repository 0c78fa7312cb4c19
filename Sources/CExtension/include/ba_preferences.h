/* The one function of CoreFoundation that writes what UserDefaults hold. Defined by libFoundation. */
#ifndef BA_PREFERENCES_H
#define BA_PREFERENCES_H

#include <stdint.h>

extern const void *const kCFPreferencesCurrentApplication;
extern uint8_t CFPreferencesAppSynchronize(const void *application);

#endif
