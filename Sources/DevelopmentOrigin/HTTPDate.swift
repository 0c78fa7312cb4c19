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

  /// Seconds since 1970 of a date in any of the three forms that a server has to understand (RFC 9110, 5.6.7); nil for
  /// anything else.
  static func seconds(_ text: String) -> Int? {
    let words = text.split(separator: " ").map(String.init)
    switch words.count {
    // Sun, 06 Nov 1994 08:49:37 GMT
    case 6 where words[5] == "GMT":
      return seconds(day: words[1], month: words[2], year: Int32(words[3]), clock: words[4])
    // Sunday, 06-Nov-94 08:49:37 GMT
    case 4 where words[3] == "GMT":
      let date = words[1].split(separator: "-").map(String.init)
      guard date.count == 3, date[2].utf8.count == 2, let year = Int32(date[2]) else { return nil }
      // Two digits meant the years around 1994.
      return seconds(day: date[0], month: date[1], year: year < 70 ? 2000 + year : 1900 + year, clock: words[2])
    // Sun Nov  6 08:49:37 1994
    case 5: return seconds(day: words[2], month: words[1], year: Int32(words[4]), clock: words[3])
    default: return nil
    }
  }

  private static func seconds(day: String, month: String, year: Int32?, clock: String) -> Int? {
    let clock = clock.split(separator: ":").compactMap { Int32($0) }
    guard let day = Int32(day), (1...31).contains(day), let month = months.firstIndex(of: month), let year,
      (1900...9999).contains(year), clock.count == 3, (0..<24).contains(clock[0]), (0..<60).contains(clock[1]),
      (0..<61).contains(clock[2])
    else { return nil }
    var parts = tm()
    (parts.tm_year, parts.tm_mon, parts.tm_mday) = (year - 1900, Int32(month), day)
    (parts.tm_hour, parts.tm_min, parts.tm_sec) = (clock[0], clock[1], clock[2])
    return timegm(&parts)
  }
}
