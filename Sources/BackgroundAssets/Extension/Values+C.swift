import CExtension

extension BAAppExtensionInfo {
  convenience init(_ request: ba_content_request) {
    func bytes(_ count: Int64) -> Int? { count == BA_UNRESTRICTED ? nil : Int(count) }
    self.init(
      restrictedDownloadSizeRemaining: bytes(request.restricted_download_size_remaining),
      restrictedEssentialDownloadSizeRemaining: bytes(request.restricted_essential_download_size_remaining))
  }
}

extension ba_error {
  /// As clients look at it: a failure of the network is a `URLError`. On Linux a cast never makes one of an `NSError`, while
  /// the way back keeps domain, code and description.
  var value: any Error {
    let error = NSError(
      domain: domain.text, code: Int(code), userInfo: FrameworkError.userInfo(description.text))
    guard error.domain == NSURLErrorDomain, let code = URLError.Code.known(error.code) else { return error }
    return URLError(code, userInfo: error.userInfo)
  }
}

extension URLAuthenticationChallenge {
  convenience init(copying challenge: ba_challenge) {
    self.init(
      host: challenge.host.text, port: Int(challenge.port), protocol: challenge.protocol.text,
      realm: challenge.realm.text, method: challenge.authentication_method.text,
      failures: Int(challenge.previous_failure_count))
  }
}

extension ba_challenge_answer {
  /// What the entry point returns. One whose credential doesn't fit says so in the log, and cancels.
  mutating func fill(
    _ disposition: URLSession.AuthChallengeDisposition, _ credential: URLCredential?, for download: BADownload,
    _ host: Host
  ) -> ba_status {
    if fill(disposition, credential) { return BA_OK }
    host.log(
      BA_LOG_ERROR,
      "The credential for '\(download.identifier)' is too long: 255 bytes for the user, 1023 for the password.")
    return BA_FAILED
  }

  /// False if the credential doesn't fit; the answer is then to cancel.
  private mutating func fill(_ disposition: URLSession.AuthChallengeDisposition, _ credential: URLCredential?) -> Bool {
    self.disposition = Int32(disposition.rawValue)
    guard disposition == .useCredential, let credential else { return true }
    guard write(credential.user ?? "", to: &user), write(credential.password ?? "", to: &password) else {
      self.disposition = Int32(BA_CANCEL_CHALLENGE)
      return false
    }
    return true
  }

  /// Writes NUL-terminated text into a fixed array, which C imports as a tuple.
  private func write<Array>(_ text: String, to array: inout Array) -> Bool {
    withUnsafeMutableBytes(of: &array) { bytes in
      guard text.utf8.count < bytes.count, !text.utf8.contains(0) else { return false }
      bytes.copyBytes(from: text.utf8)
      bytes[text.utf8.count] = 0
      return true
    }
  }
}
