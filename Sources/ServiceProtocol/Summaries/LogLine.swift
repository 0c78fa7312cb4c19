/// One event of the service, as it stands in its log.
package struct LogLine: Sendable, Equatable, Codable {
  package var at: String
  package var level: String
  package var app: String?
  package var event: String
  package var detail: String

  package init(at: String, level: String, app: String?, event: String, detail: String) {
    self.at = at
    self.level = level
    self.app = app
    self.event = event
    self.detail = detail
  }
}
