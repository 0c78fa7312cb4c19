internal import Glibc
internal import LinuxSystem
internal import Sandbox

/// The filters of a host, each compiled once. One that is wanted a second time is made smaller by another thread: that takes a
/// millisecond or two, and every later runner installs it a tenth of a millisecond faster. Loop thread only.
final class FilterSupply {
  private let loop: EventLoop
  private let workers: WorkerThreads
  private var programs: [SeccompProgram.Options: SeccompProgram] = [:]
  /// Those that are as small as they get, or will be.
  private var compacted: Set<SeccompProgram.Options> = []

  init(loop: EventLoop, workers: WorkerThreads) {
    self.loop = loop
    self.workers = workers
  }

  func program(_ options: SeccompProgram.Options) throws(SystemCallError) -> SeccompProgram {
    if let known = programs[options] {
      if compacted.insert(options).inserted { compact(known, options) }
      return known
    }
    do throws(SeccompProgram.CompileError) {
      let program = try SeccompProgram(options)
      programs[options] = program
      return program
    } catch {
      throw SystemCallError("seccomp", code: EINVAL, subject: "compile: \(error)")
    }
  }

  private func compact(_ program: SeccompProgram, _ options: SeccompProgram.Options) {
    nonisolated(unsafe) weak let supply = self
    workers.submit { [loop] in
      let compact = program.compacted
      loop.submit { supply?.programs[options] = compact }
    }
  }
}
