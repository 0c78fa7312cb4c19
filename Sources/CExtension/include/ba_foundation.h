/* What libFoundation defines and declares nowhere. */
#ifndef BA_FOUNDATION_H
#define BA_FOUNDATION_H

#include <stdint.h>

/* Writes what UserDefaults hold. */
extern const void *const kCFPreferencesCurrentApplication;
extern uint8_t CFPreferencesAppSynchronize(const void *application);

/* Where the name lies that NSLog begins its lines with; otherwise CoreFoundation asks /proc for it. */
extern const char **_CFGetProgname(void);

#endif
