internal import AssetModel

/// The functions of a library that can be bound in one file, with the types that they need: no two of a name.
struct GatheredBindings {
  private(set) var functions: [BoundFunction] = []
  private(set) var unbound: [SwiftBinding.Unbound] = []
  private(set) var records: [String: BoundRecord] = [:]
  private(set) var callbacks: [String: BoundCallback] = [:]
  private let module: String

  init(of exported: [String], in description: HeaderDescription, module: String) {
    self.module = module
    // An assembler label makes a name stand for another symbol, as the last declaration says.
    let renamed = Set(exported.compactMap { description.functions[$0] }.filter { $0.name != $0.symbol }.map(\.name))
    for symbol in exported {
      guard let declared = description.functions[symbol] else { continue }
      do throws(BoundParameter.Unfit) {
        let function = try BoundFunction(declared) { name in description.functions.values.contains { $0.name == name } }
        try add(function, isOther: symbol == declared.name && renamed.contains(declared.name))
      } catch {
        unbound.append(
          SwiftBinding.Unbound(
            function: Printable.text(declared.name, limit: 100), reason: Printable.text(error.reason, limit: 200)))
      }
    }
  }

  /// `isOther`: its name stands for another symbol.
  private mutating func add(_ function: BoundFunction, isOther: Bool) throws(BoundParameter.Unfit) {
    guard !isOther, !functions.contains(where: { $0.name == function.name }) else {
      throw BoundParameter.Unfit(reason: "its header gives this name to another symbol of the library")
    }
    for record in function.records {
      guard records[record.name] ?? record == record else {
        throw BoundParameter.Unfit(reason: "another structure is called \(record.name), too")
      }
    }
    for callback in function.callbacks {
      guard callback.name != module else {
        throw BoundParameter.Unfit(reason: "a function that it is given has the module's name; choose another one")
      }
      guard callbacks[callback.name] ?? callback == callback else {
        throw BoundParameter.Unfit(reason: "another function that one is given is called \(callback.name), too")
      }
    }
    for record in function.records { records[record.name] = record }
    for callback in function.callbacks { callbacks[callback.name] = callback }
    functions.append(function)
  }
}
