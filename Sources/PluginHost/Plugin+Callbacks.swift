internal import HostProtocol
internal import Synchronization

// What a plugin's caller is asked while a call is under way.
extension Plugin {
  func answers(for callbacks: [PreparedCallback]) -> [UInt8: CallbackAnswer] {
    var answers: [UInt8: CallbackAnswer] = [:]
    for prepared in callbacks {
      answers[prepared.number] = CallbackAnswer(signature: prepared.signature) { [self] arguments in
        let values = try values(of: arguments, prepared.signature)
        let result = try await prepared.callback.body(values)
        return try bits(of: result, prepared.signature.result)
      }
    }
    return answers
  }

  private func values(of arguments: [CallValue], _ signature: CallbackSignature) throws(HostError) -> [CallValue] {
    let values: [CallValue]?
    do throws(PluginHoldings.Refusal) {
      values = try holdings.withLock { (state) throws(PluginHoldings.Refusal) in
        try state.expect(handles: signature.handles)
        defer { state.settle(handles: signature.handles) }
        return signature.values(of: arguments) { .handle(state.handle(to: $0)) }
      }
    } catch {
      throw .usage(error.description)
    }
    // They were checked as they came.
    return values ?? []
  }

  private func bits(of result: CallArgument, _ kind: CallLayout.Scalar?) throws(HostError) -> UInt64 {
    do throws(CallArgument.MisfitError) {
      return try ArgumentEncoder.bits(of: result, kind, holdings.withLock { $0 })
    } catch {
      throw .usage(error.description)
    }
  }
}
