/// What is wrong with a file of YAML, and where.
public struct YAMLFileError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The file, as it was named.
  public var file: String
  /// Both count from 1; a column is a Unicode scalar.
  public var line: Int
  /// Counts from 1, in Unicode scalars.
  public var column: Int
  /// One sentence: what is wrong, and what would be right.
  public var message: String

  public var description: String { "\(file):\(line):\(column): \(message)" }
}
