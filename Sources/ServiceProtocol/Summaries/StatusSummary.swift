package struct StatusSummary: Sendable, Equatable, Codable {
  package var process: Int32
  package var version: String
  package var startedAt: String
  package var isDevelopment: Bool
  package var socket: String
  package var database: String
  package var databaseBytes: Int64
  package var apps: Int
  package var downloads: Int
  package var connections: Int
  package var memoryBytes: Int64

  package init(
    process: Int32, version: String, startedAt: String, isDevelopment: Bool, socket: String, database: String,
    databaseBytes: Int64, apps: Int, downloads: Int, connections: Int, memoryBytes: Int64
  ) {
    self.process = process
    self.version = version
    self.startedAt = startedAt
    self.isDevelopment = isDevelopment
    self.socket = socket
    self.database = database
    self.databaseBytes = databaseBytes
    self.apps = apps
    self.downloads = downloads
    self.connections = connections
    self.memoryBytes = memoryBytes
  }
}
