internal import AssetModel
internal import LinuxSystem
internal import PluginHost
internal import ServiceMachines

/// Where one run of an extension asks the service.
final class ServiceEndpoint: ExtensionServices {
  private weak let service: AssetService?
  private let app: String
  private let run: Int64
  let allowsPlainHTTPToLoopback: Bool

  init(service: AssetService, app: String, run: Int64, allowsPlainHTTPToLoopback: Bool) {
    self.service = service
    self.app = app
    self.run = run
    self.allowsPlainHTTPToLoopback = allowsPlainHTTPToLoopback
  }

  private static let noService: Int32 = 56

  func schedule(_ download: Download) async -> Int32 {
    await service?.schedule(download, of: app, run: run) ?? Self.noService
  }

  func cancel(_ identifier: String) async -> Int32 {
    await service?.cancel(identifier, of: app, run: run) ?? Self.noService
  }

  func currentDownloads() async -> [Download] { await service?.currentDownloads(of: app).map(Download.init) ?? [] }

  func acquireExclusiveControl(timeout: Duration?) async -> Int32 {
    await service?.acquireControl(of: app, run: run, timeout: timeout) ?? Self.noService
  }

  func observe(_ isObserving: Bool) async { await service?.observe(isObserving, app: app, run: run) }

  func releaseExclusiveControl() async { await service?.releaseControl(of: app, run: run) }
}
