import Sandbox
import ServiceMachines
import Testing

@testable import AssetService

@Suite(.timeLimit(.minutes(1))) struct DefaultLimitTests {
  @Test("An extension has 8 MiB, ten minutes a day and 30 s for each call, unless a setting says otherwise [L10]")
  func defaults() {
    let settings = ServiceSettings()
    #expect(settings.memory == 8 << 20 && settings["any"].memory == 8 << 20)
    #expect(settings.dailyRuntime == .seconds(600) && settings["any"].dailyRuntime == .seconds(600))
    #expect(settings.callLimit == .seconds(30) && settings["any"].callLimit == .seconds(30))
    // What a run gets that no setting changes.
    #expect(Limits().memory == 8 << 20 && Limits().wallTime == .seconds(30))
  }
}
