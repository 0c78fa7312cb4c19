/// The names by which the kernel comes from a path to what it leads to (path_resolution(7)).
package enum LinkHops {
  private static let maxLinks = 40

  /// One for each symbolic link on the way, the last without any. `link`: where one leads; nil for anything else.
  package static func all(from path: String, link: (String) -> String?) -> [String] {
    var (hops, links) = ([String](), 0)
    var (done, rest) = ([String](), path.pathNames[...])
    while let next = rest.popFirst() {
      if next == ".." {
        _ = done.popLast()
        continue
      }
      guard let target = link(joined(done + [next])) else {
        done.append(next)
        continue
      }
      links += 1
      guard links <= maxLinks else { return [] }
      if target.isAbsolutePath { done = [] }
      rest = target.pathNames[...] + rest
      while rest.first == ".." {
        rest.removeFirst()
        _ = done.popLast()
      }
      // What lies behind another link has no name of its own yet.
      if !rest.contains("..") { hops.append(joined(done + rest)) }
    }
    let place = joined(done)
    return links == 0 || hops.last == place ? hops : hops + [place]
  }

  private static func joined(_ parts: [String]) -> String { "/" + parts.joined(separator: "/") }
}
