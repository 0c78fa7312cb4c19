internal import GRDB

/// The one database of a store, which everything that it keeps shares.
final class StoreDatabase: Sendable {
  /// The name of the database file.
  let path: String
  let options: AssetStore.Options
  let connections: any DatabaseWriter

  init(_ connections: any DatabaseWriter, path: String, options: AssetStore.Options) {
    self.connections = connections
    self.path = path
    self.options = options
  }

  /// One transaction, durable when it returns.
  func write<T>(_ body: (Database) throws -> T) throws(StoreError) -> T {
    do { return try connections.write(body) } catch { throw StoreError(error, path: path) }
  }

  func read<T>(_ body: (Database) throws -> T) throws(StoreError) -> T {
    do { return try connections.read(body) } catch { throw StoreError(error, path: path) }
  }
}
