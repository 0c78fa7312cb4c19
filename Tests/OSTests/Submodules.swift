// Submodules as real sources import them.
import OSLog
import os.lock
import os.log

private let submodules = (OSLog.default, Logger(), OSAllocatedUnfairLock())
