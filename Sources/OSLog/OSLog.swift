// Apple's OSLog has the same Logger as os; sources import whichever they like.
// Its own brings Foundation along, which files with `extension Logger` rely on.
@_exported public import Foundation
@_exported public import os
