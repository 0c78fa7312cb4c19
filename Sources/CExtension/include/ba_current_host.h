/* Where the modules that are linked into one Swift extension (BackgroundAssets, os) find the host they talk to. */
#ifndef BA_CURRENT_HOST_H
#define BA_CURRENT_HOST_H

#include "background_assets_extension.h"

/* The host of the entry point that ran first in this process; NULL in an app and before the first call. Atomic. */
const ba_host *ba_current_host(void);
void ba_set_current_host(const ba_host *host);

#endif
