internal import AppBundles
internal import AssetModel
internal import AssetStore
internal import Downloads
internal import Foundation
internal import Glibc
internal import LinuxSystem
internal import ServiceMachines
internal import ServiceProtocol

/// Where a download's bytes go, and what the engine is told of it.
struct TransferPlan {
  let groups: String
  let store: String

  var manifests: String { "\(store)/manifests" }

  /// The folder in which a finished file waits until its recipient takes it: on the file system of the group's container.
  func directory(of value: DownloadValue) -> String {
    value.isManifest ? manifests : "\(groups)/\(value.applicationGroupIdentifier)/\(Containers.leaseName)"
  }

  /// One name for each download, with the extension that its URL has.
  func fileName(of value: DownloadValue) -> String {
    value.isManifest ? value.uniqueIdentifier : "\(value.uniqueIdentifier)-\(SafeFileName.from(url: value.url))"
  }

  func path(of value: DownloadValue) -> String { "\(directory(of: value))/\(fileName(of: value))" }

  func container(of group: String) -> String { "\(groups)/\(group)/\(Containers.containerName)" }

  func specification(
    _ app: String, _ value: DownloadValue, urgency: DownloadRegistry.Urgency, owner: DownloadRegistry.Owner,
    budget: Restrictions.Budget?, domains: [String]?
  ) -> DownloadSpecification {
    return DownloadSpecification(
      app: app, identifier: value.uniqueIdentifier, url: value.url,
      method: value.httpMethod.isEmpty ? "GET" : value.httpMethod, body: value.httpBody.map(Array.init) ?? [],
      headers: value.httpHeaders.sorted { $0.key < $1.key }.map { Download.Header(name: $0.key, value: $0.value) },
      transferClass: Self.transferClass(urgency, owner), isEssential: value.isEssential, priority: value.priority,
      declaredSize: value.fileSize, directory: directory(of: value), fileName: fileName(of: value),
      allowedDomains: domains, budget: budget.map { Self.name(of: $0, app) }, isManifest: value.isManifest)
  }

  /// `owner`: nil where that isn't known any more.
  static func transferClass(
    _ urgency: DownloadRegistry.Urgency, _ owner: DownloadRegistry.Owner?
  ) -> TransferClass {
    switch urgency {
    case .foreground: .foreground
    case .essential: .essential
    case .background: owner == .app ? .background : .prefetch
    }
  }

  static func name(of budget: Restrictions.Budget, _ app: String) -> String { "\(app)/\(budget.rawValue)" }
}

extension Download {
  init(_ value: DownloadValue) {
    self.init(
      identifier: value.identifier, uniqueIdentifier: value.uniqueIdentifier, url: value.url,
      method: value.httpMethod == "GET" ? "" : value.httpMethod, body: value.httpBody.map(Array.init) ?? [],
      headers: value.httpHeaders.sorted { $0.key < $1.key }.map { Header(name: $0.key, value: $0.value) },
      applicationGroupIdentifier: value.applicationGroupIdentifier, fileSize: value.fileSize,
      isEssential: value.isEssential, priority: Int64(value.priority), isManifest: value.isManifest,
      state: Int32(truncatingIfNeeded: value.state))
  }
}

extension DownloadValue {
  init(_ download: Download) {
    self.init(
      identifier: download.identifier, uniqueIdentifier: download.uniqueIdentifier, url: download.url,
      httpMethod: download.method.isEmpty ? "GET" : download.method,
      httpHeaders: Dictionary(download.headers.map { ($0.name, $0.value) }) { $1 },
      httpBody: download.body.isEmpty ? nil : Data(download.body),
      applicationGroupIdentifier: download.applicationGroupIdentifier, fileSize: download.fileSize,
      isEssential: download.isEssential, priority: Int(download.priority), isManifest: download.isManifest,
      state: Int(download.state))
  }

  /// What decisions need of it.
  var planned: PlannedDownload {
    PlannedDownload(
      uniqueIdentifier: uniqueIdentifier, identifier: identifier, isEssential: isEssential, size: fileSize,
      priority: priority, host: (try? ParsedURL(url).host) ?? "")
  }
}

extension Failure {
  /// As the API's clients see it: `NSURLErrorDomain` for network and server, `BAErrorDomain` for our own refusals (2.1).
  ///
  /// - Parameter isRestricted: The download kept to `BADownloadDomainAllowList`. What that doesn't decide is a matter of secure
  ///   transport (-1022): a redirect to plain http, or to an address that isn't public.
  ///   `isChallengeCancelled`: the app or its extension cancelled the challenge that it failed for; URLSession has -999 for that.
  init(_ failure: TransferFailure, isRestricted: Bool, isChallengeCancelled: Bool = false) {
    let code =
      switch failure.reason {
      case .challenge where isChallengeCancelled, .trust where isChallengeCancelled: Self.cancelled.code
      case .offline: -1009
      case .noProgress: Self.lastError(failure)
      case .sizeMismatch, .digestMismatch, .hostileResponse, .refused: -1011
      case .trust: -1202
      case .gone: -1100
      case .challenge: -1013
      case .volume: -3000
      case .notAllowed: isRestricted && Self.isOfAllowList(failure) ? 202 : -1022
      case .allowance: 204
      }
    self.init(
      domain: code > 0 ? Self.frameworkDomain : Self.networkDomain, code: code,
      message: failure.status.map { "\(failure.detail) (HTTP status \($0))" } ?? failure.detail)
  }

  private static func isOfAllowList(_ failure: TransferFailure) -> Bool {
    switch failure.cause {
    case .unlistedHost, .addressLiteral: true
    default: false
    }
  }

  /// Which error of the network was the last when an attempt was the last (L11).
  private static func lastError(_ failure: TransferFailure) -> Int {
    if failure.status != nil { return -1011 }
    return switch failure.errno {
    case EHOSTUNREACH: -1003
    case ECONNREFUSED: -1004
    case ECONNRESET: -1005
    case EPROTO: -1200
    case EBADMSG: -1011
    default: -1001
    }
  }
}
