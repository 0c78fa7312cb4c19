internal import HostProtocol

/// What can be asked of a plugin at all. A call that doesn't fit a frame would end the run for what the caller did.
enum CallBounds {
  struct Function {
    var call: FunctionCall
    /// Memory that its arguments name.
    var used: [PluginMemory] = []
    var callbacks: [PreparedCallback] = []
    /// Where the numbers of the next ones begin.
    var nextCallback = 0

    var known: KnownFunction { call.function }
  }

  /// A function's call with arguments that fit its signature. `functions`: of the plugin, as are `holdings`; nil where there is none yet.
  static func function(
    _ symbol: String, _ text: String, _ arguments: [CallArgument], _ functions: KnownFunctions,
    _ holdings: PluginHoldings? = nil
  ) throws(HostError) -> Function {
    let known = try functions.function(symbol, text)
    do throws(CallArgument.MisfitError) {
      var encoder = ArgumentEncoder(holdings)
      let values = try encoder.values(of: arguments, for: known.signature)
      return Function(
        call: FunctionCall(function: known, arguments: values), used: encoder.used, callbacks: encoder.callbacks,
        nextCallback: encoder.nextCallback)
    } catch {
      throw .usage(error.description)
    }
  }

  /// A type of what lies in memory.
  static func layout(_ text: String) throws(HostError) -> CallLayout {
    do throws(CallSignature.ParseError) {
      return try CallSignature.layout(parsing: text)
    } catch {
      throw .usage(error.description)
    }
  }

  /// Whether the call fits a frame, and its answer too, whatever it returns.
  static func check(_ frame: Frame, _ signature: CallSignature?, frameBytes: Int) throws(HostError) {
    // A lower limit is for what a plugin says.
    let longest = max(Frame.longestPayload, frameBytes)
    guard frame.payload.count <= longest else {
      throw .usage("the call's arguments have \(frame.payload.count) bytes with their frame; at most \(longest) fit")
    }
    guard let signature else { return }
    let answer = signature.longestAnswer
    guard answer <= frameBytes else {
      throw .usage(
        "the answer to \(signature) may have \(answer) bytes; at most \(frameBytes) fit: ask for less out(N)")
    }
  }
}
