import AssetModel
import HostProtocol
import Testing

@testable import PluginHost

@Suite(.timeLimit(.minutes(1))) struct ServiceRelayTests {
  @Test("a list of downloads fits a frame, whatever the client answers") func cutsTheList() {
    let long = (0..<5000).map {
      Download(
        identifier: "\($0)", url: "https://e.example.com/", body: [UInt8](repeating: 1, count: 1000),
        applicationGroupIdentifier: "g", fileSize: 1)
    }
    let list = ServiceRelay.fitting(long)
    #expect(list.count > 2000 && list.map(\.identifier) == long.prefix(list.count).map(\.identifier))
    #expect(ServiceReply.downloads(list).frame(id: 1).payload.count <= Frame.longestPayload)
    #expect(ServiceRelay.fitting(Array(long.prefix(3))).count == 3)
  }
}
