/// What is wrong with a file of YAML, and where.
public struct YAMLFileError: Error, Sendable, Equatable, CustomStringConvertible {
  public var file: String
  /// Both count from 1; a column is a Unicode scalar.
  public var line: Int
  public var column: Int
  public var message: String

  public var description: String { "\(file):\(line):\(column): \(message)" }
}
