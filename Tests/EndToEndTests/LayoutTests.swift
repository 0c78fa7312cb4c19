import Basics
import Foundation
import HostProtocol
import PluginHost
import Sandbox
import TestSupport
import Testing

/// Structures and values that come back, with other people's libraries and with what a C compiler makes of any structure.
@Suite(.ownThreads, .serialized, .timeLimit(.minutes(3))) struct LayoutTests {
  private static func load(_ library: String, _ host: PluginHost) async throws -> Plugin {
    try await host.load(library, policy: Policy(limits: Limits(wallTime: .seconds(40), memory: 64 << 20)))
  }

  @Test("libc and libm take and return structures, and what they write comes back") func libraries() async throws {
    let host = try Workspace.host()
    defer { host.stop() }
    let libc = try await Self.load("libc.so.6", host)
    let division = try await libc.call("div", "{i32,i32}(i32,i32)", 17, -5)
    #expect(try division.fields.map { (value) throws(CallValueError) in try value.int32 } == [-3, 2])
    #expect(try await libc.call("lldiv", "{i64,i64}(i64,i64)", .integer(.min), 7).fields[1].int64 == Int64.min % 7)
    #expect(try await libc.call("inet_ntoa", "cstring({[4]u8})", [.bytes([192, 168, 0, 1])]).string == "192.168.0.1")
    // 13 February 2009, 23:31:30.
    let time = try await libc.call(
      "gmtime_r", "pointer(&i64,out {i32,i32,i32,i32,i32,i32,i32,i32,i32,i64,pointer})", 1_234_567_890)
    let parts = try time.output(0).fields.prefix(6).map { (value) throws(CallValueError) in try value.int32 }
    #expect(parts == [30, 31, 23, 13, 1, 109])
    let back = try await libc.call(
      "timegm", "i64(inout {i32,i32,i32,i32,i32,i32,i32,i32,i32,i64,pointer})",
      [30, 31, 23, 44, 0, 109, 0, 0, 0, 0, nil])
    #expect(try back.int64 == 1_234_567_890)
    #expect(try back.output(0).fields[3].int32 == 13)
    let now = try await libc.call("clock_gettime", "i32(i32,out {i64,i64})", 0)
    #expect(abs(try now.output(0).fields[0].int - Int(Date.now.timeIntervalSince1970)) < 100)
    let libm = try await Self.load("libm.so.6", host)
    let exponent = try await libm.call("frexp", "f64(f64,out i32)", 48.0)
    #expect(try exponent.double == 0.75)
    #expect(try exponent.output(0).int32 == 6)
    // In an SSE register both at once.
    let euler = try await libm.call("cexpf", "{f32,f32}({f32,f32})", [0, 0])
    #expect(try euler.fields.map { (value) throws(CallValueError) in try value.float } == [1, 0])
    #expect(await libc.end().outcome.kind == .returned)
    #expect(await libm.end().outcome.kind == .returned)
  }

  @Test("buffers are changed in place and come back, short ones and long ones", arguments: [true, false])
  func inPlace(isShared: Bool) async throws {
    let host = try Workspace.host()
    defer { host.stop() }
    var options = PluginHost.LoadOptions()
    options.sharesMemory = isShared
    let policy = Policy(limits: Limits(wallTime: .seconds(40), memory: 64 << 20))
    let libc = try await host.load("libc.so.6", policy: policy, options: options)
    let text = try await libc.call("strfry", "pointer(inout(12))", "scrambled")
    #expect(try text.output(0).string.sorted() == "scrambled".sorted())
    #expect(try text.output(0).data.count == 12)
    for count in [1, 4095, 4096, 4097, 200_000, 1 << 20] {
      let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 13) }
      // Swaps pairs of bytes; what is missing is zeros.
      let even = (count + 1) & ~1
      let swapped = try await libc.call(
        "swab", "void(bytes,inout(\(even + 2)),i64)", .bytes(bytes + [0]), .bytes(Array(repeating: 7, count: even)),
        .integer(Int64(even)))
      let found = try swapped.output(0).data
      let wanted = (0..<even).map { index in index ^ 1 < count ? bytes[index ^ 1] : 0 } + [0, 0]
      #expect(found == wanted, "\(count) bytes")
    }
    let libz = try await host.load("libz.so.1", policy: policy, options: options)
    let plain = [UInt8](repeating: 0x61, count: 100_000)
    let packed = try await libz.call("compress", "i32(out(1000),inout u64,bytes,u64)", 1000, .bytes(plain), 100_000)
    let length = try packed.output(1).int
    #expect((1..<1000).contains(length))
    let unpacked = try await libz.call(
      "uncompress", "i32(out(120000),inout u64,bytes,u64)", 120_000,
      .bytes(Array(try packed.output(0).data.prefix(length))), .integer(Int64(length)))
    #expect(try unpacked.int32 == 0)
    #expect(try unpacked.output(1).uint64 == 100_000)
    #expect(try unpacked.output(0).data.prefix(100_000) == plain[...])
    #expect(await libc.end().outcome.kind == .returned)
    #expect(await libz.end().outcome.kind == .returned)
  }

  @Test("any structure lies as the C compiler lays it out, by value, returned and by its address")
  func compilersWord() async throws {
    var random = SeededGenerator(seed: 50)
    let samples = (0..<60).map { _ in Sample(&random) }
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let source = samples.enumerated().map { index, sample in sample.source(index) }.joined(separator: "\n")
    try LibraryTests.compile("#include <stdint.h>\n" + source, "-O1 -w -o layouts.so", in: folder)
    let host = try Workspace.host()
    defer { host.stop() }
    let plugin = try await Self.load(folder + "/layouts.so", host)
    for (index, sample) in samples.enumerated() {
      let type = "\(sample.layout)"
      #expect(try await plugin.call("size\(index)", "u64()").int == sample.layout.size, "\(type)")
      // Other arguments around it: what is passed in memory moves nothing, what is passed in registers takes them.
      #expect(
        try await plugin.call("check\(index)", "i32(i32,\(type),f64)", 1, sample.argument, 2.0).int32 == 1, "\(type)")
      let made = try await plugin.call("make\(index)", "\(type)(i32)", 3)
      #expect(made.value == sample.value, "\(type)")
      let filled = try await plugin.call("fill\(index)", "void(out \(type))")
      #expect(try filled.output(0) == sample.value, "\(type)")
      #expect(try await plugin.call("at\(index)", "i32(&\(type))", sample.argument).int32 == 1, "\(type)")
      let kept = try await plugin.call("at\(index)", "i32(inout \(type))", sample.argument)
      #expect(try kept.output(0) == sample.value, "\(type)")
    }
    #expect(await plugin.end().outcome.kind == .returned)
  }

  /// A structure whose numbers are 1, 2, 3 and so on.
  private struct Sample {
    var layout: CallLayout
    var value: CallValue
    var argument: CallArgument
    private var declaration: String
    private var places: [String] = []

    init(_ random: inout SeededGenerator) {
      layout = Self.layout(&random, 0)
      (value, argument, declaration) = (.void, .null, "")
      var last = 0
      (value, argument) = Self.values(layout, "", &last, &places)
      declaration = Self.declaration(of: layout, "")
    }

    private static func layout(_ random: inout SeededGenerator, _ depth: Int) -> CallLayout {
      .structure(
        (0...random.below(4)).map { _ in
          switch random.below(depth < 2 ? 8 : 6) {
          case 0: .array(.scalar(scalar(&random)), count: 1 + random.below(4))
          case 6: layout(&random, depth + 1)
          case 7: .array(layout(&random, 2), count: 1 + random.below(3))
          default: .scalar(scalar(&random))
          }
        })
    }

    private static func scalar(_ random: inout SeededGenerator) -> CallLayout.Scalar {
      let all = CallLayout.Scalar.allCases.filter { $0 != .handle }
      return all[random.below(all.count)]
    }

    private static func values(
      _ layout: CallLayout, _ place: String, _ last: inout Int, _ places: inout [String]
    ) -> (CallValue, CallArgument) {
      switch layout {
      case .scalar(let scalar):
        last += 1
        let number = last % 100 + 1
        places.append("\(place) = \(scalar == .pointer ? "(void *)" : "")\(number)")
        return (
          scalar.value(
            of: scalar == .f32
              ? UInt64(Float(number).bitPattern) : scalar == .f64 ? Double(number).bitPattern : UInt64(number)),
          scalar == .f32 || scalar == .f64 ? .double(Double(number)) : .integer(Int64(number))
        )
      case .array(let element, let count):
        let values = (0..<count).map { Self.values(element, "\(place)[\($0)]", &last, &places) }
        if case .scalar(.u8) = element {
          return (
            .bytes(values.compactMap { try? $0.0.uint8 }), .list(values.map(\.1))
          )
        }
        return (.array(values.map(\.0)), .list(values.map(\.1)))
      case .structure(let fields):
        let values = fields.enumerated().map { Self.values($1, "\(place).f\($0)", &last, &places) }
        return (.structure(values.map(\.0)), .list(values.map(\.1)))
      }
    }

    private static func declaration(of layout: CallLayout, _ name: String) -> String {
      switch layout {
      case .scalar(let scalar):
        switch scalar {
        case .f32: "float \(name)"
        case .f64: "double \(name)"
        case .pointer, .handle: "void *\(name)"
        default:
          (scalar.rawValue.hasPrefix("u") ? "uint" : "int") + "\(scalar.rawValue.dropFirst())_t \(name)"
        }
      case .array(let element, let count): declaration(of: element, "\(name)[\(count)]")
      case .structure(let fields):
        "struct { \(fields.enumerated().map { "\(declaration(of: $1, "f\($0)")); " }.joined()) } \(name)"
      }
    }

    func source(_ index: Int) -> String {
      let all = places.map { $0.replacing(" = ", with: " == ") }
      return """
        typedef \(declaration) T\(index);
        uint64_t size\(index)(void) { return sizeof(T\(index)); }
        int check\(index)(int a, T\(index) v, double z) { return a == 1 && z == 2.0 && \(all.map { "v\($0)" }.joined(separator: " && ")); }
        int at\(index)(const T\(index) *v) { return \(all.map { "(*v)\($0)" }.joined(separator: " && ")); }
        void fill\(index)(T\(index) *v) { \(places.map { "(*v)\($0);" }.joined(separator: " ")) }
        T\(index) make\(index)(int a) { T\(index) v; fill\(index)(&v); return v; }
        """
    }
  }

  @Test("the command line writes structures with braces, and JSON as lists") func commandLine() throws {
    let division = try Workspace.run(["call", "libc.so.6", "div", "{i32,i32}(i32,i32)", "17", "5"])
    #expect(division.output == "{3, 2}\n", "\(division.errors)")
    let address = try Workspace.run(["call", "libc.so.6", "inet_ntoa", "cstring({[4]u8})", "{[10,0,0,1]}"])
    #expect(address.output == "10.0.0.1\n", "\(address.errors)")
    let json = try Workspace.run(["call", "libm.so.6", "frexp", "f64(f64,out i32)", "48", "--json"])
    let object = try #require(try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any])
    #expect(object["out"] as? [Int] == [6])
    #expect(object["result"] as? Double == 0.75)
    let wrong = try Workspace.run(["call", "libc.so.6", "inet_ntoa", "cstring({[4]u8})", "{[10,0,0,256]}"])
    #expect(wrong.status == 64 && wrong.errors.contains("doesn't fit"), "\(wrong)")
  }
}
