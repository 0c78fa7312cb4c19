import Glibc
import LinuxSystem
import Testing

@testable import PluginHost

@Suite(.timeLimit(.minutes(1))) struct RunFoldersTests {
  private let workers = WorkerThreads()

  private func prepared(_ folders: RunFolders) throws -> String {
    folders.prepare()
    workers.wait()
    return try #require(folders.ready)
  }

  @Test("once a run wanted a folder, the next is made ahead, and each run gets its own")
  func madeAhead() throws {
    let folders = RunFolders(workers: workers)
    folders.prepare()
    workers.wait()
    #expect(folders.ready == nil, "most hosts' callers name their folders")
    let first = try folders.take(for: 1)
    let next = try prepared(folders)
    #expect(try prepared(folders) == next, "one is enough")
    let second = try folders.take(for: 2)
    let third = try folders.take(for: 3)
    #expect(second == next)
    #expect(Set([first, second, third]).count == 3)
    #expect(folders.runs == [1, 2, 3])
    for folder in [first, second, third] { #expect(try Files.names(in: folder).isEmpty) }
    for run in folders.runs { #expect(folders.removeEmpty(of: run)) }
    for folder in [first, second, third] { #expect(!Files.exists(folder)) }
    #expect(folders.runs.isEmpty)
    folders.close()
  }

  @Test("a folder that somebody has tidied up is made again, and one of its name is another's")
  func tidiedUp() throws {
    let folders = RunFolders(workers: workers)
    _ = try folders.take(for: 1)
    for isReplaced in [false, true] {
      let ready = try prepared(folders)
      #expect(rmdir(ready) == 0)
      // By another user, as far as anyone knows.
      if isReplaced { #expect(mkdir(ready, 0o777) == 0) }
      let folder = try folders.take(for: 2)
      #expect(Files.isFolder(folder) == true && folder != ready)
      #expect(Files.exists(ready) == isReplaced)
      let open = (try? Files.names(in: "/proc/self/fd")) ?? []
      #expect(!open.contains { Files.link("/proc/self/fd/\($0)")?.hasPrefix(ready) == true })
      #expect(folders.removeEmpty(of: 2))
      rmdir(ready)
    }
    let last = try prepared(folders)
    #expect(rmdir(last) == 0 && mkdir(last, 0o777) == 0)
    folders.close()
    #expect(Files.exists(last), "what isn't this host's stays")
    rmdir(last)
    #expect(folders.removeEmpty(of: 1))
  }

  @Test("only a folder that is empty, and was never full, is removed at once")
  func emptiedAtOnce() throws {
    let folders = RunFolders(workers: workers)
    let (full, large) = (try folders.take(for: 1), try folders.take(for: 2))
    #expect(mkdir("\(full)/folder", 0o700) == 0)
    #expect(!folders.removeEmpty(of: 1))
    // Some filesystems keep the size of a folder that was emptied.
    for index in 0..<400 { #expect(mkdir("\(large)/\(index)-with-a-name-that-takes-some-room", 0o700) == 0) }
    for name in try Files.names(in: large) { #expect(rmdir("\(large)/\(name)") == 0) }
    let keepsItsSize = try Files.identity(of: large).size > 4096
    #expect(folders.removeEmpty(of: 2) == !keepsItsSize)
    for run in [1, 2] as [UInt64] { folders.remove(of: run) }
    for folder in [full, large] { #expect(!Files.exists(folder)) }
    #expect(folders.runs.isEmpty)
    folders.close()
  }

  @Test("a host that ends leaves no folder, one that is just being made included")
  func closed() throws {
    let folders = RunFolders(workers: workers)
    let folder = try folders.take(for: 1)
    let ready = try prepared(folders)
    folders.close()
    #expect(!Files.exists(ready))
    folders.prepare()
    workers.wait()
    #expect(folders.ready == nil)
    folders.remove(of: 1)
    #expect(!Files.exists(folder))
  }
}
