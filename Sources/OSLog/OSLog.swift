// Apple's OSLog has the same Logger as os; sources import whichever they like.
@_exported public import os
