internal import Foundation
internal import LinuxSystem
package import PluginHost

/// Which variables of the environment a library names: whether it reads one isn't seen, but a library that asks getenv(3) for a
/// name has it somewhere.
package enum NamedVariables {
  private static let maxLibraries = 256
  private static let maxBytes = 256 << 20

  /// Those of `names` that stand in the library, in one that it needs, or in one of `later`, which it opens itself. What can't be read
  /// may have all of them.
  package static func found(_ names: Set<String>, in image: PluginImage, later: [String]) -> Set<String> {
    var paths = [image.library.path] + image.neighbours.map(\.path) + later
    var needed = image.elf?.needed ?? []
    var seen: Set<String> = []
    var looked: Set<String> = []
    var found: Set<String> = []
    while found != names, looked.count < maxLibraries {
      if let path = paths.popLast() {
        guard looked.insert(path).inserted else { continue }
        guard let bytes = try? Files.content(of: path, limit: maxBytes) else { return names }
        let data = Data(bytes)
        found.formUnion(names.subtracting(found).filter { data.range(of: Data($0.utf8)) != nil })
        continue
      }
      guard let name = needed.popLast() else { return found }
      guard seen.insert(name).inserted, let next = try? PluginImage(opening: name, searching: true) else { continue }
      paths.append(next.library.path)
      needed += next.elf?.needed ?? []
    }
    return names
  }
}
