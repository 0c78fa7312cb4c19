internal import Basics
internal import PluginHost

/// A library as every command finds it: a name without a slash that the system's loader doesn't know is a file here.
enum LibraryPath {
  static func of(_ library: String) -> String {
    library.hasSlash || PluginImage.isFoundByLoader(library) ? library : "./\(library)"
  }
}
