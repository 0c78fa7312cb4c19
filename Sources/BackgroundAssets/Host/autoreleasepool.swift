/// Calls the closure: there are no autoreleased objects on Linux, and sources from Apple platforms expect the function.
///
/// - Parameter body: What is called.
/// - Returns: What the closure returns.
/// - Throws: What the closure throws.
public func autoreleasepool<Result: ~Copyable, Failure: Error>(
  invoking body: () throws(Failure) -> Result
) throws(Failure) -> Result { try body() }
