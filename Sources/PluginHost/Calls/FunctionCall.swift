internal import HostProtocol

/// A function and its arguments, as the signature types them.
struct FunctionCall: Sendable {
  let function: KnownFunction
  let arguments: [CallValue]

  /// As it is told to a runner.
  var message: HostMessage.Call {
    .function(symbol: function.symbol, signature: function.text, arguments: arguments)
  }
}
