import Foundation

/// The pixels of a picture in the PPM format (netpbm's P6), which is a head and three bytes for each.
struct Picture {
  struct Colour: Equatable, Decodable, CustomStringConvertible {
    var red: Int
    var green: Int
    var blue: Int

    init(_ red: Int, _ green: Int, _ blue: Int) { (self.red, self.green, self.blue) = (red, green, blue) }

    var description: String { "rgb(\(red) \(green) \(blue))" }

    func distance(to other: Self) -> Int {
      abs(red - other.red) + abs(green - other.green) + abs(blue - other.blue)
    }

    /// As people see them, whatever the shade.
    var isGreen: Bool { green > red + 30 && green > blue + 20 }
    var isRed: Bool { red > green + 50 && red > blue + 50 }
    var isAmber: Bool { red > blue + 80 && green > blue + 50 && abs(red - green) < 80 }
    var isViolet: Bool { blue > green + 50 && red > green + 15 }

    /// WCAG 2.2, "relative luminance".
    private var luminance: Double {
      let parts = [red, green, blue].map { byte -> Double in
        let part = Double(byte) / 255
        return part <= 0.04045 ? part / 12.92 : pow((part + 0.055) / 1.055, 2.4)
      }
      return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
    }

    /// WCAG 2.2, "contrast ratio".
    func contrast(with other: Self) -> Double {
      let (a, b) = (luminance, other.luminance)
      return (max(a, b) + 0.05) / (min(a, b) + 0.05)
    }
  }

  let width: Int
  let height: Int
  private let bytes: [UInt8]

  init(ppm data: Data) throws {
    let all = [UInt8](data)
    var words: [String] = []
    var place = 0
    while words.count < 4, place < all.count {
      let end = all[place...].firstIndex { $0 == 10 || $0 == 32 } ?? all.endIndex
      words.append(String(decoding: all[place..<end], as: UTF8.self))
      place = end + 1
    }
    guard words.count == 4, words[0] == "P6", words[3] == "255", let width = Int(words[1]), let height = Int(words[2]),
      all.count - place >= width * height * 3
    else { throw Browser.Failure(description: "not a picture: \(words)") }
    (self.width, self.height, bytes) = (width, height, Array(all[place...]))
  }

  /// nil: outside.
  func colour(_ x: Int, _ y: Int) -> Colour? {
    guard (0..<width).contains(x), (0..<height).contains(y) else { return nil }
    let place = (y * width + x) * 3
    return Colour(Int(bytes[place]), Int(bytes[place + 1]), Int(bytes[place + 2]))
  }
}
