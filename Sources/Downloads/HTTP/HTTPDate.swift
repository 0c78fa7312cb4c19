/// Dates as HTTP writes them (RFC 9110, 5.6.7): the preferred form and the two obsolete ones.
enum HTTPDate {
  private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

  /// Seconds since 1970.
  static func seconds(_ text: String) -> Int64? {
    guard text.utf8.count <= 40 else { return nil }
    let parts = text.split(separator: " ").map(String.init)
    // Sun, 06 Nov 1994 08:49:37 GMT
    if parts.count == 6, parts[5] == "GMT", parts[0].hasSuffix(",") {
      return seconds(day: parts[1], month: parts[2], year: parts[3].utf8.count == 4 ? parts[3] : "", time: parts[4])
    }
    // Sunday, 06-Nov-94 08:49:37 GMT
    if parts.count == 4, parts[3] == "GMT", parts[0].hasSuffix(",") {
      let date = parts[1].split(separator: "-").map(String.init)
      guard date.count == 3, date[2].utf8.count == 2, let short = Decimal.value(date[2]) else { return nil }
      return seconds(day: date[0], month: date[1], year: "\(short < 70 ? 2000 + short : 1900 + short)", time: parts[2])
    }
    // Sun Nov  6 08:49:37 1994
    if parts.count == 5 { return seconds(day: parts[2], month: parts[1], year: parts[4], time: parts[3]) }
    return nil
  }

  private static func seconds(day: String, month: String, year: String, time: String) -> Int64? {
    let clock = time.split(separator: ":", omittingEmptySubsequences: false)
    guard let day = Decimal.value(day), let month = months.firstIndex(of: month), let year = Decimal.value(year), year >= 1970,
      clock.count == 3, clock.allSatisfy({ $0.utf8.count == 2 }), let hour = Decimal.value(clock[0]), hour < 24,
      let minute = Decimal.value(clock[1]), minute < 60, let second = Decimal.value(clock[2]), second <= 60
    else { return nil }
    let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    let lengths: [Int64] = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    guard day >= 1, day <= lengths[month] else { return nil }
    return days(year, Int64(month) + 1, day) * 86400 + hour * 3600 + minute * 60 + second
  }

  /// Days since 1970 in the proleptic Gregorian calendar.
  private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
    // Counted from March, so that the leap day is a year's last.
    let shifted = month <= 2 ? year - 1 : year
    let era = shifted / 400
    let yearOfEra = shifted - era * 400
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }
}
