internal import Glibc

/// Dates as HTTP writes them (IMF-fixdate, RFC 9110).
enum HTTPDate {
  private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
  private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

  static var now: Int { time(nil) }

  static func text(_ seconds: Int) -> String {
    var moment = time_t(seconds)
    var parts = tm()
    guard gmtime_r(&moment, &parts) != nil else { return text(0) }
    func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
    let year = String(parts.tm_year + 1900)
    let padded = String(repeating: "0", count: max(4 - year.count, 0)) + year
    return """
      \(days[Int(parts.tm_wday)]), \(two(parts.tm_mday)) \(months[Int(parts.tm_mon)]) \(padded) \
      \(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec)) GMT
      """
  }

  /// Seconds since 1970 of a date in the form above; nil for anything else.
  static func seconds(_ text: String) -> Int? {
    let words = text.split(separator: " ")
    guard words.count == 6, words[5] == "GMT", let day = Int32(words[1]),
      let month = months.firstIndex(of: String(words[2])),
      let year = Int32(words[3]), (1900...9999).contains(year)
    else { return nil }
    let clock = words[4].split(separator: ":").compactMap { Int32($0) }
    guard clock.count == 3, (1...31).contains(day), clock[0] < 24, clock[1] < 60, clock[2] < 61 else { return nil }
    var parts = tm()
    (parts.tm_year, parts.tm_mon, parts.tm_mday) = (year - 1900, Int32(month), day)
    (parts.tm_hour, parts.tm_min, parts.tm_sec) = (clock[0], clock[1], clock[2])
    return timegm(&parts)
  }
}
