import Foundation
import TestSupport
import Testing

/// Queues and tasks inside the walls: libdispatch asks /proc, which isn't there, and for urgency, which no plugin has.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct ConcurrencyTests {
  private static let library: String = {
    let folder = ProcessFolder.path + "/\(UUID().uuidString)"
    let source = """
      import Dispatch
      import Foundation

      @_cdecl("queues") public func queues() -> Int32 {
        let group = DispatchGroup()
        for _ in 0..<6 { DispatchQueue.global().async(group: group) { Thread.sleep(forTimeInterval: 0.03) } }
        group.wait()
        return 6
      }

      @_cdecl("dependants") public func dependants() -> Int32 {
        let gate = DispatchSemaphore(value: 0)
        let group = DispatchGroup()
        for _ in 0..<4 { DispatchQueue.global().async(group: group) { gate.wait() } }
        DispatchQueue.global().async { for _ in 0..<4 { gate.signal() } }
        group.wait()
        return 4
      }

      @_cdecl("urgent") public func urgent() -> Int32 {
        let group = DispatchGroup()
        for quality in [DispatchQoS.QoSClass.userInteractive, .userInitiated, .utility, .background] {
          DispatchQueue.global(qos: quality).async(group: group) {}
        }
        group.wait()
        return 4
      }

      @_cdecl("tasks") public func tasks() -> Int32 {
        let done = DispatchSemaphore(value: 0)
        nonisolated(unsafe) var sum: Int32 = 0
        Task.detached(priority: .high) {
          sum = await withTaskGroup(of: Int32.self) { group in
            for number in 1...8 { group.addTask { Thread.sleep(forTimeInterval: 0.02); return Int32(number) } }
            return await group.reduce(0, +)
          }
          done.signal()
        }
        done.wait()
        return sum
      }
      """
    try? FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try? source.write(toFile: "\(folder)/work.swift", atomically: true, encoding: .utf8)
    _ = try? Workspace.run(
      ["-c", "cd '\(folder)' && swiftc -O -parse-as-library -emit-library -o work.so work.swift"], program: "/bin/bash")
    return "\(folder)/work.so"
  }()

  @Test(arguments: [("queues", 6), ("dependants", 4), ("urgent", 4), ("tasks", 36)], [false, true])
  func works(_ function: (name: String, result: Int), isCold: Bool) throws {
    for _ in 0..<3 {
      let words = ["call", Self.library, function.name, "i32()", "--json"] + (isCold ? ["--cold"] : [])
      let finished = try Workspace.run(words)
      let object = try #require(try JSONSerialization.jsonObject(with: Data(finished.output.utf8)) as? [String: Any])
      #expect(object["result"] as? Int == function.result, "\(finished.errors)")
      #expect((object["denials"] as? [Any])?.isEmpty == true, "\(object["denials"] ?? "")")
    }
  }
}
