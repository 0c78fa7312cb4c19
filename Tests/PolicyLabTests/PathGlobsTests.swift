import Sandbox
import Testing

@testable import PolicyLab

@Suite(.timeLimit(.minutes(1))) struct PathGlobsTests {
  @Test(
    "paths that differ in a part of one name have a pattern, and others have none",
    arguments: [
      (["/srv/a.db", "/srv/b.db"], ["/srv/*.db"]), (["/srv/page1.txt", "/srv/page22.txt"], ["/srv/page*.txt"]),
      (["/srv/f1", "/srv/f2", "/srv/f33"], ["/srv/f*"]), (["/srv/cpu0/size", "/srv/cpu1/size"], ["/srv/cpu*/size"]),
      (["/srv/de/words", "/srv/fr/words"], ["/srv/*/words"]), (["/srv/a[1].db", "/srv/a[2].db"], ["/srv/a\\[*].db"]),
      (["/srv/a.db", "/srv/b.db", "/srv/a.ini", "/srv/b.ini"], ["/srv/*.db", "/srv/*.ini"]),
      // Two names differ; what they have in common isn't said by one name; the whole folder; a folder of the root; one alone.
      (["/srv/a/b.db", "/srv/c/d.db"], []), (["/srv/hosts", "/srv/passwd"], []), (["/srv/1", "/srv/2"], []),
      (["/srv/words", "/opt/words"], []), (["/srv/a.db"], []), ([], []), (["/srv/.a.db", "/srv/b.db"], []),
    ] as [([String], [String])])
  func found(paths: [String], patterns: [String]) {
    let found = PathGlobs.found(in: paths)
    #expect(found.map(\.pattern.text).sorted() == patterns)
    #expect(found.allSatisfy { glob in glob.paths.allSatisfy { glob.pattern.covers($0) } })
    #expect(Set(found.flatMap(\.paths)).count == found.flatMap(\.paths).count, "each path is in one of them")
  }
}
