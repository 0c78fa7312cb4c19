import Foundation
import Testing

@testable import AssetService

@Suite(.timeLimit(.minutes(1))) struct PreferredLanguageTests {
  /// What the service was started with, and then what the machine says at each reading.
  @Test(
    "The language at the start counts until the machine's own changes",
    arguments: [
      (nil, [nil], nil), (nil, ["de"], "de"), ("fr", ["de"], "fr"), ("fr", ["de", "de"], "fr"),
      ("fr", ["de", "it"], "it"),
      ("fr", [nil, "de"], "de"), ("fr", ["de", nil], "fr"), ("fr", ["de", "it", nil], "it"),
      (nil, [nil, "de", nil], "de"),
      ("fr", ["de", nil, "de"], "de"),
    ] as [(String?, [String?], String?)])
  func choice(start: String?, readings: [String?], language: String?) {
    var choice = LanguageChoice(start)
    for reading in readings { choice.take(reading) }
    #expect(choice.current == language)
  }

  @Test(
    "A locale's name is a language tag",
    arguments: [
      ("de_DE.UTF-8", "de-DE"), ("de_DE@euro", "de-DE"), ("fr", "fr"), ("zh-Hant_TW", "zh-Hant-TW"), ("C", nil),
      ("C.UTF-8", nil), ("POSIX", nil), ("", nil), ("d", nil), ("../../etc", nil), ("de_", nil), ("a_b_c_d_e", nil),
      (String(repeating: "x", count: 5000), nil),
    ] as [(String, String?)])
  func tag(locale: String, tag: String?) {
    #expect(PreferredLanguage.tag(locale) == tag)
  }

  @Test("The environment comes before the system's file, and C says nothing")
  func sources() throws {
    let file = NSTemporaryDirectory() + "locale-\(UUID().uuidString).conf"
    defer { try? FileManager.default.removeItem(atPath: file) }
    try "# system\nLANG=\"it_IT.UTF-8\"\nbroken\n".write(toFile: file, atomically: false, encoding: .utf8)
    let both = ["LANG": "de_DE.UTF-8", "LC_ALL": ""]
    #expect(PreferredLanguage.read(environment: both, file: file) == "de-DE")
    #expect(PreferredLanguage.read(environment: both.merging(["LC_ALL": "fr_FR"]) { $1 }, file: file) == "fr-FR")
    #expect(PreferredLanguage.read(environment: [:], file: file) == "it-IT")
    #expect(PreferredLanguage.read(environment: ["LANG": "C"], file: file) == nil)
    #expect(PreferredLanguage.read(environment: [:], file: file + ".none") == nil)
  }
}
