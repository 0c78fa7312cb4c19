import Basics
import Testing

@testable import PluginHost

@Suite(.timeLimit(.minutes(1))) struct ObservationTests {
  @Test(
    "However often an extension changes its mind, one change is under way, and the last one counts",
    arguments: 1...4 as ClosedRange<UInt64>)
  func changes(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<200 {
      var observation = Observation()
      var (isWanted, told, underWay) = (false, false, 0)
      for _ in 0..<50 {
        let news: Bool?
        if underWay > 0, Bool.random(using: &random) {
          underWay -= 1
          news = observation.told()
        } else {
          isWanted = Bool.random(using: &random)
          news = observation.wants(isWanted)
        }
        guard let news else { continue }
        #expect(news != told, "only what is new is told")
        told = news
        underWay += 1
        #expect(underWay == 1)
      }
      while underWay > 0 {
        underWay -= 1
        if let news = observation.told() { (told, underWay) = (news, underWay + 1) }
      }
      #expect(told == isWanted)
    }
  }
}
