// An app that writes down every callback before it goes on, so that a test can compare them one by one after kills.
//
// Each line of standard input is a download: IDENTIFIER URL SIZE foreground|background. It ends with its input, and in the
// callback of a file whose name begins with `crash`.
import BackgroundAssets
import Glibc

@main
struct DeliveryRecorder {
  static let group = "group.com.example.sessions"

  static func main() {
    umask(0)
    let files = FileManager.default
    // The service may be starting just now.
    var container = files.containerURL(forSecurityApplicationGroupIdentifier: group)
    while container == nil {
      usleep(10_000)
      container = files.containerURL(forSecurityApplicationGroupIdentifier: group)
    }
    let record = CallbackRecord(folder: container!.path + "/Library/Caches")
    let recorder = Recorder(record)
    BADownloadManager.shared.delegate = recorder
    record.append("ready")
    while let line = readLine() {
      let words = line.split(separator: " ").map(String.init)
      guard words.count == 4, let url = URL(string: words[1]), let size = Int(words[2]) else { exit(64) }
      let download = BAURLDownload(
        identifier: words[0], request: URLRequest(url: url), essential: false, fileSize: size,
        applicationGroupIdentifier: group, priority: .default)
      do {
        if words[3] == "foreground" {
          try BADownloadManager.shared.startForegroundDownload(download)
        } else {
          try BADownloadManager.shared.scheduleDownload(download)
        }
      } catch {
        record.append("refused \(words[0]) \((error as NSError).code)")
      }
    }
    withExtendedLifetime(recorder) {}
  }
}

/// One line for each callback, written by one call: a kill leaves it whole or leaves it out.
struct CallbackRecord: Sendable {
  let shelf: String
  private let file: Int32

  init(folder: String) {
    shelf = folder + "/Sessions"
    try? FileManager.default.createDirectory(
      atPath: shelf, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o777])
    file = open(folder + "/record-app", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o666)
  }

  func append(_ line: String) {
    let bytes = Array((line + "\n").utf8)
    guard write(file, bytes, bytes.count) == bytes.count else { abort() }
  }
}

final class Recorder: NSObject, BADownloadManagerDelegate {
  private let record: CallbackRecord

  init(_ record: CallbackRecord) { self.record = record }

  func download(_ download: BADownload, finishedWithFileURL fileURL: URL) {
    let identifier = download.identifier
    let place = "\(record.shelf)/\(identifier)"
    record.append("offered \(identifier)")
    if identifier.hasPrefix("crash") { abort() }
    if access(place, F_OK) == 0 { record.append("doubled \(identifier)") }
    // The work of a delegate, so that a kill can meet it.
    usleep(UInt32.random(in: 0...5000))
    if rename(fileURL.path, place) != 0 { record.append("lost \(identifier) \(errno)") }
    usleep(UInt32.random(in: 0...5000))
    record.append("done \(identifier)")
  }

  func download(_ download: BADownload, failedWithError error: any Error) {
    record.append("failed \(download.identifier) \((error as NSError).code)")
  }
}
