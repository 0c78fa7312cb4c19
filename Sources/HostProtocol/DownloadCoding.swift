package import AssetModel

extension ByteWriter {
  package mutating func download(_ value: Download) {
    string(value.identifier)
    string(value.uniqueIdentifier)
    string(value.url)
    string(value.method)
    data(value.body)
    array(value.headers) { writer, header in
      writer.string(header.name)
      writer.string(header.value)
    }
    string(value.applicationGroupIdentifier)
    optional(value.fileSize) { $0.integer($1) }
    boolean(value.isEssential)
    integer(value.priority)
    boolean(value.isManifest)
    integer(value.state)
  }

  package mutating func error(_ value: ErrorDescription) {
    string(value.domain)
    integer(value.code)
    string(value.description)
  }
}

extension ByteReader {
  package mutating func download() throws(ProtocolViolation) -> Download {
    Download(
      identifier: try string(), uniqueIdentifier: try string(), url: try string(), method: try string(),
      body: try data(),
      headers: try array { (reader) throws(ProtocolViolation) in
        Download.Header(name: try reader.string(), value: try reader.string())
      },
      applicationGroupIdentifier: try string(),
      fileSize: try optional { (reader) throws(ProtocolViolation) in try reader.integer() },
      isEssential: try boolean(), priority: try integer(), isManifest: try boolean(), state: try integer())
  }

  package mutating func error() throws(ProtocolViolation) -> ErrorDescription {
    ErrorDescription(domain: try string(), code: try integer(), description: try string())
  }
}
