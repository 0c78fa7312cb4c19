internal import ArgumentParser
internal import AssetModel
internal import Basics
internal import LinuxSystem
internal import PluginHost
internal import PolicyLab

struct BindCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "bind",
    abstract: "Writes Swift functions for the functions of a library, which call them inside the walls.",
    usage: "outrider bind [<options>] <header> <library>",
    discussion: """
      Header and library are read, the header by libclang in a plugin of its own inside the walls. Each function that the \
      header declares and the library exports becomes a function of a Swift structure, which calls it in the library's \
      sandboxed process. Those that no call can pass are named at the end of the file, with the reason.

      Bytes with their length become an array of bytes; what a function writes to is 'inout'; the address of a structure \
      is a value of its own type, and a function of yours is made of a closure. docs/bind.md says how each type of C \
      is passed.

      EXAMPLES
        outrider bind zlib.h libz.so.1 --module Zlib --output Zlib.swift
        outrider bind ./codec.h ./libcodec.so --include ./include
        outrider bind zlib.h libz.so.1 --function crc32 --function adler32
        outrider bind zlib.h libz.so.1 --json
      """)

  @Argument(help: "A path to a header, or a name such as zlib.h.", completion: .file()) var header: String
  @Argument(help: "A path to a .so, or a name such as libz.so.1.", completion: .file()) var library: String
  @Option(
    help: ArgumentHelp("A header that has to be read before; may be repeated.", valueName: "file"), completion: .file())
  var before: [String] = []
  @OptionGroup var headers: HeaderOptions
  @Option(help: "What the structure is called (default: after the header).") var module: String?
  @Option(help: ArgumentHelp("The file to write (default: standard output).", valueName: "file"), completion: .file())
  var output: String?
  @Option(help: ArgumentHelp("Only this function; may be repeated.", valueName: "name")) var function: [String] = []
  @Flag(help: "Print one JSON object with the names, and the text where no file is written.") var json = false

  private struct Report: Encodable {
    var module: String
    var bound: [String]
    var unbound: [SwiftBinding.Unbound]
    var output: String?
    var text: String?
  }

  /// The first words of what is written here.
  private static let mark = "// Made by 'outrider bind'"

  /// What somebody else wrote stays.
  private func check(_ output: String) throws {
    if output == "-" { throw Failure(64, "--output names a file; leave it out for standard output") }
    try OutputFile.check(output)
    guard let there = try? Files.identity(of: output), there.isRegularFile, there.size > 0 else { return }
    if (try? Files.text(of: output, limit: 64 << 20))?.hasPrefix(Self.mark) != true {
      throw Failure(
        73, "--output \(output): is there, and isn't what this command wrote; name another file, or remove it")
    }
  }

  func run() async {
    do {
      if let output { try check(output) }
      let image = try PluginImage(opening: library, searching: PluginImage.isFoundByLoader(library))
      guard image.elf != nil else {
        throw Failure(
          Outcome.Kind.loadFailed.exitStatus,
          "\(Printable.text(image.library.path)): \(image.formatError ?? "isn't a library")")
      }
      let exploration = LibraryExploration(
        try InputFile.content(of: image.library.path, limit: LibraryExploration.longest))
      let exported = exploration.functions.map(\.name)
      let host = try SandboxOptions.makeHost()
      defer { host.stop() }
      let description = try await headers.read(before + [header], before: "--before", host)
      if let missing = function.first(where: { description.functions[$0] == nil || !exported.contains($0) }) {
        throw Failure(
          64, "'\(Printable.text(missing, limit: 60))' is no function that the header declares and the library exports")
      }
      let name = module ?? Self.module(of: header)
      let binding: SwiftBinding
      do throws(SwiftBinding.Failure) {
        binding = try SwiftBinding(
          module: name, headers: [header], library: library,
          exported: exported.filter { function.isEmpty || function.contains($0) }, description: description)
      } catch {
        throw Failure(64, error.description)
      }
      guard !binding.bound.isEmpty || !binding.unbound.isEmpty else {
        throw Failure(
          65, "none of the functions of \(Printable.text(library)) is declared in \(Printable.text(header))")
      }
      try write(binding, name)
      Exit.leave(0)
    } catch {
      Exit.with(error)
    }
  }

  private func write(_ binding: SwiftBinding, _ name: String) throws {
    if let output { try OutputFile.write(binding.text, to: output) }
    if json {
      return try Output.json(
        Report(
          module: name, bound: binding.bound, unbound: binding.unbound, output: output,
          text: output == nil ? binding.text : nil))
    }
    if output == nil { Output.line(String(binding.text.dropLast())) }
    Output.note(
      "\(name) has \(binding.bound.count == 1 ? "1 function" : "\(binding.bound.count) functions"); "
        + "\(binding.unbound.count) can't be bound"
        + (binding.unbound.isEmpty ? "" : ", which are listed at the end"))
  }

  /// `zlib.h` is `Zlib`.
  private static func module(of header: String) -> String {
    let file = header.pathNames.last ?? ""
    let stem = file.prefix { $0 != "." }
    let words = stem.split { !$0.isLetter && !$0.isNumber || !$0.isASCII }
    return words.map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
  }
}
