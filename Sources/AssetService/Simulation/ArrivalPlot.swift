/// Requests over time as a picture (SVG 1.1): one curve with jitter, one without, the outage between them.
package struct ArrivalPlot {
  private static let width = 960.0
  private static let height = 420.0
  private static let left = 64.0
  private static let right = 940.0
  private static let top = 40.0
  private static let bottom = 360.0

  private let report: FleetReport

  package init(_ report: FleetReport) { self.report = report }

  /// Both curves on a scale that is linear in the spread one: what goes beyond is cut, and said in the legend.
  package var svg: String {
    let spread = report.variants.first { $0.isSpread }
    let limit = 4 * max(1.0 / 60, spread?.steady.mean ?? 0)
    var parts = [
      """
      <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(Int(Self.width)) \(Int(Self.height))" \
      font-family="sans-serif" font-size="12">
      """,
      "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>",
      text(Self.left, 22, "Requests per second of \(report.machines) machines at one origin", size: 15),
      outage, axes(limit),
    ]
    for variant in report.variants.sorted(by: { !$0.isSpread && $1.isSpread }) { parts.append(curve(variant, limit)) }
    parts.append(legend)
    return parts.joined(separator: "\n") + "\n</svg>\n"
  }

  private var seconds: Double { report.days * 86_400 }

  private func x(_ second: Double) -> Double { Self.left + (Self.right - Self.left) * second / seconds }

  private func y(_ rate: Double, _ limit: Double) -> Double {
    Self.bottom - (Self.bottom - Self.top) * min(1, rate / limit)
  }

  private func number(_ value: Double) -> String {
    let tenths = Int((value * 10).rounded())
    return "\(tenths / 10).\(tenths % 10)"
  }

  private func text(_ x: Double, _ y: Double, _ text: String, size: Int = 12, anchor: String = "start") -> String {
    "<text x=\"\(number(x))\" y=\"\(number(y))\" font-size=\"\(size)\" text-anchor=\"\(anchor)\">\(text)</text>"
  }

  private var outage: String {
    let (from, to) = (x(report.outageBegins), x(report.outageEnds))
    return """
      <rect x="\(number(from))" y="\(number(Self.top))" width="\(number(max(1, to - from)))" \
      height="\(number(Self.bottom - Self.top))" fill="#f6d5d5"/>
      """
  }

  private func axes(_ limit: Double) -> String {
    var parts: [String] = []
    for step in 0...4 {
      let rate = limit * Double(step) / 4
      let height = number(y(rate, limit))
      parts.append(
        "<path d=\"M\(number(Self.left)) \(height)H\(number(Self.right))\" stroke=\"#dddddd\" fill=\"none\"/>")
      parts.append(text(Self.left - 6, y(rate, limit) + 4, number(rate), anchor: "end"))
    }
    for day in 0...Int(report.days) {
      parts.append(text(x(Double(day) * 86_400), Self.bottom + 18, "day \(day)", anchor: "middle"))
    }
    return parts.joined(separator: "\n")
  }

  /// Averages of five minutes: as many points as there are pixels.
  private func curve(_ variant: FleetReport.Variant, _ limit: Double) -> String {
    let step = 5
    let points = stride(from: 0, to: variant.arrivals.count - step, by: step).map { minute in
      let rate = Double(variant.arrivals[minute..<minute + step].reduce(0, +)) / Double(60 * step)
      return "\(number(x(Double(minute) * 60))) \(number(y(rate, limit)))"
    }
    let color = variant.isSpread ? "#1f5fbf" : "#c98a1b"
    return "<path d=\"M\(points.joined(separator: "L"))\" fill=\"none\" stroke=\"\(color)\" stroke-width=\"1.2\"/>"
  }

  private var legend: String {
    report.variants.enumerated().map { index, variant in
      let left = Self.left + Double(index) * 440
      let color = variant.isSpread ? "#1f5fbf" : "#c98a1b"
      let peaks = "\(number(variant.steady.peakOverMean)) and \(number(variant.afterOutage.peakOverMean))"
      return """
        <rect x="\(number(left))" y="390" width="14" height="4" fill="\(color)"/>
        \(text(left + 20, 396, "\(variant.isSpread ? "with" : "without") jitter: peak over mean \(peaks) after the outage"))
        """
    }.joined(separator: "\n")
  }
}
