import Foundation

/// What a service with many apps and downloads costs, and how long its clients wait. Run by Examples/benchmark-service:
/// service-benchmark FOLDER [APPS], the folder for the state (default: /dev/shm), and how many apps of 500 downloads (200).
@main
enum ServiceBenchmark {
  static let apps = CommandLine.arguments.dropFirst(2).first.flatMap { Int($0) } ?? 200
  static let downloads = 500 * apps

  static func main() async throws {
    switch CommandLine.arguments.dropFirst().first {
    case "client": try AppClient.run()
    case "echo": BareSocket.echo()
    case "abuse":
      let arguments = CommandLine.arguments.dropFirst(2)
      guard let kind = arguments.first.flatMap(Abuse.init), let socket = arguments.last else { return }
      kind.run(socket)
    case let parent: try await measure(in: parent ?? "/dev/shm")
    }
  }

  private static func measure(in parent: String) async throws {
    let world = try BenchmarkWorld(in: parent)
    defer { world.remove() }
    let load = try String(contentsOfFile: "/proc/loadavg", encoding: .utf8).prefix(14)
    say("state in \(parent); load average \(load)")
    try world.start()
    try await world.hold()
    try await clients(world)
    // What hostile clients left isn't what apps take.
    try world.stop()
    try world.start()
    try await manyDownloads(world)
  }

  /// One app that measures for itself, on the public API.
  private static func clients(_ world: BenchmarkWorld) async throws {
    world.publish(0)
    try await world.install("com.example.client", executable: CommandLine.arguments[0])
    say(try await world.launch("com.example.client", ["client"]), terminator: "")
  }

  private static func manyDownloads(_ world: BenchmarkWorld) async throws {
    let clock = ContinuousClock()
    world.publish(downloads / apps)
    let installing = try await clock.measure {
      for number in 0..<apps { try await world.install("com.example.app\(number)") }
    }
    let count = try await world.downloadCount()
    say("\(apps) apps with \(count) downloads, installed one after the other in \(seconds(installing)) s")
    report(world, "after the installations")
    try world.stop()
    for round in 1...3 {
      let ready = try world.start()
      say("start \(round) to ready: \(seconds(ready)) s (bound: 1 s)")
      if round < 3 { try world.stop() }
    }
    // What a start leaves to be done comes to its end.
    try await Task.sleep(for: .seconds(10))
    report(world, "after a start")
    let before = world.processorTime
    let idle = 30
    try await Task.sleep(for: .seconds(idle))
    let used = world.processorTime - before
    say(
      "idle: \(String(format: "%.3f", used / Double(idle) * 100)) % of a core over \(idle) s (bound: 0.1 %)")
    report(world, "idle")
    try world.stop()
  }

  private static func report(_ world: BenchmarkWorld, _ when: String) {
    let memory = world.memory
    say("memory \(when): \(memory.resident >> 10) MiB RSS, \(memory.proportional >> 10) MiB PSS (bound: 150 MiB)")
  }

  /// At once, also into a pipe.
  static func say(_ text: String, terminator: String = "\n") {
    FileHandle.standardOutput.write(Data((text + terminator).utf8))
  }

  static func seconds(_ duration: Duration) -> String { String(format: "%.3f", duration / .seconds(1)) }
}
