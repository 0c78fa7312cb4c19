import AssetModel
import AssetStore

/// Adds and commits without end, and says which commit has returned: a process for the store's tests to kill.
@main struct StoreWriter {
  static func main() throws {
    let store = try AssetStore(opening: CommandLine.arguments[1])
    let now = StoredMoment(bootIdentifier: "boot", boot: 0, wall: 0)
    var number = Int64(CommandLine.arguments[2]) ?? 0
    while true {
      let specification = DownloadSpecification(
        app: "app", identifier: "\(number)", url: "https://a.example/", transferClass: .background, directory: "/",
        fileName: "f")
      guard let id = try store.add([specification], now: now)[0].job, var job = try store.job(id) else { return }
      job.state = number % 3 == 0 ? .finished : .cancelled
      try store.commit([.job(job)])
      // One write(2): what is killed in mid-line was not said.
      try FileDescriptorOutput.write("\(id.number)\n")
      number += 1
    }
  }
}
