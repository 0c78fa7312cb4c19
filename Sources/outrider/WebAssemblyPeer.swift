internal import Foundation

/// The same function in a WebAssembly runtime, to compare with: wasmtime, by its C interface, from Python's package of it.
enum WebAssemblyPeer {
  static let name = "the function in WebAssembly (wasmtime, from Python)"
  static let baseline = "the function itself, from Python"

  private static let longest = 60.0

  /// Prints what a call takes in nanoseconds, by turns with the same function of the C library, which has the costs of Python alone.
  private static let script = """
    import ctypes, sys, time
    from wasmtime import Engine, Instance, Module, Store, _bindings
    store = Store(Engine())
    text = '(module (func (export "abs") (param i32) (result i32) (select (local.get 0) (i32.sub (i32.const 0) (local.get 0)) (i32.gt_s (local.get 0) (i32.const 0)))))'
    function = Instance(store, Module(store.engine, text), []).exports(store)["abs"]
    values = (_bindings.wasmtime_val_raw * 1)()
    trap = ctypes.POINTER(_bindings.wasm_trap_t)()
    context = store._context() if callable(store._context) else store._context
    call, place, failure = _bindings._wasmtime_func_call_unchecked, ctypes.byref(function._func), ctypes.byref(trap)
    direct = ctypes.CDLL(None).abs
    def wasm():
        values[0].i32 = -5
        start = time.perf_counter_ns()
        call(context, place, values, 1, failure)
        return time.perf_counter_ns() - start
    def plain():
        start = time.perf_counter_ns()
        direct(-5)
        return time.perf_counter_ns() - start
    for _ in range(int(sys.argv[1])):
        print(wasm(), plain())
    sys.exit(values[0].i32 != 5)
    """

  /// Seconds of so many calls, of each; nil where it isn't installed or doesn't work.
  static func run(_ count: Int) async -> (wasm: [Double], plain: [Double])? {
    let process = Process()
    // The one of a virtual environment, where that is active.
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["python3", "-c", script, String(count)]
    let output = Pipe()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    process.standardInput = FileHandle.nullDevice
    do { try process.run() } catch { return nil }
    let end = Task {
      try await Task.sleep(for: .seconds(longest))
      process.terminate()
    }
    defer { end.cancel() }
    let text = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    guard process.terminationStatus == 0, process.terminationReason == .exit else { return nil }
    let rows = String(decoding: text, as: UTF8.self).split(separator: "\n").map { line in
      line.split(separator: " ").compactMap { Double($0) }
    }
    guard rows.count == count, rows.allSatisfy({ $0.count == 2 }) else { return nil }
    return (rows.map { $0[0] * 1e-9 }, rows.map { $0[1] * 1e-9 })
  }
}
