internal import AssetModel
internal import Downloads
internal import Foundation
internal import LinuxSystem

/// How a fetch says things.
enum FetchWords {
  /// Why a download doesn't move. What stops the whole command isn't a wait: the user has to do something.
  static func wait(_ explanation: Explanation) -> String {
    switch explanation.cause {
    case .disk(let shortage): return "stops: \(stop(shortage))"
    case .journal(let what, isOfVolume: true, _):
      return
        "stops: the journal can't be written (\(Printable.text(what))): when it can, the same command goes on"
    case .volume(let code, _):
      return
        "stops: its volume fails (\(SystemCallError.message(code))): when it works again, the same command goes on"
    case .retryAfter(let origin, _):
      return "waits\(time(explanation)): \(origin) asked to be left alone for that long"
    case .retrying(let error, _, _):
      return "waits\(time(explanation)), then tries again\(error.isEmpty ? "" : ": \(Printable.text(error))")"
    case .publication(let retest, let limit, _):
      return
        "waits\(time(explanation)), then asks again (\(retest) of \(limit)): the server answered 404, "
        + "and a new file may take its time"
    case .lock(let holder): return "waits\(time(explanation)): \(Printable.text(holder)) is fetching this file, too"
    default:
      let data = explanation.data.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
      return "waits\(time(explanation)): \(explanation.code.rawValue)\(data.isEmpty ? "" : " (\(data))")"
    }
  }

  private static func stop(_ shortage: SpaceShortage) -> String {
    let place = Printable.text(shortage.directory)
    if shortage.lacksInodes {
      return
        "the volume of \(place) takes no further file, however small (no inode is left): delete some, and the same "
        + "command goes on"
    }
    if let backgroundFloor = shortage.backgroundFloor, shortage.free < backgroundFloor {
      return
        "the volume of \(place) has \(size(shortage.free)) free, and no background download starts below "
        + "\(size(backgroundFloor)): make room, and the same command goes on"
    }
    let need = shortage.need > 0 ? "; \(size(shortage.need)) are needed" : ""
    return "the volume of \(place) has \(size(shortage.free)) free\(need), and \(size(shortage.floor)) stay free: "
      + "make room, and the same command goes on"
  }

  private static func time(_ explanation: Explanation) -> String {
    explanation.endsIn.map { String(format: " for %.0f s", $0) } ?? ""
  }

  /// How long `bytes` take at that rate; nil: unknown.
  static func timeLeft(_ bytes: Int64?, at bytesPerSecond: Double) -> String? {
    guard let bytes, bytesPerSecond >= 1 else { return nil }
    let exact = (Double(max(0, bytes)) / bytesPerSecond).rounded(.up)
    guard exact < 100 * 3600 else { return "over 99 h" }
    let seconds = Int(exact)
    return seconds < 3600
      ? String(format: "%d:%02d left", seconds / 60, seconds % 60)
      : String(format: "%d:%02d:%02d left", seconds / 3600, seconds / 60 % 60, seconds % 60)
  }

  static func size(_ bytes: Int64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"]
    var value = Double(bytes)
    var unit = 0
    while value >= 1024, unit < units.count - 1 {
      value /= 1024
      unit += 1
    }
    return unit == 0 ? "\(bytes) B" : String(format: "%.1f %@", value, units[unit])
  }
}
