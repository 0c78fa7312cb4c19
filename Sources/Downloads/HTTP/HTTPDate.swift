/// Dates as HTTP writes them (RFC 9110, 5.6.7): the preferred form and the two obsolete ones, to the letter. Day and
/// weekday have to fit: a date that contradicts itself is garbage.
enum HTTPDate {
  private typealias Bytes = ArraySlice<UInt8>

  private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
  private static let weekdays = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
  // Every answer has two dates: they are read as bytes.
  private static let monthNames = months.map { Array($0.utf8) }
  private static let weekdayNames = weekdays.map { Array($0.utf8) }
  private static let zone = Array("GMT".utf8)

  /// Seconds since 1970.
  static func seconds(_ text: String) -> Int64? {
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

  /// The preferred form. Years that four digits can't hold become the nearest that they can.
  static func text(_ seconds: Int64) -> String {
    let limited = min(max(seconds, -62_135_596_800), 253_402_300_799)
    let days = floored(limited, 86400)
    let rest = limited - days * 86400
    let (year, month, day) = civil(days)
    let weekday = weekdays[Int(floored(days + 3, 7) * -7 + days + 3)].prefix(3)
    return "\(weekday), \(padded(day, 2)) \(months[Int(month) - 1]) \(padded(year, 4)) "
      + "\(padded(rest / 3600, 2)):\(padded(rest / 60 % 60, 2)):\(padded(rest % 60, 2)) GMT"
  }

  private static func seconds(weekday: Int?, day: Int64?, month: Bytes, year: Int64?, time: Bytes) -> Int64? {
    let clock = split(time, at: ":")
    guard let weekday, let day, let month = monthNames.firstIndex(where: month.elementsEqual), let year, year >= 1,
      clock.count == 3,
      let hour = number(clock[0], 2), hour < 24, let minute = number(clock[1], 2), minute < 60,
      // 60 is a leap second.
      let second = number(clock[2], 2), second <= 60
    else { return nil }
    let days = days(year, Int64(month) + 1, day)
    // Only a day that exists comes back as it went.
    guard civil(days) == (year, Int64(month) + 1, day), days + 3 - floored(days + 3, 7) * 7 == weekday else {
      return nil
    }
    return days * 86400 + hour * 3600 + minute * 60 + second
  }

  private static func split(_ bytes: Bytes, at separator: Unicode.Scalar) -> [Bytes] {
    bytes.split(separator: UInt8(ascii: separator), omittingEmptySubsequences: false)
  }

  private static func weekday(_ name: Bytes, isShort: Bool) -> Int? {
    weekdayNames.firstIndex { name.elementsEqual(isShort ? $0.prefix(3) : $0[...]) }
  }

  private static func number(_ text: Bytes, _ digits: Int) -> Int64? {
    guard text.count == digits, text.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains) else { return nil }
    return text.reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
  }

  private static func padded(_ number: Int64, _ digits: Int) -> String {
    let text = String(number)
    return String(repeating: "0", count: max(0, digits - text.utf8.count)) + text
  }

  private static func floored(_ number: Int64, _ divisor: Int64) -> Int64 {
    number / divisor - (number % divisor < 0 ? 1 : 0)
  }

  /// Days since 1970 in the proleptic Gregorian calendar; the year counted from March, so that the leap day is its last.
  private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
    let shifted = month <= 2 ? year - 1 : year
    let era = shifted / 400
    let yearOfEra = shifted - era * 400
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  /// The inverse of `days`.
  private static func civil(_ days: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let shifted = days + 719_468
    let era = floored(shifted, 146_097)
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let month = (5 * dayOfYear + 2) / 153
    let year = yearOfEra + era * 400 + (month >= 10 ? 1 : 0)
    return (year, month < 10 ? month + 3 : month - 9, dayOfYear - (153 * month + 2) / 5 + 1)
  }
}
