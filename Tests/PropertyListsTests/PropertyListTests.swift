import Basics
import Foundation
import TestSupport
import Testing

@testable import PropertyLists

/// A property list is whatever someone put into a bundle.
@Suite(.timeLimit(.minutes(1))) struct PropertyListTests {
  /// As many arrays within each other as there are objects, each with the next one twice.
  private func nested(_ levels: Int, last: [UInt8]) -> [UInt8] {
    var bytes = Array("bplist00".utf8)
    var offsets: [UInt16] = []
    for level in 0..<levels {
      offsets.append(UInt16(bytes.count))
      bytes += [0xa2, UInt8(level + 1), UInt8(level + 1)]
    }
    offsets.append(UInt16(bytes.count))
    bytes += last
    let table = bytes.count
    for offset in offsets { bytes += [UInt8(offset >> 8), UInt8(offset & 0xff)] }
    bytes += [0, 0, 0, 0, 0, 0, 2, 1]
    for value in [offsets.count, 0, table] {
      bytes += (0..<8).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }
    return bytes
  }

  /// Foundation takes a set for a dictionary, and ends the process.
  @Test func setsAndReferencesAreNone() throws {
    for marker in [0xb1, 0xc1, 0x80, 0x70, 0xe0, 0xf0] as [UInt8] {
      #expect(throws: PropertyList.ReadError.malformed, "\(marker)") { try PropertyList(nested(0, last: [marker, 0])) }
    }
  }

  /// What passes doesn't end the process that decodes it.
  @Test func mutatedListsAreDecodedOrRefused() throws {
    let list: [String: Any] = [
      "CFBundleExecutable": "x.so", "CFBundleIdentifier": "a.b", "n": [1, 2.5, true, Data([1, 2]), Date(), "é"],
      "EXAppExtensionAttributes": ["EXExtensionPointIdentifier": "com.example.point"],
    ]
    let bytes = Array(try PropertyListSerialization.data(fromPropertyList: list, format: .binary, options: 0))
    let seed = UInt64.random(in: 0 ... .max)
    var random = SeededGenerator(seed: seed)
    for _ in 0..<30_000 {
      var changed = bytes
      for _ in 0...Int.random(in: 0..<4, using: &random) {
        changed[Int.random(in: 6..<changed.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
      }
      _ = (try? PropertyList(changed))?.root["CFBundleExecutable"] as? String
    }
  }

  @Test func sharedObjectsDontMultiply() throws {
    #expect(throws: PropertyList.ReadError.tooLarge) { try PropertyList(nested(40, last: [0x50])) }
  }

  @Test func boundsOfBinaryLists() throws {
    #expect(throws: PropertyList.ReadError.tooDeep) { try BinaryPropertyList.check(nested(70, last: [0x50])) }
    // The last array holds the first one.
    #expect(throws: PropertyList.ReadError.tooDeep) { try BinaryPropertyList.check(nested(1, last: [0xa1, 0])) }
    #expect(throws: PropertyList.ReadError.malformed) {
      try BinaryPropertyList.check(nested(1, last: [0xa1, 9]))
    }
    #expect(throws: PropertyList.ReadError.malformed) { try BinaryPropertyList.check(Array("bplist00".utf8)) }
    try BinaryPropertyList.check(nested(10, last: [0x50]))
  }

  /// What Foundation writes passes; what is cut or changed anywhere never traps.
  @Test func ordinaryListsPass() throws {
    let list: [String: Any] = [
      "CFBundleExecutable": "a.so", "CFBundleIdentifier": "naïve ü", "Date": Date(timeIntervalSince1970: 0),
      "Data": Data(repeating: 7, count: 70_000), "Numbers": (0..<300).map { $0 }, "Real": 1.5, "Flag": true,
      "EXAppExtensionAttributes": ["EXExtensionPointIdentifier": "com.example.point"],
    ]
    let bytes = Array(try PropertyListSerialization.data(fromPropertyList: list, format: .binary, options: 0))
    try BinaryPropertyList.check(bytes)
    for length in stride(from: 0, to: bytes.count, by: 997) { try? BinaryPropertyList.check(Array(bytes[..<length])) }
    var random = SeededGenerator(seed: UInt64.random(in: 0 ... .max))
    for _ in 0..<2000 {
      var changed = bytes
      // Where sizes and references are: at either end.
      let index = Int.random(in: 0..<400, using: &random)
      changed[index < 200 ? index : bytes.count - 1 - (index - 200)] = .random(in: 0...255, using: &random)
      try? BinaryPropertyList.check(changed)
    }
    #expect(try PropertyList(bytes).root["CFBundleExecutable"] as? String == "a.so")
  }

  private func readError(_ text: String) -> PropertyList.ReadError? {
    do throws(PropertyList.ReadError) {
      _ = try PropertyList(Array(text.utf8))
      return nil
    } catch {
      return error
    }
  }

  @Test func everyTextFormatIsDecoded() throws {
    let xml =
      "\u{feff}<?xml version='1.0' encoding='UTF-8'?><!-- <array> --><plist><dict><key>a</key><true/></dict></plist>"
    let list = try PropertyList(Array(xml.utf8))
    #expect(list.root["a"] as? Bool == true)
    #expect(!list.isOldStyle)
    let old = try PropertyList(Array("{ a = 5; b = (x, \"(((\"); }".utf8))
    #expect(old.root["a"] as? String == "5")
    #expect(old.isOldStyle)
  }

  @Test("Text that is nested too deeply is refused, and what looks like it isn't")
  func depthOfText() throws {
    func nested(_ levels: Int) -> String {
      "<plist><dict><key>a</key>" + String(repeating: "<array>", count: levels - 1)
        + String(repeating: "</array>", count: levels - 1) + "</dict></plist>"
    }
    #expect(readError(nested(64)) == nil)
    #expect(readError(nested(66)) == .tooDeep)
    #expect(readError("<plist>" + String(repeating: "<dict><key>k</key>", count: 50_000)) == .tooDeep)
    #expect(readError("<plist>" + String(repeating: "<array ><array a='b'>\n", count: 40_000)) == .tooDeep)
    // What closes nothing, or is closed in a comment, doesn't count.
    #expect(readError("<plist>" + String(repeating: "<array><!--</array>-->", count: 10_000)) == .tooDeep)
    #expect(
      readError("<plist>" + String(repeating: "</array>", count: 1000) + String(repeating: "<array>", count: 9000))
        == .tooDeep)
    let flat =
      "<dict>" + (0..<2000).map { "<key>k\($0)</key><array/><key>d\($0)</key><dict></dict>" }.joined() + "</dict>"
    #expect(readError("<plist>\(flat)</plist>") == nil)
    #expect(readError(String(repeating: "(", count: 1 << 19)) == .tooManyContainers)
    #expect(readError(String(repeating: "{a=", count: 1 << 18)) == .tooManyContainers)
  }

  @Test("Encodings in which brackets could hide aren't read", arguments: ["utf-7", "UTF-16", "ibm037", "shift_jis"])
  func otherEncodings(name: String) {
    #expect(readError("<?xml version=\"1.0\" encoding=\"\(name)\"?><plist><dict/></plist>") == .notUTF8)
    #expect(readError("<?xml encoding = '\(name)'?><plist><dict/></plist>") == .notUTF8)
  }

  @Test func wideTextAndInvalidTextAreRefused() {
    let wide = Array("<plist><dict/></plist>".utf16).flatMap { [UInt8($0 & 0xff), UInt8($0 >> 8)] }
    #expect(throws: PropertyList.ReadError.notUTF8) { try PropertyList([0xff, 0xfe] + wide) }
    #expect(throws: PropertyList.ReadError.notUTF8) { try PropertyList(Array("<plist><dict>".utf8) + [0xc3, 0x28]) }
  }

  @Test func whatIsNoDictionaryIsNone() {
    #expect(readError("<plist><array/></plist>") == .notADictionary)
    #expect(readError("word") == .notADictionary)
    #expect(readError("") != nil)
    #expect(throws: PropertyList.ReadError.tooLong) { try PropertyList([UInt8](repeating: 0x20, count: 1 << 20 | 1)) }
  }

  @Test("What is written is read again, and what can't be is named by its key")
  func written() throws {
    let list: [String: Any] = [
      "list": ["a", "é<&>", 3, [true, false]] as [Any], "none": [String](), "flag": true, "number": -7, "real": 2.5,
      "long": Int64.max, "table": ["inner": ["x": ["deep"]]], "bytes": Data([1, 2]),
      "date": Date(timeIntervalSince1970: 1_000_000),
    ]
    let root = try PropertyList(WrittenPropertyList.xml(list)).root
    #expect(try WrittenPropertyList.xml(root) == WrittenPropertyList.xml(list), "\(root)")
    #expect(root["list"] as? [String] == nil && (root["list"] as? [Any])?.count == 4 && root.count == list.count)
    #expect((root["table"] as? [String: [String: [String]]]) == ["inner": ["x": ["deep"]]])
    #expect(root["flag"] as? Bool == true && root["number"] as? Int == -7)
    let error = #expect(throws: WrittenPropertyList.WriteError.self) {
      try WrittenPropertyList.xml(["a": ["b": ["c", 1...2] as [Any]]])
    }
    #expect(error?.description.hasPrefix("'a.b[1]' holds a ClosedRange<Int>") == true)
  }

  @Test("Mutated text is decoded or refused")
  func mutatedText() throws {
    let seed = UInt64.random(in: 0 ... .max)
    var random = SeededGenerator(seed: seed)
    let list: [String: Any] = ["a": ["b": [1, 2.5, true, Data([1]), Date(timeIntervalSince1970: 0)]], "c": "é<&"]
    let xml = Array(try PropertyListSerialization.data(fromPropertyList: list, format: .xml, options: 0))
    let old = Array("{ a = { b = (1, <0fbd>, \"x\\\"y\"); }; /* c */ c = 'd'; // e\n }".utf8)
    let tokens = [
      "<", ">", "/", "<!--", "-->", "<![CDATA[", "]]>", "<array>", "</dict>", "&#x0;", "(", "{", "\"", "\\U",
    ]
    for round in 0..<20_000 {
      var changed = round % 2 == 0 ? xml : old
      for _ in 0...random.below(4) {
        let place = random.below(changed.count)
        if random.chance(2) {
          changed[place] = UInt8(random.below(256))
        } else {
          changed.insert(contentsOf: tokens[random.below(tokens.count)].utf8, at: place)
        }
      }
      _ = (try? PropertyList(changed))?.root["a"]
    }
  }
}
