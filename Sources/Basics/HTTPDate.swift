internal import Glibc

/// Dates as HTTP writes them (RFC 9110, 5.6.7): the preferred form and the two obsolete ones, to the letter. Day and
/// weekday have to fit: a date that contradicts itself is garbage. The C library counts the days: timegm(3), gmtime_r(3).
package enum HTTPDate {
  private typealias Bytes = ArraySlice<UInt8>

  private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
  private static let weekdays = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
  // Every answer has two dates: they are read as bytes.
  private static let monthNames = months.map { Array($0.utf8) }
  private static let weekdayNames = weekdays.map { Array($0.utf8) }
  private static let zone = Array("GMT".utf8)

  /// Seconds since 1970; nil for what isn't a date in one of the three forms.
  package static func seconds(_ text: String) -> Int64? {
    let bytes = Array(text.utf8.prefix(40))
    guard (24...33).contains(bytes.count), bytes.allSatisfy({ (0x20..<0x7f).contains($0) }) else { return nil }
    let parts = split(bytes[...], at: " ")
    let hasComma = parts[0].last == UInt8(ascii: ",")
    switch parts.count {
    // Sun, 06 Nov 1994 08:49:37 GMT
    case 6 where hasComma && parts[5].elementsEqual(zone):
      return seconds(
        weekday: weekday(parts[0].dropLast(), isShort: true), day: number(parts[1], 2), month: parts[2],
        year: number(parts[3], 4), time: parts[4])
    // Sunday, 06-Nov-94 08:49:37 GMT
    case 4 where hasComma && parts[3].elementsEqual(zone):
      let date = split(parts[1], at: "-")
      guard date.count == 3, let short = number(date[2], 2) else { return nil }
      // Two digits meant the years around 1994. A fixed pivot needs no clock.
      return seconds(
        weekday: weekday(parts[0].dropLast(), isShort: false), day: number(date[0], 2), month: date[1],
        year: short < 70 ? 2000 + short : 1900 + short, time: parts[2])
    // Sun Nov  6 08:49:37 1994
    case 6 where parts[2].isEmpty:
      return seconds(
        weekday: weekday(parts[0], isShort: true), day: number(parts[3], 1), month: parts[1], year: number(parts[5], 4),
        time: parts[4])
    case 5:
      return seconds(
        weekday: weekday(parts[0], isShort: true), day: number(parts[2], 2), month: parts[1], year: number(parts[4], 4),
        time: parts[3])
    default: return nil
    }
  }

  /// The preferred form of seconds since 1970. Years that four digits can't hold become the nearest that they can.
  package static func text(_ seconds: Int64) -> String {
    var moment = time_t(min(max(seconds, -62_135_596_800), 253_402_300_799))
    var parts = tm()
    gmtime_r(&moment, &parts)
    return "\(weekdays[Int(parts.tm_wday)].prefix(3)), \(padded(parts.tm_mday, 2)) \(months[Int(parts.tm_mon)]) "
      + "\(padded(parts.tm_year + 1900, 4)) \(padded(parts.tm_hour, 2)):\(padded(parts.tm_min, 2)):"
      + "\(padded(parts.tm_sec, 2)) GMT"
  }

  private static func seconds(weekday: Int32?, day: Int32?, month: Bytes, year: Int32?, time: Bytes) -> Int64? {
    let clock = split(time, at: ":")
    guard let weekday, let day, let month = monthNames.firstIndex(where: month.elementsEqual), let year, year >= 1,
      clock.count == 3,
      let hour = number(clock[0], 2), hour < 24, let minute = number(clock[1], 2), minute < 60,
      // 60 is a leap second.
      let second = number(clock[2], 2), second <= 60
    else { return nil }
    var parts = tm()
    (parts.tm_year, parts.tm_mon, parts.tm_mday) = (year - 1900, Int32(month), day)
    let start = timegm(&parts)
    // timegm makes the first of March of the 30th of February: only a day that exists comes back as it went.
    guard parts.tm_mday == day, parts.tm_wday == weekday else { return nil }
    return Int64(start) + Int64(hour * 3600 + minute * 60 + second)
  }

  private static func split(_ bytes: Bytes, at separator: Unicode.Scalar) -> [Bytes] {
    bytes.split(separator: UInt8(ascii: separator), omittingEmptySubsequences: false)
  }

  private static func weekday(_ name: Bytes, isShort: Bool) -> Int32? {
    weekdayNames.firstIndex { name.elementsEqual(isShort ? $0.prefix(3) : $0[...]) }.map(Int32.init)
  }

  private static func number(_ text: Bytes, _ digits: Int) -> Int32? {
    guard text.count == digits, text.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains) else { return nil }
    return text.reduce(0) { $0 * 10 + Int32($1 - UInt8(ascii: "0")) }
  }

  private static func padded(_ number: Int32, _ digits: Int) -> String {
    let text = String(number)
    return String(repeating: "0", count: max(0, digits - text.utf8.count)) + text
  }
}
