extension Policy {
  public struct Pending: Error {}
  public init(parsing text: String, file: String) throws(Pending) { throw Pending() }
}
