import CExtension
import OSLog
import Testing

extension HostSuite {
  @Suite(.timeLimit(.minutes(1))) struct Log {
    private let host = FakeHost()
    private let logger = Logger(subsystem: "com.example", category: "tests")

    init() { ba_set_current_host(host.table) }

    @Test func levelsReachTheHost() {
      logger.trace("a")
      logger.debug("b")
      logger.info("c")
      logger.notice("d")
      logger.log("e")
      logger.log(level: .error, "f")
      logger.warning("g")
      logger.error("h")
      logger.critical("i")
      logger.fault("j \("ü", privacy: .public)")
      os_log("k")
      #expect(host.state.withLock { $0.levels } == [0, 0, 1, 2, 2, 3, 3, 3, 4, 4, 2])
      #expect(host.state.withLock { $0.log.suffix(2) } == ["com.example:tests j ü", ": k"])
    }
  }
}
